import type { Connection } from './connection.ts';

/**
 * Time limit for the first bytes in both directions and for the transport handshake, milliseconds. Core's -peertimeout.
 */
const CONNECT_TIMEOUT_MS = 60_000;
/** Maximum silence in one direction, milliseconds; pings are more frequent. */
const SILENCE_MS = 20 * 60_000;

/** Core's InactivityCheck: returns why a connection must be closed at a monotonic time, or null. */
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
