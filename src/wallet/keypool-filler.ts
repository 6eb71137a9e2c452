import { sleep } from '../util/abort.ts';
import { runInSlices, type Steps } from '../util/slices.ts';
import type { WalletScripts } from './scripts/wallet-scripts.ts';
import type { WalletStore } from './store/wallet-store.ts';
import type { WalletScanner } from './wallet-scanner.ts';
import type { WalletSync } from './wallet-sync.ts';

/** A new wallet is of use before it has derived all it looks ahead; others come first. */
const FILL_DELAY_MS = 2000;
const FILL_PAUSE_MS = 20;

export interface KeypoolFillerDeps {
  readonly store: WalletStore;
  readonly scripts: WalletScripts;
  readonly sync: WalletSync;
  readonly scanner: WalletScanner;
  readonly signal: AbortSignal;
  /** Hears why it cannot go on. */
  readonly onError: (error: unknown) => void;
}

/** Derives the scripts that the descriptors of a wallet reserve ahead, and finds what concerns them already. */
export class KeypoolFiller {
  readonly #deps: KeypoolFillerDeps;
  #waiting = false;

  constructor(deps: KeypoolFillerDeps) {
    this.#deps = deps;
    deps.scripts.onDeferred = () => this.fillLater();
  }

  /** Derives what a new wallet looks ahead, when others have had their turn. */
  fillLater(): void {
    const { store, scripts, signal, onError } = this.#deps;
    if (this.#waiting) return;
    this.#waiting = true;
    const fillReserved = async () => {
      await sleep(FILL_DELAY_MS, signal);
      // What is left for later from now on is left for another round.
      this.#waiting = false;
      const steps = scripts.fillSteps(this.#noting(() => true));
      while (!store.writeRelaxed(() => steps.next()).done) await sleep(FILL_PAUSE_MS, signal);
      await this.lookUpFilled();
    };
    // It ends with the wallet, and goes on with the next start.
    fillReserved().catch((error) => {
      if (!signal.aborted) onError(error);
    });
  }

  /**
   * Derives all that the descriptors reserve, in slices. What is derived is noted for `lookUpFilled`, unless it is of a
   * descriptor that is looked up otherwise. Rejects when a signal aborts: the next start goes on.
   */
  async fill(signal: AbortSignal, isNoted: (descriptor: number) => boolean = () => true): Promise<void> {
    const { store, scripts } = this.#deps;
    await runInSlices(scripts.fillSteps(this.#noting(isNoted)), {
      signal: AbortSignal.any([signal, this.#deps.signal]),
      around: (slice) => store.writeRelaxed(slice),
    });
  }

  /**
   * Derives some of what the descriptors reserve; false when there is nothing left. What is derived is noted for
   * `lookUpFilled`, unless it is of a descriptor that is looked up otherwise.
   */
  fillSome(isNoted: (descriptor: number) => boolean = () => true): boolean {
    const { store, scripts } = this.#deps;
    return store.writeRelaxed(() => scripts.fillSome(this.#noting(isNoted)));
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
   * Looks up in the chain and the mempool what `fillSome` has noted, also before this start: somebody may know addresses
   * from a copy of the wallet.
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
      await sync.lookUpScripts(unseen);
      store.writeRelaxed(() => {
        const left = { ...store.meta('filledUnseen') };
        const after = ends();
        for (const { id, from } of noted) {
          // Others may have noted or derived more meanwhile.
          if (left[id] !== from) continue;
          if (after.get(id) === before.get(id)) delete left[id];
          else left[id] = Math.min(before.get(id)!, after.get(id)!);
        }
        store.setMeta('filledUnseen', left);
      });
    }
    // Once for all of them. What a stop cuts off the next start does, which looks there anyway.
    if (looked) await scanner.scanMempool();
  }

  /** The scripts of descriptors from an index on. */
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
