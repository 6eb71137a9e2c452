import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import openapiTypes from 'openapi-typescript';
import { regtest } from '../../src/params/regtest.ts';
import { parseTransaction } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { ENDPOINTS } from '../../src/rest/endpoints.ts';
import { restRoutes } from '../../src/rest/rest-routes.ts';
import { rpcRoutes } from '../../src/rpc/rpc-routes.ts';
import { hexToBytes } from '../../src/util/bytes.ts';
import { startTestApi } from '../lib/api-fixture.ts';
import {
  API_KEY,
  describeWithVectors,
  expectedOfMixedChain,
  idleNode,
  mixedChainDir,
  startTestApi as startChainApi,
} from '../lib/chain-api.ts';
import { ALL_INDEXES } from '../lib/chain-fixture.ts';
import { defaultReadSources } from '../lib/default-options.ts';
import { OpenApi } from '../lib/open-api.ts';

const ROOT = resolve(import.meta.dir, '../..');
/** Routes beside those of REST. */
const OTHER_ROUTES = [
  'GET /healthz',
  'GET /readyz',
  'GET /metrics',
  'GET /api/health',
  'POST /',
  'POST /wallet/{name}',
];

describe('the OpenAPI document', async () => {
  const it = startTestApi({ plugins: [restRoutes, rpcRoutes] });
  afterAll(() => it[Symbol.asyncDispose]());
  const reply = await it.get('/docs/openapi.json');
  const text = await reply.text();
  const api = new OpenApi(JSON.parse(text));

  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator();
    const { valid, errors } = await validator.validate(JSON.parse(text));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
    expect(validator.version).toBe('3.1');
    expect(api.document.openapi).toStartWith('3.1.');
  });

  test('is the same under its older name', async () => {
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await (await it.get('/docs/json')).text()).toBe(text);
  });

  test('describes every route once', () => {
    const declared = ENDPOINTS.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
    expect(api.routes.toSorted()).toEqual([...declared, ...OTHER_ROUTES, 'GET /ws'].toSorted());
    const names = api.routes.map((route) => api.operation(route).operationId);
    expect(new Set(names).size).toBe(names.length);
  });

  test('describes every parameter and every reply of success', () => {
    for (const route of api.routes) {
      const { summary, parameters = [], responses } = api.operation(route);
      expect(summary).not.toBe('');
      for (const { description = '' } of parameters) expect([route, description]).not.toContain('');
      if (route !== 'GET /ws') expect(Object.values(responses['200']!.content!)[0]!.schema).toBeDefined();
    }
  });

  test('names the routes that need a key, and they do', async () => {
    const keyed = api.routes.filter((route) => {
      const { security = [{ bearer: [] }] } = api.operation(route);
      return security.length > 0 && security.every((one) => Object.keys(one).length > 0);
    });
    expect(keyed.length).toBeGreaterThan(40);
    for (const route of keyed) {
      const [method, path] = route.split(' ') as [string, string];
      const rejected = await it.get(path.replaceAll(/\{\w+\}/g, 'x'), { method });
      expect([route, rejected.status]).toEqual([route, 401]);
      expect(await api.problems(method, path, rejected)).toEqual([]);
    }
  });

  test('has the one form of errors, with its codes', () => {
    const { enum: codes } = api.document.components.schemas.ErrorCode as { enum: string[] };
    expect(codes).toContain('tx_rejected');
    for (const route of api.routes)
      for (const [status, { description, content, ...response }] of Object.entries(api.operation(route).responses)) {
        if (Number(status) < 400 || !content || route.startsWith('POST /wallet') || route === 'POST /') continue;
        if (route === 'GET /readyz' && status === '503') continue;
        const form = status === '422' ? 'TxRejectedError' : 'Error';
        expect(content['application/json']!.schema).toEqual({ $ref: `#/components/schemas/${form}` });
        const own = response['x-error-codes']!;
        expect([route, status, own.length]).not.toContain(0);
        for (const code of own) {
          expect(codes).toContain(code);
          expect(description).toContain(`\`${code}\`: `);
        }
      }
  });

  test('becomes types that a client can use', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'obverse-types-'));
    try {
      writeFileSync(join(dir, 'api.ts'), await openapiTypes(JSON.parse(text)));
      writeFileSync(join(dir, 'use.ts'), TYPED_USE);
      const options = { strict: true, noEmit: true, skipLibCheck: true, types: [], target: 'esnext', module: 'esnext' };
      const compilerOptions = { ...options, moduleResolution: 'bundler' };
      writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }));
      const compiled = Bun.spawnSync([process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', dir]);
      expect(compiled.stdout.toString()).toBe('');
      expect(compiled.exitCode).toBe(0);
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

const TYPED_USE = `
import type { components, paths } from './api';
type Body<P extends keyof paths, M extends 'get' | 'post', S extends number> =
  paths[P] extends { [K in M]: { responses: { [T in S]: { content: { 'application/json': infer B } } } } } ? B : never;
declare const block: Body<'/api/block/{hash}', 'get', 200>;
declare const page: Body<'/api/address/{address}/txs', 'get', 200>;
declare const sent: Body<'/api/tx', 'post', 200>;
declare const failed: Body<'/api/block/{hash}', 'get', 404>;
export const height: number = block.height;
export const parent: string | null = block.previousHash;
export const deposits: number[] = page.items.flatMap(({ outputs }) => (outputs ?? []).map(({ value }) => value));
export const next: string | null = page.nextCursor;
export const status: 'accepted' | 'scheduled' | 'already_in_mempool' | 'already_confirmed' = sent.status;
export const known: boolean = failed.error.code === 'block_not_found';
export const query: NonNullable<paths['/api/address/{address}/txs']['get']['parameters']['query']> = { order: 'asc', limit: 5, confirmed: true };
export const body: components['schemas']['TxBody'] = { tx: '00' };
// @ts-expect-error: there is no such code
export const unknown: boolean = failed.error.code === 'no_such_code';
`;

describeWithVectors('replies fit the OpenAPI document', () => {
  const { transactions, balances, tip } = expectedOfMixedChain();
  const { hex, txid } = transactions.at(-1)!;
  const address = balances.at(-1)!.address;
  const wtxid = hashToHex(parseTransaction(hexToBytes(hex)).wtxid);
  const accepted = { status: 'in-mempool', vsize: 100, fee: 1000, replaced: [], relayedTo: 0 } as const;
  const it = startChainApi(mixedChainDir(), {
    sources: defaultReadSources(regtest, { indexes: ALL_INDEXES }),
    node: idleNode({}, [], {
      answers: {
        testTransactions: () => ({ rejection: null, results: new Map([[wtxid, accepted]]) }),
        submitPackage: () => ({ rejection: null, results: new Map([[wtxid, accepted]]) }),
      },
    }),
  });
  afterAll(() => it.close());
  let api: OpenApi;
  const asked = new Set<string>();
  const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
    api ??= await OpenApi.of(it.url);
    const reply = await fetch(it.url + path, {
      method,
      headers: { authorization: `Bearer ${API_KEY}`, ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    expect(await api.problems(method, path, reply)).toEqual([]);
    if (reply.ok) asked.add(api.routeOf(method, path));
    return reply.status;
  };

  const known = [
    '/healthz',
    '/readyz',
    '/metrics',
    '/api/health',
    '/api/info',
    '/api/peers',
    '/api/listing',
    '/api/difficulty',
    '/api/chart/feeRate?points=2',
    '/api/chart/supply?range=24h',
    ...['circulating', 'issued', 'total', 'max'].map((kind) => `/api/supply/${kind}`),
    `/api/block/${tip}`,
    `/api/block/${tip}?fields=summary`,
    ...['txs', 'txids', 'header', 'raw', 'hex', 'status'].map((part) => `/api/block/${tip}/${part}`),
    '/api/block-by-height/0',
    '/api/blocks?limit=3',
    '/api/blocks/tip',
    '/api/headers?from=10&count=3',
    `/api/tx/${txid}`,
    ...['status', 'hex', 'raw', 'proof?coinbase=true', 'outspends', 'outspend/0', 'cpfp', 'replacements'].map(
      (part) => `/api/tx/${txid}/${part}`,
    ),
    `/api/balance/${address}`,
    `/api/address/${address}`,
    `/api/address/${address}/txs?limit=2`,
    `/api/address/${address}/txs?details=full&order=asc`,
    `/api/address/${address}/utxos?limit=2`,
    `/api/address/${address}/utxos?confirmed=true`,
    `/api/mempool/address/${address}`,
    `/api/validate/${address}`,
    '/api/validate/nothing',
    '/api/mempool',
    '/api/mempool/txids',
    '/api/mempool/recent',
    '/api/mempool/blocks',
    '/api/fees',
    '/api/events?after=0&limit=3',
    '/api/watches',
    '/api/audit',
    '/api/keys',
    '/api/config/limits',
  ];
  for (const path of known) test(`GET ${path}`, async () => expect(await ask('GET', path)).toBeLessThan(504));

  test('watches', async () => {
    expect(await ask('POST', '/api/watches', { kind: 'tx', value: txid })).toBe(200);
    expect(await ask('POST', '/api/watches', { watches: [{ kind: 'address', value: address, label: 'x' }] })).toBe(200);
    const { items } = await it.json<{ items: { id: string }[] }>('/api/watches');
    expect(items).toHaveLength(2);
    expect(await ask('GET', '/api/watches?limit=1')).toBe(200);
    expect(await ask('GET', `/api/watches/${items[0]!.id}`)).toBe(200);
    expect(await ask('DELETE', `/api/watches/${items[0]!.id}`)).toBe(200);
    expect(await ask('DELETE', '/api/watches?all=true')).toBe(200);
  });

  test('POST', async () => {
    expect(await ask('POST', '/api/ws-ticket')).toBe(200);
    expect(await ask('POST', '/api/txs/status', { txids: [txid, '00'.repeat(32)] })).toBe(200);
    expect(await ask('POST', '/api/txs/details', { txids: [txid, '00'.repeat(32)] })).toBe(200);
    expect(await ask('POST', '/api/balances', { addresses: [address] })).toBe(200);
    expect(await ask('POST', '/api/utxos?limit=1', { addresses: [address, `script:51`] })).toBe(200);
    expect(await ask('POST', '/api/utxos?confirmed=true', { addresses: [address] })).toBe(200);
    for (const part of ['', '?addresses=all', '/txs?limit=1', '/txs?details=full', '/utxos', '/utxos?confirmed=true'])
      expect(await ask('POST', `/api/xpub${part}`, { descriptor: `addr(${address})`, gapLimit: 2 })).toBe(200);
    expect(await ask('POST', '/api/xpub', { descriptor: 'wpkh(' })).toBe(400);
    expect(await ask('POST', '/api/tx', { tx: hex })).toBe(200);
    expect(await ask('POST', '/api/tx/test', { txs: [hex] })).toBe(200);
    expect(await ask('POST', '/api/txs/package', { txs: [hex] })).toBe(200);
    expect(await ask('POST', '/', { jsonrpc: '2.0', id: 1, method: 'getblockcount' })).toBe(200);
    expect(await ask('POST', '/', [{ jsonrpc: '2.0', id: 1, method: 'getblockcount' }])).toBe(200);
    expect(await ask('POST', '/wallet/none', { jsonrpc: '2.0', id: 1, method: 'getbalance' })).toBe(200);
  });

  test('sessions', async () => {
    const code = async () => (await it.rpc<{ code: string }>('createlogincode')).code;
    const type = { 'content-type': 'application/json' };
    const body = JSON.stringify({ code: await code() });
    const login = await fetch(`${it.url}/api/session`, { method: 'POST', headers: type, body });
    const cookie = login.headers.get('set-cookie')!.split(';', 1)[0]!;
    const own = async (method: string, headers: Record<string, string>) => {
      const reply = await fetch(`${it.url}/api/session`, { method, headers });
      expect(await api.problems(method, '/api/session', reply.clone() as Response)).toEqual([]);
      if (reply.ok) asked.add(`${method} /api/session`);
      return (await reply.json()) as { csrfToken?: string };
    };
    const { csrfToken } = await own('GET', { cookie });
    await own('DELETE', { cookie, origin: it.url });
    await own('DELETE', { cookie, origin: it.url, 'x-csrf-token': csrfToken! });
    await own('GET', { cookie });
    expect(await ask('POST', '/api/session', { code: await code() }, type)).toBe(200);
    expect(await ask('POST', '/api/session', { code: 'wrong' }, type)).toBe(401);
  });

  test('webhooks', async () => {
    const path = '/api/webhooks';
    expect(await ask('POST', path, { url: 'https://shop.example/hook', types: ['reorg'] })).toBe(200);
    expect(await ask('GET', path)).toBe(200);
    const { items } = await it.json<{ items: { id: string }[] }>(path);
    const own = `${path}/${items[0]!.id}`;
    expect(await ask('GET', own)).toBe(200);
    expect(await ask('POST', `${own}/pause`)).toBe(200);
    expect(await ask('POST', `${own}/resume`)).toBe(200);
    expect(await ask('POST', `${own}/replay`, { after: 0 })).toBe(200);
    expect(await ask('POST', `${own}/secret`)).toBe(200);
    expect(await ask('POST', `${own}/test`)).toBe(200);
    expect(await ask('POST', path, { url: 'https://127.0.0.1/' })).toBe(400);
    expect(await ask('POST', `${own}/replay`, { after: 'nothing' })).toBe(400);
    expect(await ask('DELETE', own)).toBe(200);
    expect(await ask('GET', own)).toBe(404);
  });

  test('GET /api/stream, whose reply has no end', async () => {
    api ??= await OpenApi.of(it.url);
    const reply = await fetch(`${it.url}/api/stream?after=0`, { headers: { authorization: `Bearer ${API_KEY}` } });
    const reader = reply.body!.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    const { status, headers } = reply;
    expect(await api.problems('GET', '/api/stream', new Response(value, { status, headers }))).toEqual([]);
    asked.add(api.routeOf('GET', '/api/stream'));
  });

  test('errors', async () => {
    expect(await ask('GET', '/api/block/xyz')).toBe(400);
    expect(await ask('GET', '/api/block-by-height/x')).toBe(400);
    expect(await ask('GET', `/api/block/${tip}?fields=none`)).toBe(400);
    expect(await ask('GET', '/api/balance/nothing')).toBe(400);
    expect(await ask('GET', `/api/tx/${txid}`, undefined, { authorization: 'Bearer wrong' })).toBe(401);
    expect(await ask('GET', `/api/tx/${'00'.repeat(32)}`)).toBe(404);
    expect(await ask('GET', '/api/watches/none')).toBe(404);
    expect(await ask('POST', '/api/tx', { tx: '00' })).toBe(400);
    expect(await ask('POST', '/api/tx', hex, { 'content-type': 'image/png' })).toBe(415);
    expect(await ask('POST', '/', { jsonrpc: '1.0', id: 1, method: 'nothing' })).toBe(404);
    expect(await ask('POST', '/', 'nothing')).toBe(400);
    expect(await ask('POST', '/', '{}', { authorization: 'Bearer wrong' })).toBe(401);
    expect(await ask('GET', '/ws')).toBe(426);
  });

  test('of every route were compared', () => {
    const rest = api.routes.filter((route) => !asked.has(route));
    expect(rest).toEqual(['GET /ws']);
  });
});
