import type { BlockHash } from '../primitives/hash.ts';
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
  /** Regtest: whether the rules of BIP-94 apply (Core's -test=bip94). */
  readonly enforceBip94?: boolean;
  /** Signet: the challenge of a custom signet. */
  readonly signetChallenge?: Uint8Array;
  /** Block whose ancestors need no script checks (Core's -assumevalid); null verifies all scripts. */
  readonly assumeValid?: BlockHash | null;
  /** Least work of a chain that counts as synced (Core's -minimumchainwork). */
  readonly minimumChainWork?: bigint;
}

/** Returns the parameters of a network. Throws on an option that the network does not have, or that is invalid. */
export function paramsFor(name: NetworkName, options: NetworkOptions = {}): NetworkParams {
  const params = chooseParams(name, options);
  const { assumeValid = params.consensus.assumeValid, minimumChainWork = params.consensus.minimumChainWork } = options;
  const { consensus } = params;
  if (assumeValid === consensus.assumeValid && minimumChainWork === consensus.minimumChainWork) return params;
  return { ...params, consensus: { ...consensus, assumeValid, minimumChainWork } };
}

function chooseParams(name: NetworkName, options: NetworkOptions): NetworkParams {
  const { testActivationHeight = [], enforceBip94 = false, signetChallenge } = options;
  if (testActivationHeight.length > 0 || enforceBip94) {
    if (name !== 'regtest') throw new Error('testActivationHeight and enforceBip94 are for regtest only');
    return regtestWith(testActivationHeight, { enforceBip94 });
  }
  if (signetChallenge) {
    if (name !== 'signet') throw new Error('signetChallenge is for signet only');
    return customSignet(signetChallenge);
  }
  return NETWORKS[name];
}
