import { parseIp } from '../../http/ip.ts';
import { hostOf, peerName } from './socket-census.ts';

/** A connection that has sent a request. */
export interface Visitor {
  /** A request with a valid credential came over it. */
  keyed: boolean;
  /** Requests without an answer yet, and the WebSocket that it has become. */
  running: number;
  /** Milliseconds of `performance.now` when the last request began or ended. */
  at: number;
}

/** The connections that have sent a request, by the address and port of the client. */
export class Visitors {
  readonly #byPeer = new Map<string, Visitor>();

  get size(): number {
    return this.#byPeer.size;
  }

  /** Notes a request that begins. */
  began(address: string, port: number): Visitor {
    const peer = peerName(addressName(address), port);
    let visitor = this.#byPeer.get(peer);
    if (!visitor) this.#byPeer.set(peer, (visitor = { keyed: false, running: 0, at: 0 }));
    visitor.running++;
    visitor.at = performance.now();
    return visitor;
  }

  get(peer: string): Visitor | null {
    return this.#byPeer.get(peer) ?? null;
  }

  /** Forgets connections that are not among these, unless a request came after `since`. */
  keep(peers: ReadonlySet<string>, since: number): void {
    for (const [peer, { at }] of this.#byPeer) if (at < since && !peers.has(peer)) this.#byPeer.delete(peer);
  }
}

/** Notes that a request has its answer. */
export function ended(visitor: Visitor): void {
  visitor.running--;
  visitor.at = performance.now();
}

function addressName(address: string): string {
  if (!address.includes(':')) return address;
  const bytes = parseIp(address);
  return bytes === null ? address : bytes.length === 4 ? bytes.join('.') : hostOf(bytes);
}
