import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletMempool } from './wallet-chain.ts';
import { WalletError, walletFail } from './wallet-error.ts';
import type { WalletSync } from './wallet-sync.ts';

/** The longest that looking through many things holds the thread at a time. */
const SLICE_MS = 5;
const SCANNING = 'Wallet is currently rescanning. Abort existing rescan or wait.';

export interface WalletScannerDeps {
  readonly store: WalletStore;
  readonly sync: WalletSync;
  readonly mempool: WalletMempool;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Looks again through blocks that the wallet has followed already, one scan at a time, and through the mempool. */
export class WalletScanner {
  readonly #deps: WalletScannerDeps;
  #scan: { readonly startedAt: number; progress: number; readonly abort: AbortController } | null = null;

  constructor(deps: WalletScannerDeps) {
    this.#deps = deps;
  }

  /** The scan that goes on, or null. */
  get scanning(): { readonly duration: number; readonly progress: number } | null {
    if (!this.#scan) return null;
    const duration = Math.floor((this.#deps.clock.monotonicMs() - this.#scan.startedAt) / 1000);
    return { duration, progress: this.#scan.progress };
  }

  ensureNotScanning(): void {
    if (this.#scan) walletFail('wallet', SCANNING);
  }

  /** One scan at a time. Throws WalletError where one goes on, or when it is aborted. */
  async scan(from: number, to: number): Promise<void> {
    const { sync, clock, signal } = this.#deps;
    const abort = new AbortController();
    this.ensureNotScanning();
    const scan = { startedAt: clock.monotonicMs(), progress: 0, abort };
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

  /** False where nothing is to be aborted. */
  abort(): boolean {
    if (!this.#scan || this.#scan.abort.signal.aborted) return false;
    this.#scan.abort.abort();
    return true;
  }

  /** Notes from which block on new scripts are to be looked up, which `scanMarked` does; null for nothing. */
  markUnscanned(from: number | null): void {
    const { store } = this.#deps;
    const earlier = store.meta('unscannedFrom');
    const lowest = from === null || earlier === null ? from : Math.min(from, earlier);
    if (lowest !== earlier) store.write(() => store.setMeta('unscannedFrom', lowest));
  }

  /**
   * Scans what was noted up to the block the wallet stands on, and what it has already. Throws WalletError where a scan
   * goes on, or when it is aborted. What the end of the node cuts off is left for the next start.
   */
  async scanMarked(): Promise<void> {
    const { store, sync } = this.#deps;
    if (store.meta('unscannedFrom') === null) return;
    await sync.refreshOwnOutputs();
    // Not before: it may have become lower, or another scan have done it, and blocks have come.
    const from = store.meta('unscannedFrom');
    if (from === null) return;
    // What another scan keeps it from stays noted.
    this.ensureNotScanning();
    const to = sync.height;
    try {
      if (from <= to) await this.scan(from, to);
    } catch (error) {
      // What somebody has stopped is done.
      if (error instanceof WalletError) this.markUnscanned(null);
      throw error;
    }
    this.markUnscanned(null);
  }

  /** Looks at what waits in the mempool. */
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
