import type { Config } from '../config/schema.ts';
import type { RelayOptions } from '../policy/relay-options.ts';
import { DEFAULT_RELAY_OPTIONS } from '../policy/relay-options.ts';

const MEGABYTE = 1_000_000;
const HOUR = 3600;

/** What the configuration says of the transactions that are kept and passed on. */
export function relayOptionsOf({ mempool, relay }: Config): RelayOptions {
  return {
    ...DEFAULT_RELAY_OPTIONS,
    minRelayFeerate: perKvB(relay.minFeeRate),
    incrementalFeerate: perKvB(relay.incrementalFeeRate),
    dustFeerate: perKvB(relay.dustFeeRate),
    maxMempoolBytes: mempool.maxSize * MEGABYTE,
    expirySeconds: mempool.expiry * HOUR,
    datacarrier: relay.dataCarrier ? relay.dataCarrierBytes : null,
    permitBareMultisig: relay.bareMultisig,
    requireStandard: !relay.nonStandard,
  };
}

/** From satoshis per virtual byte. */
function perKvB(rate: number): bigint {
  return BigInt(Math.round(rate * 1000));
}
