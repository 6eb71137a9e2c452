import { PING_NONCE_VERSION } from '../protocol.ts';
import { random64 } from '../random-source.ts';
import type { PeerContext } from './context.ts';
import type { Peer } from './peer.ts';

const PING_INTERVAL_MS = 2 * 60_000;
/** Without an answer, or without any traffic at all. */
const TIMEOUT_MS = 20 * 60_000;

/** Pings (BIP-31): whether the other end still lives, and how far away it is. */
export class Keepalive {
  readonly #ctx: PeerContext;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  tick({ link, ping, negotiated }: Peer, nowMs: number): void {
    if (ping.nonce !== 0n && nowMs - ping.sentAt > TIMEOUT_MS) {
      link.disconnect('ping timeout');
      return;
    }
    const due = ping.sentAt === 0 || nowMs - ping.sentAt > PING_INTERVAL_MS;
    if (!ping.queued && (ping.nonce !== 0n || !due)) return;
    ping.queued = false;
    ping.sentAt = nowMs;
    // Older peers do not answer, so none is waited for.
    const nonce = random64(this.#ctx.random) || 1n;
    ping.nonce = negotiated.protocol > PING_NONCE_VERSION ? nonce : 0n;
    link.send('ping', { nonce });
  }

  ping({ link, negotiated }: Peer, nonce: bigint): void {
    if (negotiated.protocol > PING_NONCE_VERSION) link.send('pong', { nonce });
  }

  /** An answer to another ping than the last is left alone, as Core does; a short one or zero ends the wait. */
  pong(peer: Peer, nonce: bigint | null, nowMs: number): void {
    const { ping, link } = peer;
    if (ping.nonce === 0n) return;
    if (nonce === ping.nonce) {
      ping.last = nowMs - ping.sentAt;
      link.standing.minPing = Math.min(link.standing.minPing, ping.last);
    } else if (nonce !== null && nonce !== 0n) return;
    ping.nonce = 0n;
  }
}
