import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletMempool } from './wallet-chain.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import type { WalletSync } from './wallet-sync.ts';

/** Time limit of one slice of a mempool scan, milliseconds. */
const SLICE_MS = 5;
const SCANNING = 'Wallet is currently rescanning. Abort existing rescan or wait.';

export interface WalletScannerDeps {
  readonly store: WalletStore;
  readonly sync: WalletSync;
  readonly mempool: WalletMempool;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Scans blocks again that the wallet has processed before, one scan at a time, and scans the mempool. */
export class WalletScanner {
  readonly #deps: WalletScannerDeps;
  #scan: {
    readonly from: number;
    readonly startedAt: number;
    progress: number;
    readonly abort: AbortController;
  } | null = null;

  constructor(deps: WalletScannerDeps) {
    this.#deps = deps;
  }

  /** The running scan, or null. */
  get scanning(): { readonly duration: number; readonly progress: number } | null {
    if (!this.#scan) return null;
    const duration = Math.floor((this.#deps.clock.monotonicMs() - this.#scan.startedAt) / 1000);
    return { duration, progress: this.#scan.progress };
  }

  /** First block of the running scan, or null. */
  get scansFrom(): number | null {
    return this.#scan?.from ?? null;
  }

  ensureNotScanning(): void {
    if (this.#scan) walletFail('wallet', SCANNING);
  }

  /** Runs one scan at a time. Throws WalletError where another scan runs, or when the scan is aborted. */
  async scan(from: number, to: number): Promise<void> {
    const { sync, clock, signal } = this.#deps;
    const abort = new AbortController();
    this.ensureNotScanning();
    const scan = { from, startedAt: clock.monotonicMs(), progress: 0, abort };
    this.#scan = scan;
    try {
      const either = AbortSignal.any([signal, abort.signal]);
      await sync.rescan(from, to, { signal: either, progress: (share) => (scan.progress = share) });
    } catch (error) {
      if (abort.signal.aborted) walletFail('misc', 'Rescan aborted.');
      throw error;
    } finally {
      this.#scan = null;
    }
  }

  /** Returns false where no scan can be aborted. */
  abort(): boolean {
    if (!this.#scan || this.#scan.abort.signal.aborted) return false;
    this.#scan.abort.abort();
    return true;
  }

  /** Records the block from which new scripts need a scan by `scanMarked`; null clears the record. */
  markUnscanned(from: number | null): void {
    const { store } = this.#deps;
    const earlier = store.meta('unscannedFrom');
    const lowest = from === null || earlier === null ? from : Math.min(from, earlier);
    if (lowest !== earlier) store.write(() => store.setMeta('unscannedFrom', lowest));
  }

  /**
   * Scans from the recorded block to the last processed one, and the wallet's own transactions. Throws WalletError
   * where another scan runs, or when the scan is aborted. After an interruption the next start scans.
   */
  async scanMarked(): Promise<void> {
    const { store, sync } = this.#deps;
    if (store.meta('unscannedFrom') === null) return;
    await sync.refreshOwnOutputs();
    // Read only now: an import may have lowered it, another scan may have cleared it, and blocks have been connected.
    const from = store.meta('unscannedFrom');
    if (from === null) return;
    // Where another scan runs, the record stays.
    this.ensureNotScanning();
    const to = sync.height;
    try {
      if (from <= to) await this.scan(from, to);
    } catch (error) {
      // A scan that a client aborted counts as done.
      if (error instanceof WalletError) this.markUnscanned(null);
      throw error;
    }
    this.markUnscanned(null);
  }

  /** Applies the transactions of the mempool. */
  async scanMempool(): Promise<void> {
    const { mempool, sync, signal } = this.#deps;
    let until = performance.now() + SLICE_MS;
    for (const txid of mempool.txids()) {
      const parsed = mempool.get(txid);
      if (parsed) sync.mempoolAdded(parsed);
      if (performance.now() < until) continue;
      await sleep(0, signal);
      until = performance.now() + SLICE_MS;
    }
  }
}
