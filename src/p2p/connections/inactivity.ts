import type { Connection } from './connection.ts';

/** How long a connection may take until something was sent and received, and until messages can be sent. Core's -peertimeout. */
const CONNECT_TIMEOUT_MS = 60_000;
/** How long it may be silent in one direction: pings come more often. */
const SILENCE_MS = 20 * 60_000;

/** Why a connection is to be given up at a moment of the monotonic clock, or null. */
export function inactivityReason(
  { startedMs, lastSentMs, lastReceivedMs, opened }: Connection,
  nowMs: number,
): string | null {
  if (nowMs - startedMs <= CONNECT_TIMEOUT_MS) return null;
  if (lastReceivedMs === null || lastSentMs === null) return 'no message in the first minute';
  if (!opened) return 'transport handshake timeout';
  if (nowMs - lastSentMs > SILENCE_MS) return 'sending timeout';
  return nowMs - lastReceivedMs > SILENCE_MS ? 'receiving timeout' : null;
}
