/**
 * What kind of fault a transaction has, and so what may be done with it and with who sent it.
 *
 * - `consensus`, `script`: breaks a rule; can never be in a block under the rules checked
 * - `policy`: valid perhaps, but not relayed here; `inputs-not-standard` is the part of it that the txid alone decides
 * - `witness-mutated`, `witness-stripped`: another witness could pass, so the txid must not be remembered as bad
 * - `fee`: pays too little (or too much)
 * - `missing-inputs`: an input is unknown or spent
 * - `conflict`: known already, or against one that is
 * - `premature-spend`: not yet
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
 * What kind of fault a block or header has.
 *
 * - `consensus`: breaks a rule of blocks
 * - `cached-invalid`: was found invalid before
 * - `invalid-header`: work, time or version of the header
 * - `mutated`: the data is not what the header commits to; the same header may come with good data
 * - `missing-prev`, `invalid-prev`: the parent is unknown, or invalid
 * - `time-future`: too far ahead of our clock; may pass later
 * - `header-low-work`: on a chain with too little work to be kept
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
  /** Core's longer message, where it has one. */
  readonly debug?: string | undefined;
}

export type TxRejection = Rejection<TxRejectKind>;
export type BlockRejection = Rejection<BlockRejectKind>;

/** A rejection that is also the failed side of a `Result`. */
export function reject<K extends TxRejectKind | BlockRejectKind>(
  kind: K,
  reason: string,
  debug?: string,
): { readonly ok: false } & Rejection<K> {
  return { ok: false, kind, reason, debug };
}

/** `reason, debug` in one line, as logs and RPC errors show it. */
export function rejectionText({ reason, debug }: Rejection<string>): string {
  return debug ? `${reason}, ${debug}` : reason;
}
