/** The last block that a wallet has processed. */
export interface WalletCursor {
  readonly height: number;
  readonly hash: Uint8Array;
}

/** Single values of a wallet. */
export interface WalletMeta {
  /** Core's names of the flags that are set. */
  flags: readonly string[];
  /** Unix seconds; earlier blocks contain nothing of the wallet. Null where it is unknown. */
  birthTime: number | null;
  /** Encryption of the keys; null where they are not encrypted. */
  encryption: SealedMasterKey | null;
  keypool: number;
  /** Height from which new scripts need a scan; null where none do. */
  unscannedFrom: number | null;
  /** Hex txid of a transaction that is being added or removed in steps; the next start completes that. */
  unfinished: { readonly txid: string; readonly remove: boolean } | null;
  /** Height above which transactions are being disconnected in steps; the next start completes that. Null where none are. */
  disconnecting: number | null;
  /** By descriptor id: addresses before `to` that were skipped and are not in the address book yet. */
  unnamed: Readonly<Record<number, { readonly from: number; readonly to: number }>> | null;
  /** By descriptor id: first index of the scripts that were not looked up in the chain yet. */
  filledUnseen: Readonly<Record<number, number>> | null;
}

/** The key that seals the private keys, sealed itself with a key derived from the passphrase. */
export interface SealedMasterKey {
  /** `sha256-scrypt` hashes the passphrase first. Versions that do not know it refuse the schema of the file. */
  readonly kdf: 'scrypt' | 'sha256-scrypt';
  readonly cost: number;
  readonly blockSize: number;
  readonly parallel: number;
  /** Whether `scrypt` hashes the passphrase first. Some wallets have this in place of the name of the function. */
  readonly hashed?: true;
  /** Hex. */
  readonly salt: string;
  readonly sealed: string;
  /** Set where the rows have a MAC of the master key. Part of the sealed data, so that it cannot be removed. */
  readonly integrity?: true;
}

export type AddressPurpose = 'receive' | 'send' | 'refund';
