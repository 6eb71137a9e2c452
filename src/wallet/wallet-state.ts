import type { IntegrityState } from './wallet-integrity.ts';

/** Public state of a loaded wallet. */
export interface WalletState {
  readonly name: string;
  /** Increases with each wallet that is loaded: another number means another file. */
  readonly load: number;
  /** Path of its file. */
  readonly path: string;
  /** Unix seconds, 0 while it is locked; null where it has no passphrase. */
  readonly unlockedUntil: number | null;
  /** Whether it has private keys, or may have, and no passphrase. */
  readonly unencrypted: boolean;
  readonly scanning: { readonly duration: number; readonly progress: number } | null;
  /** Whether its last processed block is the tip. */
  readonly live: boolean;
  /** Whether it is live and has processed the mempool that existed when it was loaded. */
  readonly settled: boolean;
  /** Height of the last processed block. */
  readonly height: number;
  readonly integrity: IntegrityState;
  /** Sentences for the operator. */
  readonly warnings: readonly string[];
}
