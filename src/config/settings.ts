import { NETWORK_NAMES } from '../params/networks.ts';
import { LOG_CATEGORIES, LOG_LEVELS, parseCategoryLevel } from '../util/log-levels.ts';
import { coinsCacheFor, MANUAL_PRUNE, MIN_PRUNE_TARGET, pruneTarget, testActivationElement } from './elements.ts';
import { MINING_SETTINGS } from './mining-settings.ts';
import { NOTIFY_SETTINGS } from './notify-settings.ts';
import { P2P_SETTINGS } from './p2p-settings.ts';
import { SERVER_SETTINGS } from './server-settings.ts';
import {
  boolean,
  integer,
  list,
  number,
  numberOrNone,
  oneOf,
  optionalInteger,
  optionalPath,
  optionalString,
  path,
  pathElement,
  type Setting,
  setting,
  string,
  url,
} from './setting.ts';
import { WALLET_SETTINGS } from './wallet-settings.ts';

/** Limit of `workers.front`; a node has other threads as well. */
const MAX_FRONTS = 16;

/**
 * Every key of the configuration. Flags, variables, the file, the help and the type of the result are derived from it.
 */
export const SETTINGS = {
  network: oneOf(NETWORK_NAMES, { fallback: 'main', help: 'chain to follow' }),
  datadir: path({
    fallback: ({ dataHome }) => dataHome,
    defaultText: '$XDG_DATA_HOME/obverse, else ~/.local/share/obverse',
    help: 'data directory, with one folder per network',
  }),
  config: optionalPath({ help: 'TOML file to read (flag and environment only)' }),
  'service.name': string({
    fallback: 'obverse',
    pattern: /^[A-Za-z0-9._-]{1,64}$/,
    allowed: '1 to 64 letters, digits, dots, dashes or underscores',
    help: 'name in health answers and metric labels',
  }),

  ...SERVER_SETTINGS,

  'dev.enabled': boolean({
    fallback: false,
    help: 'developer mode on regtest: the node mines by itself and listens for no peers',
  }),
  'dev.interval': integer({
    fallback: 5,
    max: 86_400,
    unit: 's',
    help: 'block interval of developer mode; 0 mines no blocks, not even the first ones',
  }),

  ...P2P_SETTINGS,

  'chain.maxTipAge': integer({
    fallback: ({ network }) => (network === 'regtest' ? 0 : 10_800),
    defaultText: '10800 (regtest 0)',
    unit: 's',
    help: 'readiness is degraded when the tip is older; 0 = never',
  }),
  'chain.initialSyncAge': integer({
    fallback: 86_400,
    min: 1,
    max: Number.MAX_SAFE_INTEGER,
    unit: 's',
    help: 'age of the tip below which the initial sync is over',
  }),
  'chain.assumeValid': string({
    fallback: '',
    pattern: /^(?:|0|[0-9a-fA-F]{64})$/,
    allowed: 'a block hash of 64 hexadecimal digits, or 0',
    defaultText: 'a block that this version knows',
    help: 'scripts of this block and its ancestors are not verified when much work is on top; 0 = verify all',
  }),
  'chain.minimumWork': string({
    fallback: '',
    pattern: /^(?:|[0-9a-fA-F]{1,64})$/,
    allowed: 'up to 64 hexadecimal digits',
    defaultText: 'the work that this version knows',
    help: 'least work of a chain that the node downloads and regards as synced',
  }),
  'chain.stopAtHeight': integer({
    fallback: 0,
    max: 0x7fff_ffff,
    help: 'the node stops when its chain has reached this height, and connects no block above it; 0 = never',
  }),
  'chain.assumeUtxo': string({
    fallback: '',
    pattern: /^(?:|\d{1,9}:[0-9a-fA-F]{64}:\d{1,9}:[0-9a-fA-F]{64})$/,
    allowed: 'HEIGHT:SET_HASH:TRANSACTIONS:BLOCK_HASH',
    defaultText: 'the sets that this version knows',
    help: 'UTXO set that loadtxoutset accepts (regtest only)',
  }),
  'consensus.testActivationHeight': list('a list of segwit|bip34|dersig|cltv|csv@height', testActivationElement, {
    fallback: [],
    help: 'buried deployments activate at these heights (regtest only)',
  }),
  'consensus.signetChallenge': string({
    fallback: '',
    pattern: /^(?:[0-9a-fA-F]{2}){0,10000}$/,
    allowed: 'a script in hexadecimal digits, at most 10000 bytes',
    defaultText: 'that of the public signet',
    help: 'script that the signature of each block satisfies, for a signet of your own (BIP-325; signet only)',
  }),
  'consensus.blockVersion': optionalInteger({
    min: -0x8000_0000,
    max: 0x7fff_ffff,
    defaultText: 'from the deployments',
    help: 'version of the blocks that the node makes (regtest only)',
  }),
  'consensus.enforceBip94': boolean({
    fallback: false,
    help: 'enforce the rules of testnet4 against time warps and on the difficulty after them (regtest only)',
  }),
  'storage.prune': setting(
    'integer',
    `${MANUAL_PRUNE} (only by pruneblockchain), 0 (never), or at least ${MIN_PRUNE_TARGET}`,
    {
      fallback: 0,
      unit: 'MiB',
      help: 'block and undo files are removed, the oldest first, to keep them below this size; the indexes stay whole',
    },
    (value, { fromText }) => pruneTarget(fromText ? String(value) : value),
  ),
  'storage.fastPrune': boolean({
    fallback: false,
    help: 'block files of 64 KiB, which are pruned from height 100 on, for tests (regtest only)',
  }),
  'storage.coinsCache': integer({
    fallback: ({ memory }) => coinsCacheFor(memory),
    defaultText: 'a sixteenth of the memory, from 32 to 512',
    min: 4,
    max: 4096,
    unit: 'MiB',
    help: 'cache of unspent outputs',
  }),
  'workers.verify': integer({
    fallback: ({ cores }) => cores,
    defaultText: 'number of cores',
    min: 1,
    max: 256,
    help: 'threads that verify scripts',
  }),
  'workers.front': integer({
    fallback: ({ cores }) => Math.min(MAX_FRONTS, Math.max(1, Math.floor(cores / 4))),
    defaultText: 'a quarter of the cores, from 1 to 16',
    min: 1,
    max: MAX_FRONTS,
    help: 'threads that serve HTTP and WebSocket clients on one port; more than one on Linux alone',
  }),
  'import.files': list('a list of paths', pathElement, { fallback: [], help: 'block files to import at start' }),
  'index.tx': boolean({ fallback: true, help: 'find transactions by txid' }),
  'index.address': boolean({ fallback: true, help: 'find balances and histories by address' }),
  'index.spender': boolean({ fallback: false, help: 'find the transaction that spent an output' }),
  'index.coinStats': boolean({ fallback: false, help: 'keep statistics of the UTXO set at every block' }),
  'index.removeDisabled': boolean({
    fallback: false,
    help: 'remove the rows of index.tx, index.address, index.spender and index.coinStats at the start where they are off',
  }),
  'index.filter': boolean({ fallback: false, help: 'keep the filter of every block (BIP-158)' }),
  'cache.enabled': boolean({ fallback: true, help: 'keep recent blocks, transactions and answers in memory' }),
  'fees.fallback': boolean({
    fallback: true,
    help: 'answer with the minimum relay fee rate when there is no fee data',
  }),

  'mempool.maxSize': integer({
    fallback: 300,
    min: 5,
    max: 100_000,
    unit: 'MB',
    help: 'memory limit of the mempool',
  }),
  'mempool.expiry': integer({
    fallback: 336,
    min: 1,
    max: 87_600,
    unit: 'h',
    help: 'time after which a transaction expires from the mempool',
  }),
  'mempool.persist': boolean({ fallback: true, help: 'restore the saved mempool at the start, and save it' }),
  'mempool.clusterCount': integer({
    fallback: 64,
    min: 1,
    max: 64,
    help: 'transactions of the mempool that may depend on each other',
  }),
  'mempool.clusterSize': integer({
    fallback: 101,
    min: 1,
    max: 10_000,
    unit: 'kvB',
    help: 'size of all transactions of the mempool that depend on each other',
  }),
  'relay.blocksOnly': boolean({
    fallback: false,
    help: 'accept no transactions from peers, except from those with the relay permission',
  }),
  'relay.sendRate': integer({
    fallback: 14,
    min: 1,
    max: 1000,
    unit: 'transactions per second',
    help: 'rate of announcements of transactions to inbound peers; 30 seconds of it pass at once, and outbound peers get 2.5 times as many',
  }),
  'relay.minFeeRate': numberOrNone({
    max: 10_000,
    unit: 'sat/vB',
    defaultText: '0.1, or relay.incrementalFeeRate where that is higher',
    help: 'minimum fee rate of relayed transactions',
  }),
  'relay.incrementalFeeRate': number({
    fallback: 0.1,
    max: 10_000,
    unit: 'sat/vB',
    help: 'fee rate that a replacement pays for its own relay',
  }),
  'relay.dustFeeRate': number({ fallback: 3, max: 10_000, unit: 'sat/vB', help: 'fee rate that defines dust' }),
  'relay.dataCarrier': boolean({ fallback: true, help: 'relay transactions with OP_RETURN outputs' }),
  'relay.dataCarrierBytes': integer({
    // As large as the largest standard transaction, so that the weight limit applies first.
    fallback: 100_000,
    max: 4_000_000,
    unit: 'bytes',
    help: 'total size of the OP_RETURN scripts of one transaction',
  }),
  'relay.bytesPerSigop': integer({
    fallback: 20,
    min: 1,
    max: 1_000_000,
    unit: 'bytes',
    help: 'virtual size that each signature operation counts at least',
  }),
  'relay.bareMultisig': boolean({ fallback: true, help: 'relay transactions with bare multisig outputs' }),
  'relay.nonStandard': boolean({
    fallback: false,
    help: 'relay all consensus-valid transactions (not on main)',
  }),

  ...MINING_SETTINGS,

  ...WALLET_SETTINGS,

  ...NOTIFY_SETTINGS,

  'metrics.walletBalances': boolean({ fallback: false, help: 'include wallet balances in /metrics' }),

  'ready.details': boolean({ fallback: true, help: 'include figures in /readyz, not only states' }),
  'ready.disk.degraded': integer({
    fallback: ({ network }) => (network === 'regtest' ? 1024 : 10_240),
    defaultText: '10240 (regtest 1024)',
    unit: 'MiB',
    help: 'free space below which readiness is degraded',
  }),
  'ready.disk.fail': integer({
    fallback: ({ network }) => (network === 'regtest' ? 100 : 1024),
    defaultText: '1024 (regtest 100)',
    unit: 'MiB',
    help: 'free space below which readiness fails',
  }),

  'listing.name': optionalString({ help: "coin name in the listing record, in place of the network's" }),
  'listing.symbol': optionalString({ help: "coin symbol in the listing record, in place of the network's" }),
  'listing.confirmations.deposit': integer({ fallback: 3, max: 10_000, help: 'recommended for deposits' }),
  'listing.confirmations.depositLarge': integer({ fallback: 6, max: 10_000, help: 'recommended for large deposits' }),
  'listing.confirmations.withdrawal': integer({ fallback: 1, max: 10_000, help: 'recommended for withdrawals' }),
  'listing.links.website': url({ help: 'link in the listing record' }),
  'listing.links.explorer': url({ help: 'link in the listing record' }),
  'listing.links.explorerTx': url({ help: 'link in the listing record' }),
  'listing.links.explorerAddress': url({ help: 'link in the listing record' }),
  'listing.links.source': url({ help: 'link in the listing record' }),
  'listing.links.whitepaper': url({ help: 'link in the listing record' }),
  'listing.links.support': url({ help: 'link in the listing record' }),

  'log.level': oneOf(LOG_LEVELS, {
    fallback: 'info',
    live: true,
    help: 'least important level that is logged',
  }),
  'log.levels': list('a list of category=level', (text) => parseCategoryLevel(text), {
    fallback: [],
    live: true,
    help: `levels of single categories, such as p2p=debug, of ${LOG_CATEGORIES.join(', ')}`,
  }),
  'log.file': optionalPath({
    help: 'file for the log in place of stderr; SIGHUP opens it again after a rotation',
  }),
  'log.format': oneOf(['auto', 'json', 'text', 'core'], {
    fallback: 'auto',
    help: "auto is text on a terminal, else JSON lines; core has the lines of Bitcoin Core's debug.log where the event is the same",
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

export type Key = keyof typeof SETTINGS;
export const KEYS = Object.keys(SETTINGS) as readonly Key[];

export function isKey(name: string): name is Key {
  return Object.hasOwn(SETTINGS, name);
}

type Values = { readonly [K in Key]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never };

type Head<K> = K extends `${infer H}.${string}` ? H : K;
type Below<K, H extends string> = K extends `${H}.${infer Rest}` ? Rest : never;
/** Dotted keys as nested objects. */
type Tree<S> = {
  readonly [H in Head<keyof S> & string]: H extends keyof S
    ? S[H]
    : Tree<{ readonly [K in keyof S as Below<K, H>]: S[K] }>;
};

/**
 * The whole configuration: `http.listen` is `config.http.listen`. It is plain frozen data, so that it can cross to a
 * worker.
 */
export type Config = Tree<Values> & {
  /** The open `log.file`, which all threads of the node share. */
  readonly log: { readonly fd?: number | null };
  /** `<datadir>/<network>`: the directory of all files of this network. */
  readonly networkDir: string;
  /** `<datadir>/<network>/chain`: only files that a new sync restores. */
  readonly chainDir: string;
};

/** Returns the value of a dotted key. */
export function valueOfKey(config: Config, key: Key): unknown {
  let value: unknown = config;
  for (const name of key.split('.')) value = (value as Record<string, unknown>)[name];
  return value;
}
