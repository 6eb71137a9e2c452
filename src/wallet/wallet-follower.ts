import type { ChainCommit, ChainMove } from '../chain/events.ts';
import type { MempoolChange } from '../mempool/changes.ts';
import { type ParsedBlock, parseTransaction } from '../primitives/block.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { Wallet } from './wallet.ts';

/** Above this number of connected blocks wallets read the index instead of the blocks. */
const MAX_BODIES = 8;
/** Interval in which wallets announce their transactions again where they are due, milliseconds. */
const CHECK_MS = 60_000;

/** Passes changes of the chain and the mempool on to the loaded wallets, and submits their transactions again. */
export class WalletFollower {
  readonly #wallets: () => Iterable<Wallet>;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Wallets whose catch-up is awaited, so that its failure is logged once. */
  readonly #catchingUp = new Set<Wallet>();
  #bodies: readonly ParsedBlock[] | null = null;
  /** Time at which the last block was connected, Unix seconds; null before the first. */
  #lastBlockAt: number | null = null;
  #checkTimer: ReturnType<typeof setInterval> | null = null;
  #checking: Promise<void> | null = null;
  #checkAgain = false;
  /** Time by which tests have moved the timer since its last check, milliseconds. */
  #movedMs = 0;

  /** `wallets` returns the loaded ones. */
  constructor(wallets: () => Iterable<Wallet>, { clock, log }: { clock: Clock; log: Log }) {
    this.#wallets = wallets;
    this.#clock = clock;
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
    this.#lastBlockAt = unixSeconds(this.#clock);
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

  /** Submits wallet transactions that are missing from the mempool once the saved one is loaded, and starts the timer. */
  async mempoolLoaded(): Promise<void> {
    this.#checkTimer = setInterval(() => void this.#check(), CHECK_MS);
    this.#checkTimer.unref();
    await this.#each((wallet) => wallet.resubmission.submitMissing());
  }

  /** Moves the timer that announces transactions again forward, for tests. Resolves when what is due is announced. */
  async advanceTimer(ms: number): Promise<void> {
    this.#movedMs += ms;
    if (this.#movedMs >= CHECK_MS) await this.#check();
  }

  close(): void {
    if (this.#checkTimer) clearInterval(this.#checkTimer);
  }

  /** Announces what is due. A call during another one makes that run once more. */
  #check(): Promise<void> {
    this.#movedMs = 0;
    this.#checkAgain = true;
    this.#checking ??= this.#announceDue().finally(() => {
      this.#checking = null;
    });
    return this.#checking;
  }

  async #announceDue(): Promise<void> {
    while (this.#checkAgain) {
      this.#checkAgain = false;
      const at = this.#lastBlockAt;
      if (at !== null) await this.#each((wallet) => wallet.resubmission.announceDue(at));
    }
  }

  async #each(resubmit: (wallet: Wallet) => Promise<void>): Promise<void> {
    for (const wallet of this.#wallets())
      if (!wallet.signal.aborted)
        await resubmit(wallet).catch((error) => {
          if (!wallet.signal.aborted)
            logFollowError(this.#log, wallet, error, 'wallet transactions not submitted again');
        });
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
