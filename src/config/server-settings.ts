import { paramsFor } from '../params/networks.ts';
import { DEPRECATED_FEATURES } from '../util/deprecated-features.ts';
import { SCOPES } from '../util/scope-names.ts';
import { originElement, serverUrlElement, subnetElement } from './elements.ts';
import { RPC_WHITELIST_FORM, readRpcWhitelist } from './rpc-whitelist.ts';
import {
  boolean,
  choiceElement,
  choicesText,
  databaseUrl,
  integer,
  lines,
  list,
  oneOf,
  optionalAddress,
  optionalBoolean,
  optionalPath,
  type Setting,
  someAddresses,
  stringElement,
  url,
} from './setting.ts';

/** Scopes for users of HTTP Basic, which is for JSON-RPC alone: webhooks belong to keys. */
const RPC_SCOPES = SCOPES.filter((scope) => scope !== 'webhooks');

const KIB = 1024;
const MIB = 1024 * KIB;

const pageDefault = (fallback: number, what: string) =>
  integer({ fallback, min: 1, max: 100_000, live: true, help: `${what} a page holds when the request names no limit` });
const pageMax = (fallback: number, what: string) =>
  integer({ fallback, min: 1, max: 100_000, live: true, help: `most ${what} a request may ask for in one page` });

/** The keys of the interfaces: HTTP, JSON-RPC, WebSocket and the audit log. */
export const SERVER_SETTINGS = {
  'http.listen': someAddresses({
    fallback: ({ network }) => [{ host: '127.0.0.1', port: paramsFor(network).ports.http }],
    defaultText: '127.0.0.1:8332 (testnet4 48332, signet 38332, regtest 18443)',
    help: 'addresses where REST, JSON-RPC and WebSocket are served; commands on this host connect to the first one',
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
  'http.coreRest': oneOf(['off', 'keyed', 'public'], {
    fallback: 'off',
    help: 'REST interface of Bitcoin Core at /rest/: off, for keys that may read, or for everyone who can connect',
  }),
  'http.trustedProxies': list('a list of addresses and subnets such as 127.0.0.1 or 10.0.0.0/8', subnetElement, {
    fallback: [],
    help: 'proxies in front of the node; they name the address of a client in http.proxyHeader',
  }),
  'http.proxyHeader': oneOf(['x-forwarded-for', 'forwarded'], {
    fallback: 'x-forwarded-for',
    help: 'header in which http.trustedProxies name the client; other headers are not read',
  }),
  'http.tls.cert': optionalPath({ live: true, help: 'PEM certificate chain; together with http.tls.key turns TLS on' }),
  'http.tls.key': optionalPath({ live: true, help: 'PEM private key' }),
  'http.limits.urlBytes': integer({ fallback: 8 * KIB, min: 256, unit: 'bytes', live: true, help: 'request URL' }),
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
    live: true,
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
    live: true,
    help: 'open connections of one IP address (IPv6: /64); loopback is exempt',
  }),
  'http.limits.parallelPerKey': integer({
    fallback: 64,
    min: 1,
    max: 100_000,
    live: true,
    help: 'unanswered REST requests of one key, or of one IP without a key; beyond this 429',
  }),
  'http.limits.publicRate': integer({
    fallback: 10,
    min: 1,
    unit: '1/s',
    live: true,
    help: 'keyless requests of one IP',
  }),
  'http.limits.publicBurst': integer({ fallback: 40, min: 1, live: true, help: 'keyless requests of one IP at once' }),
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
  'rpc.maxBatch': integer({ fallback: 1000, min: 1, live: true, help: 'calls of a batch' }),
  'rpc.maxRunning': integer({ fallback: 16, min: 1, live: true, help: 'calls of one key that run in parallel' }),
  'rpc.maxQueued': integer({ fallback: 64, live: true, help: 'calls of one key that wait to run' }),
  'rpc.deprecated': list(`a list of ${choicesText(DEPRECATED_FEATURES)}`, choiceElement(DEPRECATED_FEATURES), {
    fallback: [],
    help: "outdated features of JSON-RPC that stay, by the names of Bitcoin Core's -deprecatedrpc",
  }),
  rpcauth: list('a list of user:salt$hmac_sha256_hex', stringElement(/^[^:,\s]+:[^$,\s]+\$[0-9a-f]{64}$/), {
    fallback: [],
    secret: true,
    help: "HTTP Basic users, in the lines of Bitcoin Core's rpcauth.py",
  }),
  rpcscopes: list(`a list of ${choicesText(RPC_SCOPES)}`, choiceElement(RPC_SCOPES), {
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
  'ws.messages': integer({ fallback: 100, min: 1, live: true, help: 'client messages per ws.messageWindow' }),
  'ws.messageWindow': integer({ fallback: 10, min: 1, unit: 's', live: true, help: 'window of ws.messages' }),
  'ws.connections': integer({ fallback: 1000, min: 1, live: true, help: 'connections in total' }),
  'ws.connectionsPerKey': integer({ fallback: 20, min: 1, live: true, help: 'connections of one key' }),
  'ws.anonymousPerIp': integer({ fallback: 5, min: 1, live: true, help: 'keyless connections of one IP' }),
  'ws.sendBufferBytes': integer({
    fallback: MIB,
    min: 64 * KIB,
    unit: 'bytes',
    help: 'unsent bytes of one connection before the node stops sending',
  }),
  'ws.watchesPerKey': integer({ fallback: 10_000, min: 1, live: true, help: 'stored watches of one key' }),
  'ws.watches': integer({ fallback: 100_000, min: 1, live: true, help: 'stored watches of all keys' }),
  'ws.maxLagEvents': integer({
    fallback: 100_000,
    min: 1,
    live: true,
    help: 'events a slow client may lag before it is closed',
  }),
  'ws.maxLagSeconds': integer({
    fallback: 60,
    min: 1,
    unit: 's',
    live: true,
    help: 'time a slow client may lag before it is closed',
  }),

  'sink.postgres': databaseUrl({
    secret: true,
    help: "database that receives the chain, of a server that speaks PostgreSQL's protocol",
  }),
  'sink.mempoolEvents': integer({
    fallback: 1_000_000,
    max: 1_000_000_000,
    help: 'newest event numbers of which the database keeps the mempool events; 0 writes none',
  }),

  'serve.from': databaseUrl({
    secret: true,
    help: 'database of a sink that obverse serve answers from, and whose keys obverse key --database manages',
  }),

  'serve.nodes': list('a list of http:// and https:// URLs without user and query', serverUrlElement, {
    fallback: [],
    defaultText: 'none',
    help: 'nodes to which obverse serve passes submitted transactions, the preferred one first',
  }),
  'serve.nodeKeys': list('a list of keys', stringElement(/^[\x21-\x7e]{16,256}$/), {
    fallback: [],
    defaultText: 'none',
    secret: true,
    help: 'keys with the scope broadcast at these nodes: one for all, or one for each in their order',
  }),

  'webhooks.allowedNetworks': list('a list of addresses and subnets such as 127.0.0.1 or 10.0.0.0/8', subnetElement, {
    fallback: [],
    defaultText: 'none',
    help: 'addresses for webhooks that are not public, or without TLS',
  }),
  'webhooks.authorities': optionalPath({ help: 'PEM certificate authorities of receivers besides the public ones' }),
  'webhooks.perKey': integer({ fallback: 10, max: 1000, help: 'webhooks of one key' }),
  'webhooks.total': integer({ fallback: 100, max: 1000, help: 'webhooks of all keys; 0 allows none' }),
  'webhooks.connectTimeout': integer({
    fallback: 5,
    min: 1,
    max: 60,
    unit: 's',
    help: 'time to resolve the name of a receiver and to connect',
  }),
  'webhooks.replyTimeout': integer({
    fallback: 10,
    min: 1,
    max: 60,
    unit: 's',
    help: 'time that a receiver has to reply',
  }),
  'webhooks.maxPause': integer({
    fallback: 300,
    min: 1,
    max: 3600,
    unit: 's',
    help: 'longest pause before a failed delivery is repeated',
  }),
  'webhooks.disableAfter': integer({
    fallback: 86_400,
    min: 1,
    max: 31_536_000,
    unit: 's',
    help: 'time after which a webhook that only fails is disabled',
  }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;
