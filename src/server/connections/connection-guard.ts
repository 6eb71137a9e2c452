import type { ClientAddresses } from '../../auth/client-address.ts';
import type { ApiOptions } from '../../http/options.ts';
import { acrossThreadsMs } from '../../util/clock.ts';
import { refillReserve } from '../../util/descriptors.ts';
import { isLoopback, limitKey } from '../../util/ip-address.ts';
import type { Log } from '../../util/log.ts';
import type { FurtherFronts } from '../fronts/further-fronts.ts';
import { type Census, type CountedSocket, SocketCensus } from './socket-census.ts';
import type { Visitor, Visitors } from './visitors.ts';

interface ConnectionLimits {
  /** Limit on the connections of all HTTP listeners together. */
  readonly total: number;
  /** Limit on the connections of one address, or of one /64 of IPv6. */
  readonly perAddress: number;
  /** Limit on the open descriptors of the process, and the number of them that connections must leave free. */
  readonly descriptors: number;
  readonly headroom: number;
}

export interface GuardParts {
  readonly limits: ConnectionLimits;
  readonly census: SocketCensus;
  readonly visitors: Visitors;
  /** The further fronts, which know the visitors of their connections; null without any. */
  readonly fronts: Pick<FurtherFronts, 'visitors'> | null;
  readonly log: Log;
  /** Whether only the total limit applies to an address, as for loopback and proxies. */
  readonly isExempt: (address: string) => boolean;
}

/** Interval between two checks of the number of descriptors, milliseconds. */
const TICK_MS = 100;
/** Connections are counted in every tick while the process has more descriptors than this share of their limit. */
const WATCHED_SHARE = 0.5;
/** Minimum interval between two log lines about closed connections, milliseconds. */
const LOG_MS = 10_000;
/** Number of connections that stay open, however few descriptors are free. */
const LEAST = 16;
/** Longest interval between two counts where further fronts clean their lists of connections, milliseconds. */
const FRONTS_MS = 60_000;
/** The list is cleaned when it holds this many entries of closed connections. */
const STALE_VISITORS = 1000;

/** Order in which connections are closed, lowest rank first. One that is not recorded counts as silent, or as new. */
const RANK = { silent: 0, anonymousIdle: 1, newcomer: 2, anonymousRunning: 3, keyedIdle: 4, keyedRunning: 5 } as const;

interface Candidate {
  readonly socket: CountedSocket;
  readonly rank: number;
  /** Number of connections of the same address. */
  readonly crowd: number;
  readonly at: number;
}

/**
 * Holds the connections of the HTTP listeners to their limits. The runtime accepts every connection, so those beyond a
 * limit are closed shortly afterwards: first those that have sent nothing, last those of keys with a running request.
 */
export class ConnectionGuard {
  readonly #parts: GuardParts;
  readonly #timer: ReturnType<typeof setInterval>;
  #counting = false;
  /** Clients that the last census found. */
  #known: ReadonlySet<string> = new Set();
  /** Visitors of the further fronts at the last count. */
  #others: ReadonlyMap<string, Visitor> = new Map();
  #closed = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #connections = 0;
  #countedAt = 0;
  #stopped = false;

  constructor(parts: GuardParts) {
    this.#parts = parts;
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#timer.unref();
  }

  /** Number of connections at the last count. */
  get connections(): number {
    return this.#connections;
  }

