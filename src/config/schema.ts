import { isIP } from 'node:net';
import { NETWORK_NAMES, paramsFor } from '../params/networks.ts';
import { LOG_LEVELS } from '../util/log.ts';
import { SCOPES } from '../util/scope-names.ts';
import { RPC_WHITELIST_FORM, readRpcWhitelist } from './rpc-whitelist.ts';
import {
  address,
  boolean,
  choiceElement,
  choicesText,
  integer,
  lines,
  list,
  number,
  oneOf,
  optionalAddress,
  optionalBoolean,
  optionalNumber,
  optionalPath,
  optionalString,
  parseHostPort,
  path,
  pathElement,
  type Setting,
  setting,
  string,
  stringElement,
  url,
} from './setting.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** The value of `storage.prune` that prunes only by pruneblockchain, and the least target, MiB (as in Core). */
export const MANUAL_PRUNE = 1;
const MIN_PRUNE_TARGET = 550;

/** Networks on which the node may look for peers. */
const PEER_NETWORKS = ['ipv4', 'ipv6', 'onion'] as const;

const pageDefault = (fallback: number, what: string) =>
  integer({ fallback, min: 1, max: 100_000, help: `${what} a page holds when the request names no limit` });
const pageMax = (fallback: number, what: string) =>
  integer({ fallback, min: 1, max: 100_000, help: `most ${what} a request may ask for in one page` });

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

  'http.listen': address({
    fallback: ({ network }) => ({ host: '127.0.0.1', port: paramsFor(network).ports.http }),
    defaultText: '127.0.0.1:8332 (testnet4 48332, signet 38332, regtest 18443)',
    help: 'where REST, JSON-RPC and WebSocket are served',
  }),
  'http.publicUrl': url({ help: 'URL that clients use, when the node is behind a proxy' }),
  'http.allowedHosts': list('a list of host names', stringElement(/^[^\s,/]+$/), {
    fallback: [],
    defaultText: 'loopback names and the hosts of http.listen and http.publicUrl',
    help: 'further host names that requests without credentials, and those of browser sessions, may name in Host',
  }),
  'http.corsOrigins': list('a list of origins such as https://app.example', originElement, {
    fallback: [],
    help: 'origins whose scripts may call the API',
  }),
  'http.trustedProxies': list('a list of addresses and subnets such as 127.0.0.1 or 10.0.0.0/8', subnetElement, {
    fallback: [],
    help: 'proxies in front of the node; they name the address of a client in http.proxyHeader',
  }),
  'http.proxyHeader': oneOf(['x-forwarded-for', 'forwarded'], {
    fallback: 'x-forwarded-for',
    help: 'header in which http.trustedProxies name the client; other headers are not read',
  }),
  'http.tls.cert': optionalPath({ help: 'PEM certificate chain; together with http.tls.key turns TLS on' }),
  'http.tls.key': optionalPath({ help: 'PEM private key' }),
  'http.limits.urlBytes': integer({ fallback: 8 * KIB, min: 256, unit: 'bytes', help: 'request URL' }),
  'http.limits.txBodyBytes': integer({
    fallback: MIB,
    min: KIB,
    max: 32 * MIB,
    unit: 'bytes',
    help: 'body of POST /api/tx',
  }),
  'http.limits.rpcBodyBytes': integer({
    fallback: 16 * MIB,
    min: KIB,
    max: 32 * MIB,
    unit: 'bytes',
    help: 'body of a JSON-RPC request',
  }),
  'http.limits.keepAlive': integer({ fallback: 30, min: 1, max: 255, unit: 's', help: 'idle time of a connection' }),
  'http.limits.requestTimeout': integer({
    fallback: 30,
    min: 1,
    max: 3600,
    unit: 's',
    help: 'time limit of a REST read',
  }),
  'http.limits.connections': integer({
    fallback: 4096,
    min: 16,
    max: 1_000_000,
    defaultText: '4096, or fewer where the limit of open files requires it',
    help: 'open connections in total; beyond this, idle and keyless ones are closed first',
  }),
  'http.limits.connectionsPerAddress': integer({
    fallback: 512,
    min: 1,
    max: 1_000_000,
    help: 'open connections of one IP address (IPv6: /64); loopback is exempt',
  }),
  'http.limits.parallelPerKey': integer({
    fallback: 64,
    min: 1,
    max: 100_000,
    help: 'unanswered REST requests of one key, or of one IP without a key; beyond this 429',
  }),
  'http.limits.publicRate': integer({ fallback: 10, min: 1, unit: '1/s', help: 'keyless requests of one IP' }),
  'http.limits.publicBurst': integer({ fallback: 40, min: 1, help: 'keyless requests of one IP at once' }),
  'http.limits.authFailuresPerMinute': integer({ fallback: 10, min: 1, help: 'failed authentications before 429' }),
  'http.pages.blocks.default': pageDefault(20, 'blocks'),
  'http.pages.blocks.max': pageMax(100, 'blocks'),
  'http.pages.blockTxs.default': pageDefault(100, 'transactions of a block'),
  'http.pages.blockTxs.max': pageMax(1000, 'transactions of a block'),
  'http.pages.addressTxs.default': pageDefault(50, 'transactions of an address'),
  'http.pages.addressTxs.max': pageMax(500, 'transactions of an address'),
  'http.pages.utxos.default': pageDefault(1000, 'unspent outputs'),
  'http.pages.utxos.max': pageMax(5000, 'unspent outputs'),
  'http.pages.mempoolTxids.default': pageDefault(1000, 'mempool txids'),
  'http.pages.mempoolTxids.max': pageMax(10_000, 'mempool txids'),
  'http.pages.mempoolAddress.default': pageDefault(100, 'mempool transactions of an address'),
  'http.pages.mempoolAddress.max': pageMax(1000, 'mempool transactions of an address'),
  'http.pages.events.default': pageDefault(500, 'replayed events'),
  'http.pages.events.max': pageMax(5000, 'replayed events'),
  'http.pages.watches.default': pageDefault(100, 'stored watches'),
  'http.pages.watches.max': pageMax(1000, 'stored watches'),
  'http.pages.audit.default': pageDefault(100, 'entries of the audit log'),
  'http.pages.audit.max': pageMax(1000, 'entries of the audit log'),

  'ops.listen': optionalAddress({
    fallback: null,
    help: 'second listener with health, readiness and metrics only, no auth',
  }),

  'rpc.basic': boolean({ fallback: true, help: 'HTTP Basic for JSON-RPC: cookie file and rpcauth' }),
  'rpc.maxBatch': integer({ fallback: 1000, min: 1, help: 'calls of a batch' }),
  'rpc.maxRunning': integer({ fallback: 16, min: 1, help: 'calls of one key that run in parallel' }),
  'rpc.maxQueued': integer({ fallback: 64, help: 'calls of one key that wait to run' }),
  rpcauth: list('a list of user:salt$hmac_sha256_hex', stringElement(/^[^:,\s]+:[^$,\s]+\$[0-9a-f]{64}$/), {
    fallback: [],
    secret: true,
    help: "HTTP Basic users, in the lines of Bitcoin Core's rpcauth.py",
  }),
  rpcscopes: list(`a list of ${choicesText(SCOPES)}`, choiceElement(SCOPES), {
    fallback: ['read', 'broadcast', 'wallet'],
    help: 'scopes of the rpcauth users',
  }),
  rpcwhitelist: lines(RPC_WHITELIST_FORM, readRpcWhitelist, {
    fallback: [],
    defaultText: 'all that their scopes allow',
    help: "RPC methods that users of HTTP Basic may call, in Bitcoin Core's form; several lines of one user intersect",
  }),
  rpcwhitelistdefault: optionalBoolean({
    defaultText: 'true as soon as rpcwhitelist is set',
    help: 'whether users of HTTP Basic without a list in rpcwhitelist, including the cookie, may call no method',
  }),

  'audit.keep': integer({
    fallback: 1_000_000,
    min: 1000,
    max: 100_000_000,
    help: 'rows that the audit log keeps, two for a spend; the oldest are deleted',
  }),

  'ws.auth': oneOf(['required', 'public'], {
    fallback: 'required',
    help: 'whether /ws requires a key for the default stream',
  }),
  'ws.frameBytes': integer({ fallback: 64 * KIB, min: KIB, unit: 'bytes', help: 'frame a client may send' }),
  'ws.messages': integer({ fallback: 100, min: 1, help: 'client messages per ws.messageWindow' }),
  'ws.messageWindow': integer({ fallback: 10, min: 1, unit: 's', help: 'window of ws.messages' }),
  'ws.connections': integer({ fallback: 1000, min: 1, help: 'connections in total' }),
  'ws.connectionsPerKey': integer({ fallback: 20, min: 1, help: 'connections of one key' }),
  'ws.anonymousPerIp': integer({ fallback: 5, min: 1, help: 'keyless connections of one IP' }),
  'ws.sendBufferBytes': integer({
    fallback: MIB,
    min: 64 * KIB,
    unit: 'bytes',
    help: 'unsent bytes of one connection before the node stops sending',
  }),
  'ws.watchesPerKey': integer({ fallback: 10_000, min: 1, help: 'stored watches of one key' }),
  'ws.watches': integer({ fallback: 100_000, min: 1, help: 'stored watches of all keys' }),
  'ws.maxLagEvents': integer({ fallback: 100_000, min: 1, help: 'events a slow client may lag before it is closed' }),
  'ws.maxLagSeconds': integer({
    fallback: 60,
    min: 1,
    unit: 's',
    help: 'time a slow client may lag before it is closed',
  }),

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

  'p2p.enabled': boolean({ fallback: true, help: 'take part in the peer network' }),
  'p2p.listen': optionalAddress({
    fallback: ({ network, dev }) => (dev ? null : { host: '::', port: paramsFor(network).ports.p2p }),
    defaultText: '[::]:8333 (testnet4 48333, signet 38333, regtest 18444); none with dev.enabled',
    help: 'addresses that listen for peers; [::] also accepts IPv4',
  }),
  'p2p.connect': list(
    'a list of host or host:port',
    (text, { network }) => parseHostPort(text, paramsFor(network).ports.p2p),
    { fallback: [], help: 'connect only to these peers' },
  ),
  'p2p.maxConnections': integer({
    fallback: 125,
    max: 10_000,
    help: 'peers in total, in addition to those of p2p.connect',
  }),
  'p2p.v2': boolean({ fallback: true, help: 'encrypted connections (BIP-324) with peers that support them' }),
  'p2p.proxy': optionalAddress({ fallback: null, help: 'SOCKS5 proxy for all connections; it also resolves names' }),
  'p2p.onionProxy': optionalAddress({
    fallback: null,
    defaultText: 'p2p.proxy',
    help: 'SOCKS5 proxy for onion services, such as Tor on 127.0.0.1:9050',
  }),
  'p2p.onlyNetworks': list(`a list of ${choicesText(PEER_NETWORKS)}`, choiceElement(PEER_NETWORKS), {
    fallback: [],
    defaultText: 'all that are reachable',
    help: 'networks on which the node looks for peers',
  }),
  'p2p.dnsSeeds': boolean({ fallback: true, help: 'query DNS seeds when too few addresses are known' }),
  'p2p.fixedSeeds': boolean({ fallback: true, help: 'use the built-in addresses when no others are known' }),
  'p2p.permissions': list('a list of permissions@address or permissions@subnet', permissionElement, {
    fallback: [],
    help: "permissions of peers by address, as in Bitcoin Core's whitelist",
  }),
  'p2p.filters': boolean({ fallback: false, help: 'serve block filters to peers (BIP-157); needs index.filter' }),
  'p2p.maxUpload': integer({
    fallback: 0,
    max: 1_000_000_000,
    unit: 'MiB',
    help: 'bytes sent to peers per day; 0 = no limit',
  }),
  'p2p.externalAddress': list(
    'a list of address or address:port',
    (text, { network }) => parseHostPort(text, paramsFor(network).ports.p2p),
    { fallback: [], help: 'public addresses that this node announces to peers' },
  ),
  'p2p.discover': boolean({
    fallback: true,
    help: 'discover the public address; not with p2p.proxy or p2p.externalAddress',
  }),
  'p2p.banTime': integer({ fallback: 86_400, min: 1, max: 1_000_000_000, unit: 's', help: 'duration of a ban' }),

  'chain.maxTipAge': integer({
    fallback: ({ network }) => (network === 'regtest' ? 0 : 10_800),
    defaultText: '10800 (regtest 0)',
    unit: 's',
    help: 'readiness is degraded when the tip is older; 0 = never',
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
  'import.files': list('a list of paths', pathElement, { fallback: [], help: 'block files to import at start' }),
  'index.tx': boolean({ fallback: true, help: 'find transactions by txid' }),
  'index.address': boolean({ fallback: true, help: 'find balances and histories by address' }),
  'index.spender': boolean({ fallback: false, help: 'find the transaction that spent an output' }),
  'index.removeDisabled': boolean({
    fallback: false,
    help: 'remove the rows of index.tx, index.address and index.spender at the start where they are off',
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
  'relay.minFeeRate': number({
    fallback: 0.1,
    max: 10_000,
    unit: 'sat/vB',
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
    fallback: 100_000,
    max: 4_000_000,
    unit: 'bytes',
    help: 'total size of the OP_RETURN scripts of one transaction',
  }),
  'relay.bareMultisig': boolean({ fallback: true, help: 'relay transactions with bare multisig outputs' }),
  'relay.nonStandard': boolean({
    fallback: false,
    help: 'relay all consensus-valid transactions (not on main)',
  }),

  'wallet.enabled': boolean({ fallback: true, help: 'wallets' }),
  'wallet.max': integer({
    fallback: 500,
    min: 1,
    max: 100_000,
    help: 'maximum number of wallets, loaded or not; createwallet and restorewallet fail beyond it',
  }),
  'wallet.autocreate': boolean({ fallback: true, help: 'create the wallet "default" on first start' }),
  'wallet.passphraseFile': optionalPath({
    help: 'file with the passphrase that encrypts the wallet "default" at its creation; mode 600, owned by the node\'s user',
  }),
  'wallet.keypool': integer({
    fallback: 1000,
    min: 1,
    max: 1_000_000,
    help: 'addresses derived beyond the last used one',
  }),
  'wallet.fallbackFee': optionalNumber({ unit: 'sat/vB', help: 'fee rate of sends on main when there is no fee data' }),

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
    help: 'least important level that is logged',
  }),
  'log.format': oneOf(['auto', 'json', 'text'], {
    fallback: 'auto',
    help: 'auto is text on a terminal, else JSON lines',
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
  /** `<datadir>/<network>`: the directory of all files of this network. */
  readonly networkDir: string;
  /** `<datadir>/<network>/chain`: only files that a new sync restores. */
  readonly chainDir: string;
};

function originElement(text: string): string | null {
  return URL.canParse(text) && /^https?:/.test(text) && new URL(text).origin === text ? text : null;
}

/** Parses an address, or an address with the length of its subnet prefix. */
function subnetElement(text: string): string | null {
  const [address = '', bits, more] = text.split('/');
  const version = isIP(address);
  const isBits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
  return version > 0 && isBits && more === undefined && !address.includes('%') ? text : null;
}

const PERMISSION_WORDS = /^(?:bloomfilter|bloom|noban|forcerelay|relay|mempool|download|addr|all|in|out)$/;

/**
 * Parses `words@subnet`, or a subnet alone. A flag was split at its commas before, so words that stand alone belong to
 * the next rule.
 */
function permissionElement(text: string): string | null {
  const separator = text.indexOf('@');
  const words = separator < 0 ? [] : text.slice(0, separator).split(',');
  if (!words.every((word) => word === '' || PERMISSION_WORDS.test(word))) return null;
  const [address = '', prefix, more] = text.slice(separator + 1).split('/');
  if (separator < 0 && PERMISSION_WORDS.test(text)) return text;
  const isSubnet = isIP(address) > 0 && (prefix === undefined || isIP(prefix) > 0 || /^\d{1,3}$/.test(prefix));
  return more === undefined && (isSubnet || (prefix === undefined && address.endsWith('.onion'))) ? text : null;
}

/** Reads `storage.prune`, as Core reads -prune. */
function pruneTarget(value: unknown): { value: number } | null {
  if (typeof value === 'string' && !/^(?:0|[1-9][0-9]{0,9})$/.test(value)) return null;
  const target = Number(value);
  const allowed =
    Number.isSafeInteger(target) && (target === 0 || target === MANUAL_PRUNE || target >= MIN_PRUNE_TARGET);
  return (typeof value === 'string' || typeof value === 'number') && allowed ? { value: target } : null;
}

function testActivationElement(text: string): string | null {
  try {
    paramsFor('regtest', { testActivationHeight: [text] });
    return text;
  } catch {
    return null;
  }
}

const MEBIBYTE = 1024 * 1024;

/** Returns the default size of the coins cache, MiB. */
function coinsCacheFor(memory: number): number {
  return Math.min(512, Math.max(32, Math.floor(memory / 16 / MEBIBYTE)));
}
