import { fail } from '../http/errors.ts';
import type { MempoolMirror } from '../mempool/mirror.ts';
import type { NetworkParams } from '../params/network-params.ts';
import type { Txid } from '../primitives/hash.ts';
import { BlockPruned, type ChainState } from '../storage/chain-reads.ts';
import type { ChainSource } from '../storage/chain-source.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import type { WalletReads } from '../wallet/store/wallet-reads.ts';
import type { DerivedScripts } from './derived-scripts.ts';
import type { ReadSettings } from './read-settings.ts';
import type { TxTexts } from './tx-texts.ts';
import type { WalletFileState } from './wallet-readers.ts';

/** The sources of an answer: one snapshot, its tip, and constants of the node. */
export interface ReadEnv {
  /** The first access begins the snapshot. */
  readonly reads: ChainSource;
  readonly tip: HeaderRecord;
  /** The state of the database that the answer belongs to. The object is another one after each commit. */
  readonly state: ChainState;
  readonly params: NetworkParams;
  readonly settings: ReadSettings;
  /** The cache of transactions in JSON; null in a worker, and where it is disabled. */
  readonly texts: TxTexts | null;
  /** The mempool at the same tip. Throws MempoolBehind while it is at another one. */
  readonly mempool: MempoolMirror;
  /** Number of the newest mempool event, where the answer has read the mempool; else null. */
  readonly mempoolSeq: number | null;
  /** Returns the reads of a loaded wallet; only for endpoints that run in workers. */
  wallets?(state: WalletFileState): WalletReads;
  /** The cache of derived scripts of a worker; absent elsewhere. */
  readonly derived?: DerivedScripts | undefined;
  /**
   * Announces the expected work. On the main thread, an announcement that exceeds the budget ends the attempt, and a
   * reader worker makes the whole answer instead. In a worker, it ends work that no request waits for any more: long
   * work announces 0 again and again.
   */
  expectWork(microseconds: number): void;
}

/** Thrown by `expectWork` on the front. */
export class NeedsWorker extends Error {
  override readonly name = 'NeedsWorker';
}

/** The mempool has not yet received the block that the database shows; the answer has to be made again in a moment. */
export class MempoolBehind extends Error {
  override readonly name = 'MempoolBehind';
}

/** Thrown in a worker: the answer needs the mempool spenders of outputs of these transactions. */
export class NeedsSpenders extends Error {
  override readonly name = 'NeedsSpenders';
  readonly txids: readonly Txid[];

  constructor(txids: readonly Txid[]) {
    super('the spenders of some transactions are needed');
    this.txids = txids;
  }
}

/** Thrown in a worker: the answer needs the mempool transactions of these scripts. */
export class NeedsScripts extends Error {
  override readonly name = 'NeedsScripts';
  readonly scripts: readonly Uint8Array[];

  constructor(scripts: readonly Uint8Array[]) {
    super('the mempool transactions of some scripts are needed');
    this.scripts = scripts;
  }
}

/** Announces that the answer shows which outputs of these transactions the mempool spends. */
export function needSpenders({ mempool }: ReadEnv, txids: readonly Txid[]): void {
  const missing = mempool.notCovered(txids);
  if (missing.length > 0) throw new NeedsSpenders(missing);
}

/** The sources of a snapshot; `mempool` is null where the answer must not read it. */
export interface ReadBase extends Pick<ReadEnv, 'reads' | 'params' | 'settings' | 'wallets'> {
  readonly mirror: MempoolMirror | null;
  readonly texts?: TxTexts | null;
  readonly derived?: DerivedScripts | undefined;
}

/** Work budget of an answer on the main thread. */
const FRONT_BUDGET_US = 1500;

/** Runs `read` on one state of the database. `onFront` bounds the work that it may announce. */
export function withSnapshot<T>(
  base: ReadBase,
  expectWork: (microseconds: number) => void,
  read: (env: ReadEnv) => T,
): T {
  return base.reads.snapshotWithState((state, open) =>
    reportPruned(read, new SnapshotEnv(base, state, { expectWork, open })),
  );
}

/** The functions that an environment calls: for announced work, and where the first access begins the snapshot. */
interface SnapshotCalls {
  expectWork(microseconds: number): void;
  open(): void;
}

/** The sources of one answer. Environments that add members inherit from it, so its own state is in an object. */
class SnapshotEnv implements ReadEnv {
  readonly state: ChainState;
  readonly tip: HeaderRecord;
  readonly params: NetworkParams;
  readonly settings: ReadSettings;
  readonly texts: TxTexts | null;
  readonly derived: DerivedScripts | undefined;
  readonly expectWork: (microseconds: number) => void;
  protected readonly base: ReadBase;
  protected readonly open: () => void;
  protected readonly used = { mempool: false };

  constructor(base: ReadBase, state: ChainState, { expectWork, open }: SnapshotCalls) {
    this.state = state;
    this.tip = state.tip;
    this.params = base.params;
    this.settings = base.settings;
    this.texts = base.texts ?? null;
    this.derived = base.derived;
    this.expectWork = expectWork;
    this.base = base;
    this.open = open;
  }

  get reads(): ChainSource {
    this.open();
    return this.base.reads;
  }

  get wallets(): ReadEnv['wallets'] {
    return this.base.wallets;
  }

  get mempool(): MempoolMirror {
    const { mirror } = this.base;
    if (!mirror) throw new Error('this request runs without the mempool');
    if (mirror.tip !== this.state.tipView.hash) throw new MempoolBehind('the mempool mirror is at another block');
    this.used.mempool = true;
    return mirror;
  }

  get mempoolSeq(): number | null {
    return this.used.mempool ? this.base.mirror!.seq : null;
  }
}

/** Runs `read`. Throws ApiError `block_pruned` where a body that it needs has been pruned. */
function reportPruned<T>(read: (env: ReadEnv) => T, env: ReadEnv): T {
  try {
    return read(env);
  } catch (error) {
    if (!(error instanceof BlockPruned)) throw error;
    return blockPruned(error.pruneHeight);
  }
}

/** Throws `block_pruned` with Core's text. `pruneHeight` is the lowest height from which on all blocks are stored. */
export function blockPruned(pruneHeight: number | null): never {
  fail('block_pruned', 'Block not available (pruned data)', { pruneHeight: pruneHeight ?? 0 });
}

/** Returns the `expectWork` of the main thread, which throws NeedsWorker when the announced work exceeds the budget. */
export function frontBudget(): (microseconds: number) => void {
  let left = FRONT_BUDGET_US;
  return (microseconds) => {
    left -= microseconds;
    if (left < 0) throw new NeedsWorker('too much work for the main thread');
  };
}