  stop(): void {
    clearInterval(this.#timer);
    if (!this.#counting) this.#parts.census.close();
    this.#stopped = true;
  }

  #tick(): void {
    refillReserve();
    if (!this.#counting && this.#isDue()) void this.#hold();
  }

  /** Every connection is a descriptor, so a process with few descriptors needs no count. */
  #isDue(): boolean {
    const { census, limits, visitors, fronts } = this.#parts;
    if (fronts && performance.now() - this.#countedAt > FRONTS_MS) return true;
    const bound = Math.min(limits.perAddress, this.#room(census.descriptors() - this.#connections));
    return census.descriptors() > bound * WATCHED_SHARE || visitors.size > STALE_VISITORS + 2 * this.#connections;
  }

  /** Returns the number of connections that are allowed beside `others` descriptors. */
  #room(others: number): number {
    const { total, descriptors, headroom } = this.#parts.limits;
    return Math.max(LEAST, Math.min(total, descriptors - headroom - others));
  }

  async #hold(): Promise<void> {
    this.#counting = true;
    const { census, visitors, log } = this.#parts;
    try {
      const since = acrossThreadsMs();
      this.#countedAt = performance.now();
      const count = await census.count();
      if (this.#stopped) return;
      this.#connections = count.sockets.length;
      await this.#collectOthers(count, since);
      if (this.#stopped) return;
      for (const socket of this.#excess(count)) if (census.end(socket)) this.#closed++;
      this.#known = new Set(count.sockets.map(({ peer }) => peer));
      visitors.removeClosed(this.#known, since);
      this.#report(count);
    } catch (error) {
      log.error('connections cannot be counted', { error });
    } finally {
      this.#counting = false;
      if (this.#stopped) census.close();
    }
  }

  /** Collects the visitors of the further fronts. */
  async #collectOthers({ sockets }: Census, since: number): Promise<void> {
    const { fronts } = this.#parts;
    if (fronts) this.#others = await fronts.visitors(new Set(sockets.map(({ peer }) => peer)), since);
  }

  /** Returns the connections to close. */
  #excess({ descriptors, sockets }: Census): readonly CountedSocket[] {
    const { limits, isExempt } = this.#parts;
    const room = this.#room(descriptors - sockets.length);
    const crowds = new Map<string, CountedSocket[]>();
    for (const socket of sockets) {
      const key = limitKey(socket.address);
      const crowd = crowds.get(key);
      if (crowd) crowd.push(socket);
      else crowds.set(key, [socket]);
    }
    const isOver = (crowd: readonly CountedSocket[]) =>
      crowd.length > limits.perAddress && !isExempt(crowd[0]!.address);
    const leaving: CountedSocket[] = [];
    const staying: Candidate[] = [];
    for (const crowd of crowds.values()) {
      const candidates = crowd.map((socket) => this.#candidate(socket, crowd.length)).sort(byOrder);
      const over = isOver(crowd) ? crowd.length - limits.perAddress : 0;
      leaving.push(...candidates.slice(0, over).map(({ socket }) => socket));
      staying.push(...candidates.slice(over));
    }
    const over = Math.max(0, staying.length - room);
    if (over > 0)
      leaving.push(
        ...staying
          .sort(byOrder)
          .slice(0, over)
          .map(({ socket }) => socket),
      );
    return leaving;
  }

  #candidate(socket: CountedSocket, crowd: number): Candidate {
    const visitor = this.#parts.visitors.get(socket.peer) ?? this.#others.get(socket.peer);
    if (!visitor) return { socket, crowd, at: 0, rank: this.#known.has(socket.peer) ? RANK.silent : RANK.newcomer };
    const { keyed, running, at } = visitor;
    const rank = keyed
      ? running > 0
        ? RANK.keyedRunning
        : RANK.keyedIdle
      : running > 0
        ? RANK.anonymousRunning
        : RANK.anonymousIdle;
    return { socket, crowd, at, rank };
  }

  #report({ descriptors, sockets }: Census): void {
    if (this.#closed === 0 || performance.now() - this.#loggedAt < LOG_MS) return;
    const { log, limits } = this.#parts;
    log.warn('HTTP connections above the limits were closed', {
      closed: this.#closed,
      connections: sockets.length,
      allowed: Math.min(limits.total, this.#room(descriptors - sockets.length)),
      descriptors,
    });
    this.#closed = 0;
    this.#loggedAt = performance.now();
  }
}

/** Within a rank the connections of the largest crowd come first, and among them those that have been idle longest. */
function byOrder(a: Candidate, b: Candidate): number {
  return a.rank - b.rank || b.crowd - a.crowd || a.at - b.at;
}

/** Guards the listeners on these ports. Returns null on a system where connections cannot be counted. */
export function startGuard(
  { limits, descriptors }: ApiOptions,
  {
    ports,
    visitors,
    clients,
    fronts,
    log,
  }: Pick<GuardParts, 'visitors' | 'fronts' | 'log'> & { ports: ReadonlySet<number>; clients: ClientAddresses },
): ConnectionGuard | null {
  const census = SocketCensus.open(ports);
  if (census === null) {
    log.warn('HTTP connections cannot be counted on this system: put a proxy that limits them before the node');
    return null;
  }
  return new ConnectionGuard({
    limits: {
      total: limits.connections,
      // A reload may change it.
      get perAddress() {
        return limits.connectionsPerAddress;
      },
      descriptors: descriptors.limit,
      headroom: descriptors.headroom,
    },
    census,
    visitors,
    fronts,
    log,
    isExempt: (address) => isLoopback(address) || clients.isTrustedProxy(address),
  });
}
