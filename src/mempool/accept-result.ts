import type { TxRejection } from '../consensus/rejection.ts';
import type { Txid, Wtxid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';

/** Fee in satoshis and virtual size of transactions evaluated together. */
export interface EffectiveFeerate {
  readonly fee: number;
  readonly vsize: number;
  /** Wtxids of these transactions. */
  readonly includes: readonly Wtxid[];
}

/** Result of one transaction. Amounts in satoshis, sizes in virtual bytes. */
export type AcceptResult =
  | {
      readonly status: 'accepted';
      readonly vsize: number;
      /** Base fee without prioritisation. */
      readonly fee: number;
      readonly effective: EffectiveFeerate;
      readonly replaced: readonly Txid[];
    }
  | { readonly status: 'in-mempool'; readonly vsize: number; readonly fee: number }
  /** The mempool has the transaction with another witness. */
  | { readonly status: 'different-witness'; readonly wtxid: Wtxid }
  | {
      readonly status: 'rejected';
      readonly rejection: TxRejection;
      /** The evaluated feerate, if the fee was too low. */
      readonly effective?: EffectiveFeerate | undefined;
      /** Conflicting transactions of the mempool. */
      readonly conflicts: readonly Txid[];
      /** Spent outputs that are unknown or already spent. */
      readonly missingInputs: readonly Outpoint[];
    };

type PackageRejectKind = 'policy' | 'transaction';

/** Result of a package. Transactions that were not validated have no result. */
export interface PackageResult {
  /** Null if all transactions are in the mempool. */
  readonly rejection: { readonly kind: PackageRejectKind; readonly reason: string; readonly debug?: string } | null;
  /** By wtxid in hex, display order. */
  readonly results: ReadonlyMap<string, AcceptResult>;
}
