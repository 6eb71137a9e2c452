import type { Config } from '../config/schema.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type NetworkOptions, paramsFor } from '../params/networks.ts';
import { type BlockHash, hashFromHex } from '../primitives/hash.ts';

/** Returns the parameters of the configured network. */
export function paramsOfConfig({ network, chain, consensus }: Config): NetworkParams {
  const options: { -readonly [K in keyof NetworkOptions]: NetworkOptions[K] } = {
    testActivationHeight: consensus.testActivationHeight,
  };
  if (chain.assumeValid !== '')
    options.assumeValid = chain.assumeValid === '0' ? null : hashFromHex<BlockHash>(chain.assumeValid.toLowerCase());
  if (chain.minimumWork !== '') options.minimumChainWork = BigInt(`0x${chain.minimumWork}`);
  return paramsFor(network, options);
}
