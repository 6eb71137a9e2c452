import type { Config } from '../config/settings.ts';
import type { RelayOptions } from '../policy/relay-options.ts';

const MEGABYTE = 1_000_000;
const HOUR = 3600;
/** Core's minimum relay feerate, sat/vB. A higher incremental feerate raises it, unless it is set itself. */
const DEFAULT_MIN_FEE_RATE = 0.1;

/** Returns the relay policy that the configuration sets. */
export function relayOptionsOf({ mempool, relay }: Config): RelayOptions {
  return {
    minRelayFeerate: perKvB(relay.minFeeRate ?? Math.max(DEFAULT_MIN_FEE_RATE, relay.incrementalFeeRate)),
    incrementalFeerate: perKvB(relay.incrementalFeeRate),
    dustFeerate: perKvB(relay.dustFeeRate),
    maxMempoolBytes: mempool.maxSize * MEGABYTE,
    expirySeconds: mempool.expiry * HOUR,
    datacarrier: relay.dataCarrier ? relay.dataCarrierBytes : null,
    clusterCount: mempool.clusterCount,
    clusterVsize: mempool.clusterSize * 1000,
    bytesPerSigop: relay.bytesPerSigop,
    permitBareMultisig: relay.bareMultisig,
    requireStandard: !relay.nonStandard,
  };
}

/** Converts satoshis per virtual byte to satoshis per kvB. */
export function perKvB(rate: number): bigint {
  return BigInt(Math.round(rate * 1000));
}
