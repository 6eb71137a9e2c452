import { sleep } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { WalletScripts } from './scripts/wallet-scripts.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletScanner } from './wallet-scanner.ts';
import type { WalletSync } from './wallet-sync.ts';

/**
 * Delay before a new wallet derives its keypool, so that more urgent work of the start comes first; and pause between
 * steps.
 */
const FILL_DELAY_MS = 2000;
const FILL_PAUSE_MS = 20;
const RETRY_MS = 60_000;

export interface KeypoolFillerDeps {
  readonly store: WalletStore;
  readonly scripts: WalletScripts;
  readonly sync: WalletSync;
  readonly scanner: WalletScanner;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Called with the error that ended the derivation, which is tried again. */
  readonly onError: (error: unknown) => void;
  /** Delay after an error, milliseconds. */
  readonly retryMs?: number;
}

/** Derives the scripts that the descriptors of a wallet have reserved, and finds their transactions in the chain. */
export class KeypoolFiller {
  readonly #deps: KeypoolFillerDeps;
  #waiting = false;
  /** The search for payments to scripts that are yet to be derived or looked up, or null. */
  #search: { readonly startedAt: number; progress: number } | null = null;

  constructor(deps: KeypoolFillerDeps) {
    this.#deps = deps;
    deps.scripts.onDeferred = (work) => {
      if (work === 'scripts') this.#beginSearch();
      this.fillLater();
    };
  }

  /**
   * The running search, or null: the balance may lack payments to addresses beyond those that are derived, as in the copy
   * of a wallet that has issued many since. The first addresses of a new wallet need no search.
   */
  get scanning(): { readonly duration: number; readonly progress: number } | null {
    if (!this.#search) return null;
    const { startedAt, progress } = this.#search;
    return { duration: Math.floor((this.#deps.clock.monotonicMs() - startedAt) / 1000), progress };
  }

  /** Continues what the last run of a wallet has left, in the background. */
  continueLater(): void {
    if (this.#isLeft) this.#beginSearch();
    this.fillLater();
  }

  /** Derives the reserved scripts in the background. */
  fillLater(): void {
    const { store, scripts, signal, onError, retryMs = RETRY_MS } = this.#deps;
    if (this.#waiting) return;
    this.#waiting = true;
    const fill = async () => {
      await sleep(FILL_DELAY_MS, signal);
      // A call from now on starts another round.
      this.#waiting = false;
      const steps = scripts.fillSteps(this.#noting(() => true));
      while (!store.writeRelaxed(() => steps.next()).done) await sleep(FILL_PAUSE_MS, signal);
      await this.lookUpFilled();
      // After a failure the search is shown until the next round ends.
      if (!this.#isLeft) this.#search = null;
    };
    // It ends with the wallet and continues at the next start.
    fill()
      .catch((error) => {
        if (signal.aborted) return;
        onError(error);
        // The cause, such as a full disk, may be gone by then.
        return sleep(retryMs, signal).then(() => this.fillLater());
      })
      .catch(() => {});
  }

  /**
   * Derives all reserved scripts in slices, and records them for `lookUpFilled` where `isNoted` holds for their
   * descriptor. Rejects when a signal aborts; the next start continues.
   */
  async fillReserved(signal: AbortSignal, isNoted: (descriptor: number) => boolean = () => true): Promise<void> {
    const { store, scripts } = this.#deps;
    await runInSlices(scripts.fillSteps(this.#noting(isNoted)), {
      signal: AbortSignal.any([signal, this.#deps.signal]),
      around: (slice) => store.writeRelaxed(slice),
    });
  }

  /**
   * Derives some of the reserved scripts, and records them for `lookUpFilled` where `isNoted` holds for their
   * descriptor. Returns false when none are left.
   */
  fillSome(isNoted: (descriptor: number) => boolean = () => true): boolean {
    const { store, scripts } = this.#deps;
    return store.writeRelaxed(() => scripts.fillSome(this.#noting(isNoted)));
  }

  /** Whether scripts are yet to be derived or looked up. */
  get #isLeft(): boolean {
    const { store, scripts } = this.#deps;
    return scripts.unfilled().length > 0 || Object.keys(store.meta('filledUnseen') ?? {}).length > 0;
  }

  #beginSearch(): void {
    this.#search ??= { startedAt: this.#deps.clock.monotonicMs(), progress: 0 };
  }

  #noting(isNoted: (descriptor: number) => boolean): (descriptor: number, from: number) => void {
    const { store } = this.#deps;
    return (descriptor, from) => {
      const noted = store.meta('filledUnseen');
      if (isNoted(descriptor) && !(noted && from >= noted[descriptor]!))
        store.setMeta('filledUnseen', { ...noted, [descriptor]: from });
    };
  }

  /**
   * Looks up the recorded scripts in the chain and the mempool, including those recorded before this start: a copy of
   * the wallet may have given out their addresses.
   */
  async lookUpFilled(): Promise<void> {
    const { store, scripts, sync, scanner, signal } = this.#deps;
    let looked = false;
    const ends = () => new Map(scripts.descriptors().map(({ id, record }) => [id, record.filled]));
    for (;;) {
      const noted = Object.entries(store.meta('filledUnseen') ?? {}).map(([id, from]) => ({ id: Number(id), from }));
      if (noted.length === 0) break;
      looked = true;
      const before = ends();
      const unseen = await runInSlices(this.#scriptsOf(noted), { signal });
      await sync.refreshOwnOutputs();
      await sync.lookUpScripts(unseen, (share) => {
        if (this.#search) this.#search.progress = share;
      });
      store.writeRelaxed(() => {
        const left = { ...store.meta('filledUnseen') };
        const after = ends();
        for (const { id, from } of noted) {
          // More scripts may have been recorded or derived in between.
          if (left[id] !== from) continue;
          if (after.get(id) === before.get(id)) delete left[id];
          else left[id] = Math.min(before.get(id)!, after.get(id)!);
        }
        store.setMeta('filledUnseen', left);
      });
    }
    // Once for all of them. After an interruption the next start scans the mempool anyway.
    if (looked) await scanner.scanMempool();
  }

  /** Returns the scripts of some descriptors from an index on. */
  *#scriptsOf(noted: readonly { readonly id: number; readonly from: number }[]): Steps<Uint8Array[]> {
    const first = new Map(noted.map(({ id, from }) => [id, from]));
    const found: Uint8Array[] = [];
    for (const page of this.#deps.store.keys.scriptPages()) {
      for (const { script, descriptor, position } of page)
        if (position >= (first.get(descriptor) ?? Number.POSITIVE_INFINITY)) found.push(script);
      yield;
    }
    return found;
  }
}
