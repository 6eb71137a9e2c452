import { WalletReads } from '../wallet/store/wallet-reads.ts';
import type { WalletState } from '../wallet/wallet-state.ts';

/** A loaded wallet, and where its file is. */
export type WalletFileState = Pick<WalletState, 'name' | 'load' | 'path'>;

/** Connections of a thread to wallet files; for each name, that of the last loaded wallet. */
export class WalletFileReaders {
  readonly #open = new Map<string, { readonly load: number; readonly reads: WalletReads }>();

  get({ name, load, path }: WalletFileState): WalletReads {
    const open = this.#open.get(name);
    if (open?.load === load) return open.reads;
    open?.reads.close();
    const reads = WalletReads.open(path);
    this.#open.set(name, { load, reads });
    return reads;
  }

  /** Closes the file of a wallet, which the next read opens again. */
  closeReader(name: string): void {
    this.#open.get(name)?.reads.close();
    this.#open.delete(name);
  }

  /** Closes the files of all wallets but these. */
  closeOthers(states: readonly WalletState[]): void {
    for (const [name, { load, reads }] of this.#open) {
      if (states.some((state) => state.name === name && state.load === load)) continue;
      reads.close();
      this.#open.delete(name);
    }
  }

  close(): void {
    this.closeOthers([]);
  }
}

/** A loaded wallet with its reader. */
export interface LoadedWallet {
  readonly state: WalletState;
  readonly reads: WalletReads;
}

/** The loaded wallets, for reads on the main thread. */
export class WalletReaders {
  readonly #states: () => readonly WalletState[] | null;
  readonly #files = new WalletFileReaders();

  /** `states` returns the wallets that the node has loaded. */
  constructor(states: () => readonly WalletState[] | null) {
    this.#states = states;
  }

  /** The states in the order of loading; null where wallets are disabled. */
  get states(): readonly WalletState[] | null {
    return this.#states();
  }

  /** Null where no such wallet is loaded. */
  get(name: string): LoadedWallet | null {
    this.closeUnloaded();
    const state = this.states?.find((each) => each.name === name);
    return state ? { state, reads: this.#files.get(state) } : null;
  }

  close(): void {
    this.#files.close();
  }

  closeReader(name: string): void {
    this.#files.closeReader(name);
  }

  /** Closes the files of wallets that are no longer loaded. */
  closeUnloaded(): void {
    this.#files.closeOthers(this.states ?? []);
  }
}
