import type { ChainCommit, ChainMove } from '../chain/events.ts';
import type { MempoolChange } from '../mempool/changes.ts';
import { type ParsedBlock, parseTransaction } from '../primitives/block.ts';
import type { Log } from '../util/log.ts';
import type { Wallet } from './wallet.ts';

/** Above this number of connected blocks wallets read the index instead of the blocks. */
const MAX_BODIES = 8;
const RESUBMIT_MS = 24 * 60 * 60 * 1000;

/** Passes changes of the chain and the mempool on to the loaded wallets, and submits their transactions again. */
export class WalletFollower {
  readonly #wallets: () => Iterable<Wallet>;
  readonly #log: Log;
  /** Wallets whose catch-up is awaited, so that its failure is logged once. */
  readonly #catchingUp = new Set<Wallet>();
  #bodies: readonly ParsedBlock[] | null = null;
  #resubmitTimer: ReturnType<typeof setTimeout> | null = null;

  /** `wallets` returns the loaded ones. */
  constructor(wallets: () => Iterable<Wallet>, log: Log) {
    this.#wallets = wallets;
    this.#log = log;
  }

  /** Called before the chain moves, while the bodies of its blocks are available. */
  beforeChainMove({ connected, readBlock }: ChainMove): void {
    const few = connected.length <= MAX_BODIES && [...this.#wallets()].some(({ sync }) => sync.live);
    this.#bodies = few ? connected.map(readBlock) : null;
  }

  /** Called after the move is committed. */
  afterChainCommit({ connected, disconnected, tip }: ChainCommit): void {
    const bodies = this.#bodies;
    this.#bodies = null;
    if (connected.length + disconnected.length === 0) return;
    for (const wallet of this.#wallets())
      this.#guarded(wallet, () => {
        wallet.sync.onChainMoved({ disconnected, connected, bodies, tip });
        if (!wallet.sync.live) this.#caughtUp(wallet);
      });
  }

  /** Applies mempool changes in order; those that belong to a commit come after it. */
  onMempoolChanges(changes: readonly MempoolChange[]): void {
    const wallets = [...this.#wallets()];
    if (wallets.length === 0) return;
    for (const change of changes) {
      if (change.kind === 'added') {
        const parsed = parseTransaction(change.raw);
        for (const wallet of wallets) this.#guarded(wallet, () => wallet.sync.mempoolAdded(parsed));
      } else if (change.kind === 'removed')
        for (const wallet of wallets) this.#guarded(wallet, () => wallet.sync.mempoolRemoved(change.txid));
    }
  }

  /**
   * Submits wallet transactions that are missing from the mempool again: once the saved mempool is loaded, then about
   * daily.
   */
  async mempoolLoaded(): Promise<void> {
    // The random interval hides whose transactions they are.
    const wait = RESUBMIT_MS * (0.5 + Math.random());
    this.#resubmitTimer = setTimeout(() => void this.mempoolLoaded(), wait);
    this.#resubmitTimer.unref();
    for (const wallet of this.#wallets())
      if (!wallet.signal.aborted)
        await wallet.resubmitTransactions().catch((error) => {
          if (!wallet.signal.aborted)
            logFollowError(this.#log, wallet, error, 'wallet transactions not submitted again');
        });
  }

  close(): void {
    if (this.#resubmitTimer) clearTimeout(this.#resubmitTimer);
  }

  /** An error in one wallet must stop neither the chain nor other wallets. */
  #guarded(wallet: Wallet, work: () => void): void {
    try {
      work();
    } catch (error) {
      logFollowError(this.#log, wallet, error);
    }
  }

  /** Logs the error that keeps a wallet from catching up; the next block triggers another attempt. */
  #caughtUp(wallet: Wallet): void {
    if (this.#catchingUp.has(wallet)) return;
    this.#catchingUp.add(wallet);
    wallet.sync
      .catchUp()
      // Coins that it found may be spent in the mempool already.
      .then(() => wallet.scanner.scanMempool())
      .catch((error) => {
        if (!wallet.signal.aborted) logFollowError(this.#log, wallet, error);
      })
      .finally(() => this.#catchingUp.delete(wallet));
  }
}

/** Logs an error that concerns one wallet. */
export function logFollowError(
  log: Log,
  { name }: Wallet,
  error: unknown,
  what = 'a wallet cannot follow the chain',
): void {
  log.error(what, { wallet: name, error });
}
