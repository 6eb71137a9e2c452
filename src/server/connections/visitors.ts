import { type RateBucket, RateTable } from '../../auth/rate-limits.ts';
import type { Rate } from '../../http/options.ts';
import { acrossThreadsMs, type Clock } from '../../util/clock.ts';
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

/** Prompt requests of one caller that are all recorded. */
const RECORDED_PROMPT: Rate = { perSecond: 2000, burst: 1000 };

/** The connections that have sent a request; without some that have sent prompt ones alone, see `mustRecordPrompt`. */
export class Visitors {
  /** By the id of the caller, so that no caller uses up the allowance of another. */
  readonly #prompt: RateTable;
  /** The allowance of the last caller: most requests come in rows, and the table reorders itself at each use. */
  #last: { readonly id: string; readonly bucket: RateBucket } | null = null;
  /** By the address and the port of the client, since a text of both takes longer to make than to find. */
  readonly #byAddress = new Map<string, Map<number, Visitor>>();
  #size = 0;

  constructor(clock: Clock) {
    this.#prompt = new RateTable(RECORDED_PROMPT, clock);
  }

  get size(): number {
    return this.#size;
  }

  /**
   * Whether to record a request of an authenticated caller that was answered at once. To find its connection takes a tenth
   * of its time, so that above a rate only a sample of such requests is recorded: a connection that sends many of them is
   * recorded with one of the first hundred.
   */
  mustRecordPrompt(callerId: string): boolean {
    if (callerId !== this.#last?.id) this.#last = { id: callerId, bucket: this.#prompt.bucket(callerId) };
    return this.#last.bucket.consume(1);
  }

  /** Records the beginning of a request at a time of `performance.now`. */
  began(address: string, port: number, now: number): Visitor {
    const name = addressName(address);
    let byPort = this.#byAddress.get(name);
    if (byPort === undefined) this.#byAddress.set(name, (byPort = new Map()));
    let visitor = byPort.get(port);
    if (visitor === undefined) {
      byPort.set(port, (visitor = { keyed: false, running: 0, at: 0 }));
      this.#size++;
    }
    visitor.running++;
    visitor.at = acrossThreadsMs(now);
    return visitor;
  }

  /** Returns the connection of a `peerName`, or null. */
  get(peer: string): Visitor | null {
    const end = peer.lastIndexOf(' ');
    return this.#byAddress.get(peer.slice(0, end))?.get(Number(peer.slice(end + 1))) ?? null;
  }

  /** Returns all connections, for another front. */
  entries(): (Visitor & { readonly peer: string })[] {
    return [...this.#byAddress].flatMap(([address, byPort]) =>
      [...byPort].map(([port, visitor]) => ({ peer: peerName(address, port), ...visitor })),
    );
  }

  /** Removes the connections that are not in `peers`, except those with a request after `since`. */
  removeClosed(peers: ReadonlySet<string>, since: number): void {
    for (const [address, byPort] of this.#byAddress) {
      for (const [port, { at }] of byPort)
        if (at < since && !peers.has(peerName(address, port)) && byPort.delete(port)) this.#size--;
      if (byPort.size === 0) this.#byAddress.delete(address);
    }
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
