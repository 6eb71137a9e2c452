import type { Sample } from './chain.ts';
import { CORE_AUTHORIZATION } from './core.ts';

/** One measured kind of request. */
export interface Row {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** Pattern in Elysia's syntax, for the bare app. */
  readonly pattern: string;
  readonly status: number;
  /** Authorization headers, which alternate; the other headers are the same. */
  readonly authorizations: readonly (string | null)[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly connectionEach: boolean;
  /** Maximum number of requests of one window. */
  readonly atMost: number;
  /** Requests at the same time. */
  readonly connections: number;
  /** The same question to Bitcoin Core; null where it has none. */
  readonly core: { readonly path: string; readonly authorization: string | null } | null;
  /** Whether the base may lack the route. */
  readonly isNew: boolean;
  /** Number of requests before the first window, which bring the node into the measured state. */
  readonly before: number;
}

const WS_HEADERS = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
const JSON_BODY = { 'content-type': 'application/json' };

/** The whole JSON of a block of two megabytes, of which Bitcoin Core has the same route. */
export const WIDE_ROW = 'REST block, 2 MB';
const NARROWER_ROW = 'REST block, 0.5 MB';

/** Returns a row for every kind of route, most of them with this many connections. */
export function rowsFor(sample: Sample, connections: number): Row[] {
  const { key, blockHash, blockHeight, txid, address, wide } = sample;
  const bearer = `Bearer ${key}`;
  const row = (name: string, path: string, more: Partial<Row> = {}): Row => ({
    name,
    method: 'GET',
    path,
    pattern: path.split('?', 1)[0]!,
    status: 200,
    authorizations: [bearer],
    headers: {},
    body: null,
    connectionEach: false,
    atMost: Number.POSITIVE_INFINITY,
    connections,
    before: 0,
    isNew: false,
    core: null,
    ...more,
  });
  const open = (name: string, path: string, more: Partial<Row> = {}) =>
    row(name, path, { authorizations: [null], ...more });
  const post = (name: string, path: string, body: string, more: Partial<Row> = {}) =>
    row(name, path, { method: 'POST', body, headers: JSON_BODY, ...more });
  const rpc = (name: string, calls: object | object[]) =>
    post(name, '/', JSON.stringify(calls), { core: { path: '/', authorization: CORE_AUTHORIZATION } });
  const coreRest = (path: string) => ({ core: { path: `/rest/${path}.json`, authorization: null } });
  const rpcCall = (method: string, params: unknown[] = []) => ({ jsonrpc: '2.0', id: 1, method, params });
  const byHash = { pattern: '/api/block/:hash' };
  const byTxid = { pattern: '/api/tx/:txid' };
  const byAddress = (rest = '') => ({ pattern: `/api/address/:address${rest}` });
  const wholeBlock = (name: string, hash: string) =>
    open(name, `/rest/block/${hash}.json`, {
      pattern: '/rest/block/:file',
      isNew: true,
      // One takes Bitcoin Core a good part of a second.
      atMost: 24,
      // The node sends an address two such replies at a time, and refuses further ones.
      connections: 2,
      ...coreRest(`block/${hash}`),
    });
  return [
    open('healthz', '/healthz'),
    open('readyz', '/readyz', { status: 200 }),
    open('info', '/api/info', coreRest('chaininfo')),
    row('block by hash', `/api/block/${blockHash}`, byHash),
    row('block by hash, 304', `/api/block/${blockHash}`, { ...byHash, status: 304 }),
    row('block by height', `/api/block-by-height/${blockHeight}`, { pattern: '/api/block-by-height/:height' }),
    row('block, 100 txs', `/api/block/${blockHash}/txs`, {
      pattern: '/api/block/:hash/txs',
      ...coreRest(`block/${blockHash}`),
    }),
    ...(wide === null ? [] : [wholeBlock(NARROWER_ROW, wide.outputs), wholeBlock(WIDE_ROW, wide.inputs)]),
    row('header', `/api/block/${blockHash}/header`, { pattern: '/api/block/:hash/header' }),
    row('tx', `/api/tx/${txid}`, { ...byTxid, ...coreRest(`tx/${txid}`) }),
    row('tx hex', `/api/tx/${txid}/hex`, { pattern: '/api/tx/:txid/hex' }),
    row('tx raw', `/api/tx/${txid}/raw`, { pattern: '/api/tx/:txid/raw' }),
    row('address', `/api/address/${address}`, byAddress()),
    row('address, 50 txs', `/api/address/${address}/txs`, byAddress('/txs')),
    row('address utxos', `/api/address/${address}/utxos`, byAddress('/utxos')),
    row('mempool', '/api/mempool'),
    row('fees', '/api/fees'),
    row('events page', '/api/events?after=0&limit=100'),
    post('POST tx, invalid', '/api/tx', '{"tx":"00"}', { status: 400 }),
    post('POST tx, in mempool', '/api/tx', JSON.stringify({ tx: sample.unconfirmedHex })),
    row('watches', '/api/watches'),
    post('POST watch', '/api/watches', JSON.stringify({ kind: 'tx', value: '00'.repeat(32) })),
    post('POST ticket', '/api/ws-ticket', '', {
      headers: {},
      authorizations: sample.ticketKeys.map((ticketKey) => `Bearer ${ticketKey}`),
      // The keys may have 6,000 unused tickets, and one lives for a minute.
      atMost: 200,
    }),
    row('metrics', '/metrics'),
    rpc('rpc getblockcount', rpcCall('getblockcount')),
    rpc('rpc getrawtransaction 1', rpcCall('getrawtransaction', [txid, 1])),
    rpc(
      'rpc batch of 10',
      Array.from({ length: 10 }, (_, id) => ({ ...rpcCall('getblockhash', [id]), id })),
    ),
    // Bitcoin Core has no wallet here.
    { ...rpc('rpc getbalance', rpcCall('getbalance')), core: null },
    row('WebSocket upgrade', '/ws', { status: 101, headers: WS_HEADERS, connectionEach: true }),
    open('401 without a key', `/api/tx/${txid}`, { ...byTxid, status: 401 }),
    row('403 wrong scope', `/api/tx/${txid}`, {
      ...byTxid,
      status: 403,
      authorizations: [`Bearer ${sample.narrowKey}`],
    }),
    row('404 no such tx', `/api/tx/${'00'.repeat(32)}`, { ...byTxid, status: 404 }),
    row('404 no such route', '/api/nothing', { status: 404 }),
    open('421 wrong host', '/api/info', { status: 421, headers: { host: 'elsewhere.example' } }),
    open('429 wrong keys', '/metrics', { status: 429, authorizations: [`Bearer ${sample.revokedKey}`], before: 20 }),
  ];
}

/** Returns the row as a request to Bitcoin Core, or null. */
export function coreRow(row: Row): Row | null {
  return row.core && { ...row, path: row.core.path, authorizations: [row.core.authorization] };
}

/** Returns the requests of a row as they are on the wire. */
export function requestTexts(
  { name, method, path, authorizations, headers, body }: Row,
  etag: string | null,
): Buffer[] {
  return authorizations.map((authorization) => {
    const all: Record<string, string> = { host: '127.0.0.1', 'x-row': name, ...headers };
    if (authorization !== null) all.authorization = authorization;
    if (etag !== null) all['if-none-match'] = etag;
    if (body !== null) all['content-length'] = String(Buffer.byteLength(body));
    const lines = Object.entries(all).map(([header, value]) => `${header}: ${value}\r\n`);
    return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
  });
}
