import type { TxRejection } from '../consensus/rejection.ts';
import type { Txid, Wtxid } from '../primitives/hash.ts';
import type { Outpoint } from '../primitives/outpoint.ts';

/** Satoshis and virtual bytes of what was judged together. */
export interface EffectiveFeerate {
  readonly fee: number;
  readonly vsize: number;
  /** The transactions whose fees and sizes these are. */
  readonly includes: readonly Wtxid[];
}

/** What became of one transaction. Amounts in satoshis, sizes in virtual bytes. */
export type AcceptResult =
  | {
      readonly status: 'accepted';
      readonly vsize: number;
      /** Without prioritisation. */
      readonly fee: number;
      readonly effective: EffectiveFeerate;
      readonly replaced: readonly Txid[];
    }
  | { readonly status: 'in-mempool'; readonly vsize: number; readonly fee: number }
  /** The mempool holds it with another witness. */
  | { readonly status: 'different-witness'; readonly wtxid: Wtxid }
  | {
      readonly status: 'rejected';
      readonly rejection: TxRejection;
      /** Where it was for the fee. */
      readonly effective?: EffectiveFeerate | undefined;
      /** Transactions of the mempool it contradicts. */
      readonly conflicts: readonly Txid[];
      /** Outputs it spends that are unknown or spent. */
      readonly missingInputs: readonly Outpoint[];
    };

type PackageRejectKind = 'policy' | 'transaction';

/** What became of a package; of a transaction that was not judged there is no result. */
export interface PackageResult {
  /** Null where all are in the mempool now. */
  readonly rejection: { readonly kind: PackageRejectKind; readonly reason: string; readonly debug?: string } | null;
  /** By wtxid in hex, display order. */
  readonly results: ReadonlyMap<string, AcceptResult>;
}
