/** Satoshis per 1,000 virtual bytes: below, transactions are not relayed. */
export const MIN_RELAY_FEERATE = 100n;
/** What a replacement has to pay beyond what it replaces, and the step the mempool's floor moves by. */
export const INCREMENTAL_RELAY_FEERATE = 100n;
/** An output is dust when spending it at this rate costs more than it holds. */
export const DUST_RELAY_FEERATE = 3000n;
/** Below, transactions are not mined. */
export const BLOCK_MIN_FEERATE = 1n;
/** Bytes of memory the mempool may take. */
export const MAX_MEMPOOL_BYTES = 300_000_000;
export const MAX_DATACARRIER_BYTES = 100_000;
/** Transactions that hang together. */
export const MAX_CLUSTER_COUNT = 64;
/** Their size together, virtual bytes. */
export const MAX_CLUSTER_VSIZE = 101_000;
/** The furthest confirmation target that fees are estimated for. */
export const MAX_CONFIRM_TARGET = 1008;

export function satPerVByte(perKvB: bigint): number {
  return Number(perKvB) / 1000;
}
