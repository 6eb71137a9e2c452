import { DEFAULT_RELAY_OPTIONS } from '../../policy/relay-options.ts';

export { BLOCK_MIN_FEERATE, MAX_CONFIRM_TARGET } from '../../policy/relay-options.ts';

// Nothing of this can be set yet.
export const {
  minRelayFeerate: MIN_RELAY_FEERATE,
  incrementalFeerate: INCREMENTAL_RELAY_FEERATE,
  dustFeerate: DUST_RELAY_FEERATE,
  maxMempoolBytes: MAX_MEMPOOL_BYTES,
  clusterCount: MAX_CLUSTER_COUNT,
  clusterVsize: MAX_CLUSTER_VSIZE,
} = DEFAULT_RELAY_OPTIONS;
export const MAX_DATACARRIER_BYTES = DEFAULT_RELAY_OPTIONS.datacarrier ?? 0;

export function satPerVByte(perKvB: bigint): number {
  return Number(perKvB) / 1000;
}
