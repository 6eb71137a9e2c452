import type { ConsensusParams } from '../consensus/consensus-params.ts';

export type NetworkName = 'main' | 'testnet4' | 'signet' | 'regtest';

/** What the genesis block is made of. */
export interface GenesisParams {
  readonly version: number;
  readonly time: number;
  readonly bits: number;
  readonly nonce: number;
  /** The text in its coinbase. */
  readonly message: string;
  /** The public key that its coinbase pays, hex. */
  readonly publicKey: string;
}

/** Everything that tells one network from another. */
export interface NetworkParams {
  /** As RPC calls the chain. */
  readonly name: NetworkName;
  readonly isTestnet: boolean;
  /** The four bytes before each message and stored block, as a little-endian number. */
  readonly magic: number;
  readonly ports: { readonly p2p: number; readonly http: number };
  /** Version bytes of base58 addresses, and the human-readable part of the others. */
  readonly address: { readonly p2pkh: number; readonly p2sh: number; readonly hrp: string };
  /** Version byte of private keys. */
  readonly wif: number;
  /** Version of extended keys, big-endian. */
  readonly bip32: { readonly public: number; readonly private: number };
  /** Coin type in derivation paths. */
  readonly slip44: number;
  readonly genesis: GenesisParams;
  readonly consensus: ConsensusParams;
  /** Names that resolve to peers. */
  readonly dnsSeeds: readonly string[];
  /** How many transactions the chain had at a time in seconds, and how many a second come to it: to estimate progress. */
  readonly chainTxData: { readonly time: number; readonly count: number; readonly rate: number };
  /** How headers of unproven work are committed to before they are kept. */
  readonly headersSync: { readonly commitmentPeriod: number; readonly redownloadBufferSize: number };
}
