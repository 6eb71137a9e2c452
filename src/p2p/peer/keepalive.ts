import { random64 } from '../../util/random.ts';
import { PING_NONCE_VERSION } from '../p2p-protocol.ts';
import type { Peer } from './peer.ts';
import type { PeerContext } from './peer-context.ts';

const PING_INTERVAL_MS = 2 * 60_000;
/** Time without a pong after which a peer is disconnected, milliseconds. */
const TIMEOUT_MS = 20 * 60_000;

/** Sends pings (BIP-31), measures the round trip time and disconnects peers that do not answer. */
export class Keepalive {
  readonly #ctx: PeerContext;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  tick({ link, ping, negotiated, openedAt }: Peer, nowMs: number): void {
    const isOld = nowMs - openedAt > this.#ctx.options.peerTimeoutMs;
    if (isOld && ping.nonce !== 0n && nowMs - ping.sentAt > TIMEOUT_MS) {
      link.disconnect('ping timeout', { waitedMs: nowMs - ping.sentAt });
      return;
    }
    const due = ping.sentAt === 0 || nowMs - ping.sentAt > PING_INTERVAL_MS;
    if (!ping.queued && (ping.nonce !== 0n || !due)) return;
    ping.queued = false;
    ping.sentAt = nowMs;
    // Peers up to this version do not send a pong, so the nonce stays 0 and no answer is awaited.
    const nonce = random64(this.#ctx.random) || 1n;
    ping.nonce = negotiated.protocol > PING_NONCE_VERSION ? nonce : 0n;
    link.send('ping', { nonce });
  }

  onPing({ link, negotiated }: Peer, nonce: bigint): void {
    if (negotiated.protocol > PING_NONCE_VERSION) link.send('pong', { nonce });
  }

  /** Processes a pong. One with another nonce is ignored, as in Core; a short payload or nonce 0 ends the wait. */
  onPong(peer: Peer, nonce: bigint | null, nowMs: number): void {
    const { ping, link } = peer;
    if (nonce !== null && nonce === ping.nonce && nonce !== 0n) {
      ping.last = nowMs - ping.sentAt;
      link.standing.minPing = Math.min(link.standing.minPing, ping.last);
    } else this.#logPong(peer, nonce);
    if (nonce === null || nonce === 0n || nonce === ping.nonce) ping.nonce = 0n;
  }

  #logPong({ id, ping }: Peer, nonce: bigint | null): void {
    const { log } = this.#ctx;
    if (!log.enabled('debug')) return;
    let why = 'Nonce mismatch';
    if (nonce === null) why = 'Short payload';
    else if (ping.nonce === 0n) why = 'Unsolicited pong without ping';
    else if (nonce === 0n) why = 'Nonce zero';
    const expected = ping.nonce.toString(16);
    log.debug('pong ignored', {
      peer: id,
      why,
      expected,
      received: (nonce ?? 0n).toString(16),
      bytes: nonce === null ? 0 : 8,
    });
  }
}
