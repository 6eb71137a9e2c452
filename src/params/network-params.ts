import type { ConsensusParams } from '../consensus/consensus-params.ts';
import type { AssumedUtxoSet } from './assume-utxo.ts';

export type NetworkName = 'main' | 'testnet4' | 'signet' | 'regtest';

/** Fields of the genesis block. */
export interface GenesisParams {
  readonly version: number;
  readonly time: number;
  readonly bits: number;
  readonly nonce: number;
  /** Text in the coinbase. */
  readonly message: string;
  /** Public key that the coinbase pays, hex. */
  readonly publicKey: string;
}

/** The parameters of a network. */
export interface NetworkParams {
  /** Name of the chain in RPC. */
  readonly name: NetworkName;
  readonly isTestnet: boolean;
  /** Message start of p2p messages and block files, as a little-endian number. */
  readonly magic: number;
  readonly ports: { readonly p2p: number; readonly http: number };
  /** Version bytes of base58 addresses, and the human-readable part of bech32 addresses. */
  readonly address: { readonly p2pkh: number; readonly p2sh: number; readonly hrp: string };
  /** Version byte of private keys in WIF. */
  readonly wif: number;
  /** Version of extended keys (BIP-32), big-endian. */
  readonly bip32: { readonly public: number; readonly private: number };
  /** Coin type in derivation paths (SLIP-44). */
  readonly slip44: number;
  readonly genesis: GenesisParams;
  readonly consensus: ConsensusParams;
  /** DNS seeds. */
  readonly dnsSeeds: readonly string[];
  /** Height of the tip below which no block is pruned (Core's nPruneAfterHeight). */
  readonly pruneAfterHeight: number;
  /**
   * Number of transactions at a time in Unix seconds, and transactions per second since then; for the estimated
   * progress (Core's ChainTxData).
   */
  readonly chainTxData: { readonly time: number; readonly count: number; readonly rate: number };
  /** Parameters of header presync, Core's HeadersSyncParams. */
  readonly headersSync: { readonly commitmentPeriod: number; readonly redownloadBufferSize: number };
  /** UTXO sets that loadtxoutset accepts, the lowest first. */
  readonly assumedUtxoSets: readonly AssumedUtxoSet[];
}
