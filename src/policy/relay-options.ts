import type { Amount } from '../primitives/amount.ts';

/** Settings of mempool and relay policy. Feerates in satoshis per 1,000 vB. */
export interface RelayOptions {
  /** Least feerate of relayed transactions. */
  readonly minRelayFeerate: Amount;
  /**
   * Least feerate by which a replacement exceeds the replaced transactions, and step of the minimum feerate of a full
   * mempool.
   */
  readonly incrementalFeerate: Amount;
  /** An output is dust if spending it at this rate costs more than its value. */
  readonly dustFeerate: Amount;
  /** Memory limit of the mempool, bytes. */
  readonly maxMempoolBytes: number;
  /** Time after which an unconfirmed transaction expires, seconds. */
  readonly expirySeconds: number;
  /** Limit of all OP_RETURN scripts of one transaction together, bytes; null allows none. */
  readonly datacarrier: number | null;
  /** Whether bare multisig outputs are relayed. */
  readonly permitBareMultisig: boolean;
  /** Maximum number of transactions in a cluster. */
  readonly clusterCount: number;
  /** Maximum size of a cluster, virtual bytes adjusted for sigops. */
  readonly clusterVsize: number;
  /** Weight that each unit of sigop cost counts at least. */
  readonly bytesPerSigop: number;
  /** Whether only standard transactions are relayed; Core allows false on test networks only. */
  readonly requireStandard: boolean;
}

/** The highest confirmation target of fee estimation, blocks. */
export const MAX_CONFIRM_TARGET = 1008;
