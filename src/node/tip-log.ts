import type { ChainCommit } from '../chain/events.ts';
import type { ReadableChain } from '../chain/readable-chain.ts';
import { hashToHex } from '../primitives/hash.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { durationText } from '../util/duration.ts';
import type { Log } from '../util/log.ts';

const MEBIBYTE = 1024 * 1024;

interface TipLogDeps {
  readonly chain: Pick<ReadableChain, 'initialSync' | 'coinsCacheBytes' | 'transactionsAt'>;
  /** Number of connected peers. */
  readonly peers: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Logs every new tip outside the initial sync, and every reorg. */
export class TipLog {
  readonly #deps: TipLogDeps;

  constructor(deps: TipLogDeps) {
    this.#deps = deps;
  }

  /** Called after each commit. */
  onCommitted({ tip, connected, disconnected }: Omit<ChainCommit, 'lastSeq'>): void {
    const { chain, peers, clock, log } = this.#deps;
    const from = disconnected[0];
    if (from)
      log.warn('reorg', {
        depth: disconnected.length,
        forkHeight: from.height - disconnected.length,
        from: hashToHex(from.hash),
        fromHeight: from.height,
        to: hashToHex(tip.hash),
        toHeight: tip.height,
      });
    if (connected.length === 0 || chain.initialSync) return;
    const before = connected[0]!.parent;
    log.info('new tip', {
      height: tip.height,
      hash: hashToHex(tip.hash),
      transactions: chain.transactionsAt(tip) - (before ? chain.transactionsAt(before) : 0),
      blocks: connected.length > 1 ? connected.length : undefined,
      age: durationText(Math.max(0, unixSeconds(clock) - tip.time)),
      cacheMiB: Math.round((chain.coinsCacheBytes / MEBIBYTE) * 10) / 10,
      peers: peers(),
    });
  }
}
