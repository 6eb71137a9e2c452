import type { Amount } from '../primitives/amount.ts';

/** What an operator may set about the transactions that are kept and passed on. Feerates in satoshis per 1,000 vB. */
export interface RelayOptions {
  /** Below, transactions are not relayed. */
  readonly minRelayFeerate: Amount;
  /** What a replacement pays beyond what it replaces, and the step by which the floor of a full mempool moves. */
  readonly incrementalFeerate: Amount;
  /** An output is dust where spending it at this rate costs more than it holds. */
  readonly dustFeerate: Amount;
  /** Bytes of memory the mempool may take. */
  readonly maxMempoolBytes: number;
  /** Seconds after which a transaction that no block took is dropped. */
  readonly expirySeconds: number;
  /** Bytes that the OP_RETURN scripts of one transaction may take together; null where it may have none. */
  readonly datacarrier: number | null;
  /** Whether a multisig script may stand in an output itself. */
  readonly permitBareMultisig: boolean;
  /** Transactions that may hang together in the mempool. */
  readonly clusterCount: number;
  /** Their size together, virtual bytes adjusted for sigops. */
  readonly clusterVsize: number;
  /** Bytes of weight that each unit of sigop cost counts for at least. */
  readonly bytesPerSigop: number;
  /** False relays whatever blocks may hold; Core allows that on test networks only. */
  readonly requireStandard: boolean;
}

/** Core's defaults. */
export const DEFAULT_RELAY_OPTIONS: RelayOptions = {
  minRelayFeerate: 100n,
  incrementalFeerate: 100n,
  dustFeerate: 3000n,
  maxMempoolBytes: 300_000_000,
  expirySeconds: 336 * 60 * 60,
  // As much as fits the largest standard transaction: the limit that counts is that of weight.
  datacarrier: 100_000,
  permitBareMultisig: true,
  clusterCount: 64,
  clusterVsize: 101_000,
  bytesPerSigop: 20,
  requireStandard: true,
};

/** Satoshis per 1,000 vB: below, transactions are not mined. */
export const BLOCK_MIN_FEERATE = 1n;

/** The furthest confirmation target that fees are estimated for. */
export const MAX_CONFIRM_TARGET = 1008;
