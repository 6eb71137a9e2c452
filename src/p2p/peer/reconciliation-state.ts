/** The result of a negotiation before `verack`. */
interface AgreedReconciliation {
  /** The lower of both versions. */
  readonly version: number;
  /** Whether we request the sketches, as the side that opened the connection does. */
  readonly weInitiate: boolean;
  /** Keys of SipHash for the short ids of transactions (BIP-330). */
  readonly shortIdKeys: readonly [bigint, bigint];
}

/** The negotiation with a peer: the salt that we offered, and what was agreed on. */
export interface ReconciliationState {
  readonly ourSalt: bigint;
  agreed: AgreedReconciliation | null;
}
