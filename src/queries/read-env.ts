import type { MempoolMirror } from '../mempool/mirror.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import type { WalletReads } from '../wallet/store/wallet-reads.ts';
import type { WalletState } from '../wallet/wallet-state.ts';
import type { ReadSettings } from './read-settings.ts';

/** What an answer is read from: one snapshot, its tip, and what never changes while the node runs. */
export interface ReadEnv {
  readonly reads: ChainReads;
  readonly tip: HeaderRecord;
  readonly params: NetworkParams;
  readonly settings: ReadSettings;
  /** The mempool on the same tip. Throws MempoolBehind while it stands on another. */
  readonly mempool: MempoolMirror;
  /** Number of the newest mempool event, where the answer has looked at the mempool; else null. */
  readonly mempoolSeq: number | null;
  /** A loaded wallet; only for endpoints that workers alone run. */
  wallets?(state: Pick<WalletState, 'name' | 'load'>): WalletReads;
  /**
   * Says what the work ahead will take. On the front anything that would hold it up is given up here, and the whole
   * answer is made again by a reader worker. There it gives up what nobody waits for any more: what is long asks again
   * and again, with nothing more to announce.
   */
  expectWork(microseconds: number): void;
}

/** Thrown by `expectWork` on the front. */
export class NeedsWorker extends Error {
  override readonly name = 'NeedsWorker';
}

/** The mempool has not heard of the block that the database shows: the answer has to be made again in a moment. */
export class MempoolBehind extends Error {
  override readonly name = 'MempoolBehind';
}

/** Thrown in a worker: the answer needs to know what in the mempool spends outputs of these. */
export class NeedsSpenders extends Error {
  override readonly name = 'NeedsSpenders';
  readonly txids: readonly Txid[];

  constructor(txids: readonly Txid[]) {
    super('the spenders of some transactions are needed');
    this.txids = txids;
  }
}

/** Says that the answer will show which outputs of these the mempool spends. */
export function needSpenders({ mempool }: ReadEnv, txids: readonly Txid[]): void {
  const missing = mempool.notCovered(txids);
  if (missing.length > 0) throw new NeedsSpenders(missing);
}

/** Where a snapshot is read from; `mempool` is null where the answer must not need it. */
export interface ReadBase extends Pick<ReadEnv, 'reads' | 'params' | 'settings' | 'wallets'> {
  readonly mirror: MempoolMirror | null;
}

/** The front answers what takes no longer than this. */
const FRONT_BUDGET_US = 1500;

/** Runs `read` on one state of the database. `onFront` bounds the work it may announce. */
export function withSnapshot<T>(
  { mirror, ...base }: ReadBase,
  expectWork: (microseconds: number) => void,
  read: (env: ReadEnv) => T,
): T {
  return base.reads.snapshot(() => {
    const tip = base.reads.tip();
    let used = false;
    return read({
      ...base,
      tip,
      expectWork,
      get mempool() {
        if (!mirror) throw new Error('this answer was made without the mempool');
        if (mirror.tip !== hashToHex(tip.hash)) throw new MempoolBehind('the mempool stands on another block');
        used = true;
        return mirror;
      },
      get mempoolSeq() {
        return used ? mirror!.seq : null;
      },
    });
  });
}

/** For answers that are made on the front: throws NeedsWorker when they announce too much. */
export function frontBudget(): (microseconds: number) => void {
  let left = FRONT_BUDGET_US;
  return (microseconds) => {
    left -= microseconds;
    if (left < 0) throw new NeedsWorker('too much work for the front');
  };
}
