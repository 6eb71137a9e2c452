/** Up to which block a wallet has followed the chain. */
export interface WalletCursor {
  readonly height: number;
  readonly hash: Uint8Array;
}

/** Single values of a wallet. */
export interface WalletMeta {
  /** Core's names of the flags that are set. */
  flags: readonly string[];
  /** Unix seconds; nothing of ours is in blocks before. Null where that is not known. */
  birthTime: number | null;
  /** How the keys are sealed; null where they are not. */
  encryption: SealedMasterKey | null;
  keypool: number;
  /** From this block on some scripts are still to be looked up; null where there are none. */
  unscannedFrom: number | null;
  /** A transaction that is being added output by output, or removed: the next start completes that. Its txid is hex. */
  unfinished: { readonly txid: string; readonly remove: boolean } | null;
  /** By the id of a descriptor: addresses before `to` that were skipped and have no entry in the book yet. */
  unnamed: Readonly<Record<number, { readonly from: number; readonly to: number }>> | null;
  /** By the id of a descriptor: its scripts from this index on are still to be looked up. */
  filledUnseen: Readonly<Record<number, number>> | null;
}

/** The key that seals the private keys, sealed itself with one made from the passphrase. */
export interface SealedMasterKey {
  readonly kdf: 'scrypt';
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  /** Hex. */
  readonly salt: string;
  readonly sealed: string;
  /** The rows of the wallet have a MAC of the master key. Part of the sealed data, so that it cannot be removed. */
  readonly integrity?: true;
}

export type AddressPurpose = 'receive' | 'send' | 'refund';
