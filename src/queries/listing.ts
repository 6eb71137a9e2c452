import { retargetInterval } from '../consensus/consensus-params.ts';
import { COINBASE_MATURITY, MAX_BLOCK_WEIGHT } from '../consensus/limits.ts';
import { blockSubsidy, issuedSupply, maxSupply } from '../consensus/subsidy.ts';
import { sat } from '../http/sat.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { formatCoins } from '../primitives/amount.ts';
import { hashToHex } from '../primitives/hash.ts';
import { headerTime } from './block-facts.ts';
import type { ReadEnv } from './read-env.ts';

/** BIP-44, BIP-49, BIP-84 and BIP-86. */
const DERIVATION_PURPOSES = [44, 49, 84, 86];
const PROTOCOL_VERSION = 70017;

/** The supply of the coin at the tip, satoshis. */
export interface Supply {
  readonly max: bigint;
  /** Sum of the subsidies, with that of the genesis block. */
  readonly issued: bigint;
  /** Value of the unspent outputs. */
  readonly circulating: bigint;
}

export function supplyAt({ reads, tip, params }: Pick<ReadEnv, 'reads' | 'tip' | 'params'>): Supply {
  const { subsidyHalvingInterval } = params.consensus;
  return {
    max: maxSupply(subsidyHalvingInterval),
    issued: issuedSupply(tip.height, subsidyHalvingInterval),
    circulating: BigInt(reads.headers.totals(tip.height)?.circulating ?? 0),
  };
}

/** Returns the listing record: the facts that exchanges ask about a coin, the same in REST and RPC. */
export function listingRecord(env: ReadEnv, { synced }: { synced: boolean }) {
  const { tip, params, settings } = env;
  const { listing } = settings;
  const { consensus } = params;
  const time = headerTime(tip);
  return {
    schema: 1,
    name: listing.name,
    symbol: listing.symbol,
    decimals: 8,
    unit: { name: listing.symbol, baseName: 'satoshi', basePerCoin: 100_000_000 },
    network: params.name,
    isTestnet: params.isTestnet,
    genesisHash: hashToHex(consensus.genesisHash),
    genesisTime: params.genesis.time,
    networkMagic: magicHex(params.magic),
    consensus: {
      type: 'proof-of-work',
      algorithm: 'SHA-256d',
      targetBlockTime: consensus.powTargetSpacing,
      retargetInterval: retargetInterval(consensus),
      maxBlockWeight: MAX_BLOCK_WEIGHT,
      coinbaseMaturity: COINBASE_MATURITY,
    },
    supply: supplyView(env),
    emission: emissionView(env),
    addresses: addressesView(params),
    hd: {
      slip44: params.slip44,
      bip32Public: hex32(params.bip32.public),
      bip32Private: hex32(params.bip32.private),
      purposes: DERIVATION_PURPOSES,
    },
    ports: { p2p: params.ports.p2p, http: params.ports.http },
    fees: {
      minRelayFeeRate: Number(settings.relay.minRelayFeerate) / 1000,
      incrementalFeeRate: Number(settings.relay.incrementalFeerate) / 1000,
      dustRelayFeeRate: Number(settings.relay.dustFeerate) / 1000,
      unit: 'sat/vB',
    },
    confirmations: { ...listing.confirmations, coinbase: COINBASE_MATURITY },
    software: {
      name: settings.service,
      version: settings.version,
      userAgent: settings.userAgent,
      protocolVersion: PROTOCOL_VERSION,
      license: listing.license,
    },
    links: listing.links,
    endpoints: endpointsView(settings.publicUrl),
    features: { segwit: true, taproot: true, rbf: true, addressIndex: true, eventReplay: true },
    status: { height: tip.height, synced, tipTime: time },
  };
}

function supplyView(env: ReadEnv) {
  const { max, issued, circulating } = supplyAt(env);
  const { tip } = env;
  const unspendable = issued - circulating;
  return {
    max: formatCoins(max),
    maxBase: sat(max),
    issued: formatCoins(issued),
    issuedBase: sat(issued),
    circulating: formatCoins(circulating),
    circulatingBase: sat(circulating),
    unspendable: formatCoins(unspendable),
    unspendableBase: sat(unspendable),
    height: tip.height,
    blockHash: hashToHex(tip.hash),
    time: headerTime(tip),
  };
}

function emissionView({ tip, params }: ReadEnv) {
  const { subsidyHalvingInterval: interval, powTargetSpacing } = params.consensus;
  const nextHalvingHeight = (Math.floor(tip.height / interval) + 1) * interval;
  const blocksToHalving = nextHalvingHeight - tip.height;
  return {
    initialSubsidy: formatCoins(blockSubsidy(0, interval)),
    currentSubsidy: formatCoins(blockSubsidy(tip.height + 1, interval)),
    halvingInterval: interval,
    nextHalvingHeight,
    blocksToHalving,
    estimatedHalvingTime: headerTime(tip) + blocksToHalving * powTargetSpacing,
  };
}

function addressesView({ address, wif }: NetworkParams) {
  const { p2pkh, p2sh, hrp } = address;
  const base58 = (type: string, version: number) => ({
    type,
    encoding: 'base58check',
    version,
    prefix: BASE58_PREFIXES[version] ?? '',
  });
  const segwit = (type: string, encoding: string, version: string) => ({ type, encoding, prefix: `${hrp}1${version}` });
  return {
    formats: [
      base58('p2pkh', p2pkh),
      base58('p2sh', p2sh),
      segwit('p2wpkh', 'bech32', 'q'),
      segwit('p2wsh', 'bech32', 'q'),
      segwit('p2tr', 'bech32m', 'p'),
    ],
    bech32Hrp: hrp,
    wifPrefix: wif,
    memoRequired: false,
  };
}

/** First characters of an address by its version byte. */
const BASE58_PREFIXES: Readonly<Record<number, string>> = { 0: '1', 5: '3', 111: 'm|n', 196: '2' };

function endpointsView(publicUrl: string | null) {
  const at = (path: string) => `${publicUrl ?? ''}${path}`;
  return {
    rest: at('/api'),
    rpc: at('/'),
    websocket: at('/ws').replace(/^http/, 'ws'),
    health: at('/healthz'),
    ready: at('/readyz'),
    metrics: at('/metrics'),
    openapi: at('/docs/json'),
    circulatingSupply: at('/api/supply/circulating'),
    maxSupply: at('/api/supply/max'),
  };
}

/** Returns the magic as hex in wire order. */
function magicHex(magic: number): string {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, magic, true);
  return bytes.toHex();
}

function hex32(value: number): string {
  return value.toString(16).padStart(8, '0');
}
