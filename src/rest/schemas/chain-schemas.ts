import { t } from 'elysia';
import {
  count,
  feeRate,
  hash,
  height,
  longCount,
  named,
  namedWords,
  nullable,
  sats,
  TIP,
  time,
  wholeNumberSchema,
} from '../../http/reply-schema.ts';
import { SERIES_NAMES, SERIES_UNITS } from '../../queries/chart-series.ts';

const INDEX = named('IndexState', { enabled: t.Boolean(), height: nullable(height()), synced: t.Boolean() });
const HEX8 = t.String({ pattern: '^[0-9a-f]{8}$' });

const NETWORK = namedWords('NetworkName', ['main', 'testnet4', 'signet', 'regtest'], 'the chain');

export const INFO = named('Info', {
  service: t.String(),
  version: t.String(),
  userAgent: t.String({ description: 'BIP-14' }),
  network: NETWORK,
  height: height(),
  bestBlockHash: hash(),
  headers: height('height of the best header'),
  difficulty: t.Number(),
  bits: HEX8,
  chainwork: hash('work of the active chain'),
  time: time(),
  medianTime: time('median time past, BIP-113'),
  verificationProgress: t.Number({ minimum: 0, maximum: 1 }),
  initialBlockDownload: t.Boolean(),
  synced: t.Boolean(),
  peers: count(),
  peersInbound: count(),
  peersOutbound: count(),
  mempoolCount: count(),
  pruned: t.Boolean(),
  pruneHeight: nullable(height()),
  indexes: named('Indexes', { tx: INDEX, address: INDEX, spender: INDEX, coinStats: INDEX, filter: INDEX }),
  protocolVersion: count(),
  uptime: count('seconds'),
  warnings: t.Array(t.String()),
});

const PEER = named('Peer', {
  id: count(),
  address: t.String(),
  network: t.String(),
  inbound: t.Boolean(),
  connectionType: t.String({ description: "Bitcoin Core's name" }),
  transport: namedWords('PeerTransport', ['detecting', 'v1', 'v2'], 'v2 is BIP-324'),
  services: t.String({ pattern: '^[0-9a-f]{16}$' }),
  servicesNames: t.Array(t.String()),
  version: count(),
  userAgent: t.String(),
  connectedAt: time(),
  lastSend: time(),
  lastRecv: time(),
  bytesSent: longCount('bytes'),
  bytesRecv: longCount('bytes'),
  pingMs: nullable(t.Number()),
  minPingMs: nullable(t.Number()),
  timeOffset: wholeNumberSchema({ description: 'seconds' }),
  startingHeight: wholeNumberSchema(),
  syncedHeaders: wholeNumberSchema(),
  syncedBlocks: wholeNumberSchema(),
  relayTxs: t.Boolean(),
  minFeeFilter: feeRate(),
  permissions: t.Array(t.String()),
});

export const PEERS = named('Peers', { count: count(), inbound: count(), outbound: count(), items: t.Array(PEER) });

const WORK = { bits: HEX8, target: hash('the target as a number of 256 bits'), difficulty: t.Number() };

export const DIFFICULTY = named('Difficulty', {
  height: height(),
  ...WORK,
  next: named('NextRetarget', {
    height: height('of the next retarget'),
    difficulty: t.Number(),
    change: t.Number({ description: '0.01 is one percent more' }),
    time: time(),
  }),
  blocksToRetarget: count(),
  history: t.Array(named('PastRetarget', { height: height(), time: time(), difficulty: t.Number() })),
  tip: TIP,
});

/** A decimal number of coins. */
const COINS = t.String({ pattern: '^[0-9]+\\.[0-9]{8}$', description: 'coins, with eight decimals' });
const HEX32 = HEX8;
const LINK = nullable(t.String());

export const LISTING = named(
  'Listing',
  {
    schema: t.Literal(1),
    name: t.String(),
    symbol: t.String(),
    decimals: t.Literal(8),
    unit: named('CoinUnit', { name: t.String(), baseName: t.String(), basePerCoin: wholeNumberSchema() }),
    network: NETWORK,
    isTestnet: t.Boolean(),
    genesisHash: hash(),
    genesisTime: time(),
    networkMagic: HEX8,
    consensus: named('ListingConsensus', {
      type: t.String(),
      algorithm: t.String(),
      targetBlockTime: count('seconds'),
      retargetInterval: count('blocks'),
      maxBlockWeight: count(),
      coinbaseMaturity: count('blocks'),
    }),
    supply: named('ListingSupply', {
      max: COINS,
      maxBase: sats(),
      issued: COINS,
      issuedBase: sats(),
      circulating: COINS,
      circulatingBase: sats(),
      unspendable: COINS,
      unspendableBase: sats(),
      height: height(),
      blockHash: hash(),
      time: time(),
    }),
    emission: named('ListingEmission', {
      initialSubsidy: COINS,
      currentSubsidy: COINS,
      halvingInterval: count(),
      nextHalvingHeight: height(),
      blocksToHalving: count(),
      estimatedHalvingTime: time(),
    }),
    addresses: named('ListingAddresses', {
      formats: t.Array(
        named('AddressFormat', {
          type: t.String(),
          encoding: t.String(),
          version: t.Optional(count()),
          prefix: t.String(),
        }),
      ),
      bech32Hrp: t.String(),
      wifPrefix: count(),
      memoRequired: t.Boolean(),
    }),
    hd: named('HdPrefixes', { slip44: count(), bip32Public: HEX32, bip32Private: HEX32, purposes: t.Array(count()) }),
    ports: named('DefaultPorts', { p2p: count(), http: count() }),
    fees: named('ListingFees', {
      minRelayFeeRate: feeRate(),
      incrementalFeeRate: feeRate(),
      dustRelayFeeRate: feeRate(),
      unit: t.String(),
    }),
    confirmations: named('AdvisedConfirmations', {
      deposit: count(),
      depositLarge: count(),
      withdrawal: count(),
      coinbase: count(),
    }),
    software: named('Software', {
      name: t.String(),
      version: t.String(),
      userAgent: t.String(),
      protocolVersion: count(),
      license: nullable(t.String()),
    }),
    links: named('ListingLinks', {
      website: LINK,
      explorer: LINK,
      explorerTx: LINK,
      explorerAddress: LINK,
      source: LINK,
      whitepaper: LINK,
      support: LINK,
    }),
    endpoints: t.Record(t.String(), t.String()),
    features: t.Record(t.String(), t.Boolean()),
    status: named('ListingStatus', { height: height(), synced: t.Boolean(), tipTime: time() }),
  },
  'the listing record of the coin',
);

export const SUPPLY = t.String({ pattern: '^[0-9]+\\.[0-9]{8}$', description: 'coins' });

export const CHART = named(
  'Chart',
  {
    series: namedWords('ChartSeries', SERIES_NAMES, 'a series over the active chain, or of the state of the node'),
    unit: namedWords('ChartUnit', SERIES_UNITS, 'the unit of the values'),
    fromHeight: nullable(
      height('of the first block; null where the chain has only the genesis block, and for the state of the node'),
    ),
    toHeight: nullable(height('of the last block')),
    interval: nullable(count('seconds that a point stands for; null where points stand for blocks')),
    points: t.Array(t.Array(t.Number(), { minItems: 2, maxItems: 2 }), {
      description:
        'pairs of the time of the last block of a point, or of the begin of its interval, Unix seconds, and the value',
    }),
    tip: TIP,
  },
  'a series over the active chain, or of the state of the node',
);
