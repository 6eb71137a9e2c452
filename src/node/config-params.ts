import type { Config } from '../config/settings.ts';
import { type AssumedUtxoSet, assumedUtxoSet } from '../params/assume-utxo.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type NetworkOptions, paramsFor } from '../params/networks.ts';
import { type BlockHash, hashFromHex } from '../primitives/hash.ts';
import { hexToBytes } from '../util/bytes.ts';

/** Reads `HEIGHT:SET_HASH:TRANSACTIONS:BLOCK_HASH`, the form of the setting. */
function parseAssumedSet(text: string): AssumedUtxoSet {
  const [height, hash, txs, blockHash] = text.toLowerCase().split(':');
  return assumedUtxoSet(Number(height), blockHash!, hash!, Number(txs));
}

/** Returns the parameters of the configured network. */
export function paramsOfConfig({ network, chain, consensus }: Config): NetworkParams {
  const options: { -readonly [K in keyof NetworkOptions]: NetworkOptions[K] } = {
    testActivationHeight: consensus.testActivationHeight,
    enforceBip94: consensus.enforceBip94,
  };
  if (chain.assumeValid !== '')
    options.assumeValid = chain.assumeValid === '0' ? null : hashFromHex<BlockHash>(chain.assumeValid.toLowerCase());
  if (chain.minimumWork !== '') options.minimumChainWork = BigInt(`0x${chain.minimumWork}`);
  if (consensus.signetChallenge !== '') options.signetChallenge = hexToBytes(consensus.signetChallenge);
  const params = paramsFor(network, options);
  return chain.assumeUtxo === '' ? params : { ...params, assumedUtxoSets: [parseAssumedSet(chain.assumeUtxo)] };
}
