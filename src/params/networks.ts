import { mainnet } from './mainnet.ts';
import type { NetworkName, NetworkParams } from './network-params.ts';
import { regtest, regtestWith } from './regtest.ts';
import { customSignet, signet } from './signet.ts';
import { testnet4 } from './testnet4.ts';

const NETWORKS: Readonly<Record<NetworkName, NetworkParams>> = { main: mainnet, testnet4, signet, regtest };

export const NETWORK_NAMES = Object.keys(NETWORKS) as readonly NetworkName[];

/** Options of a network. */
export interface NetworkOptions {
  /** Regtest: activation heights, each as `name@height` (segwit, bip34, dersig, cltv, csv). */
  readonly testActivationHeight?: readonly string[];
  /** Signet: the challenge of a custom signet. */
  readonly signetChallenge?: Uint8Array;
}

/** Returns the parameters of a network. Throws on an option that the network does not have, or that is invalid. */
export function paramsFor(name: NetworkName, options: NetworkOptions = {}): NetworkParams {
  const { testActivationHeight = [], signetChallenge } = options;
  if (testActivationHeight.length > 0) {
    if (name !== 'regtest') throw new Error('testActivationHeight is for regtest only');
    return regtestWith(testActivationHeight);
  }
  if (signetChallenge) {
    if (name !== 'signet') throw new Error('signetChallenge is for signet only');
    return customSignet(signetChallenge);
  }
  return NETWORKS[name];
}
