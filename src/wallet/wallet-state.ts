import type { IntegrityState } from './wallet-integrity.ts';

/** What everybody may know of a loaded wallet. */
export interface WalletState {
  readonly name: string;
  /** Grows with each wallet that is loaded: another number, another file. */
  readonly load: number;
  /** Unix seconds, 0 while it is locked; null where it has no passphrase. */
  readonly unlockedUntil: number | null;
  /** It has private keys, or may have, and no passphrase. */
  readonly unencrypted: boolean;
  readonly scanning: { readonly duration: number; readonly progress: number } | null;
  /** It stands on the tip. */
  readonly live: boolean;
  /** It is live, and has seen what was in the mempool when it was loaded: what it does not know now does not concern it. */
  readonly settled: boolean;
  /** Of the last block that it has followed. */
  readonly height: number;
  readonly integrity: IntegrityState;
  /** Sentences for the operator. */
  readonly warnings: readonly string[];
}
