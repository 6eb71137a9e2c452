/**
 * Kind of a transaction's fault, which decides how to treat the transaction and the peer that sent it.
 *
 * - `consensus`, `script`: violates a consensus rule
 * - `policy`: not relayed, though it may be valid; `inputs-not-standard` is the part of it that the txid alone decides
 * - `witness-mutated`, `witness-stripped`: valid with another witness perhaps, so the txid must not be remembered as
 * invalid
 * - `fee`: the fee is too low (or too high)
 * - `missing-inputs`: an input is unknown or spent
 * - `conflict`: the transaction is known, or conflicts with a known one
 * - `premature-spend`: not valid yet
 */
export type TxRejectKind =
  | 'consensus'
  | 'script'
  | 'policy'
  | 'inputs-not-standard'
  | 'witness-mutated'
  | 'witness-stripped'
  | 'fee'
  | 'missing-inputs'
  | 'conflict'
  | 'premature-spend';

/**
 * Kind of a block's or header's fault.
 *
 * - `consensus`: violates a consensus rule
 * - `cached-invalid`: was found invalid before
 * - `invalid-header`: proof of work, time or version of the header
 * - `mutated`: the data is not what the header commits to; the same header may come with valid data
 * - `missing-prev`, `invalid-prev`: the parent is unknown or invalid
 * - `time-future`: too far ahead of the node's time; may be accepted later
 * - `header-low-work`: on a chain with too little work to be stored
 */
export type BlockRejectKind =
  | 'consensus'
  | 'cached-invalid'
  | 'invalid-header'
  | 'mutated'
  | 'missing-prev'
  | 'invalid-prev'
  | 'time-future'
  | 'header-low-work';

export interface Rejection<K extends string> {
  readonly kind: K;
  /** Core's reject string. */
  readonly reason: string;
  /** Core's debug message, if it has one. */
  readonly debug?: string | undefined;
}

export type TxRejection = Rejection<TxRejectKind>;
export type BlockRejection = Rejection<BlockRejectKind>;

/** Returns a rejection that is also the failed side of a `Result`. */
export function reject<K extends TxRejectKind | BlockRejectKind>(
  kind: K,
  reason: string,
  debug?: string,
): { readonly ok: false } & Rejection<K> {
  return { ok: false, kind, reason, debug };
}

/** Formats `reason, debug` in one line, as logs and RPC errors show it. */
export function rejectionText({ reason, debug }: Rejection<string>): string {
  return debug ? `${reason}, ${debug}` : reason;
}
