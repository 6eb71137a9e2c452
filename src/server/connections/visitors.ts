import { acrossThreadsMs } from '../../util/clock.ts';
import { parseIp } from '../../util/ip-address.ts';
import { hostOf, peerName } from './socket-census.ts';

/** A connection that has sent a request. */
export interface Visitor {
  /** Whether a request with a valid credential came over this connection. */
  keyed: boolean;
  /** Number of requests without an answer, plus one for an upgraded WebSocket. */
  running: number;
  /** Time at which the last request began or ended, milliseconds of `acrossThreadsMs`. */
  at: number;
}

/** The connections that have sent a request, by the address and port of the client. */
export class Visitors {
  readonly #byPeer = new Map<string, Visitor>();

  get size(): number {
    return this.#byPeer.size;
  }

  /** Records the beginning of a request at a time of `performance.now`. */
  began(address: string, port: number, now: number): Visitor {
    const peer = peerName(addressName(address), port);
    let visitor = this.#byPeer.get(peer);
    if (!visitor) this.#byPeer.set(peer, (visitor = { keyed: false, running: 0, at: 0 }));
    visitor.running++;
    visitor.at = acrossThreadsMs(now);
    return visitor;
  }

  get(peer: string): Visitor | null {
    return this.#byPeer.get(peer) ?? null;
  }

  /** Returns all connections, for another front. */
  entries(): (Visitor & { readonly peer: string })[] {
    return [...this.#byPeer].map(([peer, visitor]) => ({ peer, ...visitor }));
  }

  /** Removes the connections that are not in `peers`, except those with a request after `since`. */
  removeClosed(peers: ReadonlySet<string>, since: number): void {
    for (const [peer, { at }] of this.#byPeer) if (at < since && !peers.has(peer)) this.#byPeer.delete(peer);
  }
}

/** Records that a request has been answered at a time of `performance.now`. */
export function ended(visitor: Visitor, now: number): void {
  visitor.running--;
  visitor.at = acrossThreadsMs(now);
}

/** The last result of `addressName` for an address of IPv6: clients send many requests in a row. */
let lastNamed = { address: '', name: '' };

function addressName(address: string): string {
  if (!address.includes(':')) return address;
  if (address !== lastNamed.address) {
    const bytes = parseIp(address);
    lastNamed = {
      address,
      name: bytes === null ? address : bytes.length === 4 ? bytes.join('.') : hostOf(bytes),
    };
  }
  return lastNamed.name;
}
