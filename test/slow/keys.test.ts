import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, type ErrorBody, type Page, type Readiness } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, runProgram, startNode } from '../lib/node-process.ts';

cleanUpAfterTests();

interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code: string } };
}

interface Key {
  readonly id: string;
  readonly key: string;
}

interface Entry {
  readonly id: number;
  readonly who: string;
  readonly method: string;
  readonly wallet: string | null;
  readonly outcome: string | null;
  readonly txid: string | null;
  readonly keyId: string | null;
}

const PASSPHRASE = 'a passphrase that is in no log';
let node: NodeProcess;
let admin: ApiClient;

/** Another process changes the keys of the running node. */
async function command(...args: string[]) {
  const where = ['--network', 'regtest', '--datadir', node.datadir];
  const { status, stdout, stderr } = await runProgram([...args, ...where]);
  return { status, stdout, stderr };
}

/** By the node itself, which knows it at once. */
const createKey = (scopes: string, wallets: readonly string[] | null = null): Promise<Key> =>
  admin.rpc<Key>('createapikey', ['', scopes.split(','), { wallets }]);

const clientOf = ({ key }: Key) => new ApiClient(node.api.url, key);

async function call(client: ApiClient, method: string, params: unknown = [], wallet: string | null = null) {
  const path = wallet === null ? '/' : `/wallet/${wallet}`;
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const reply = await client.request<RpcReply>(path, { method: 'POST', body });
  return { status: reply.status, ...reply.body };
}

async function within2s(what: string, is: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + 2000;
  while (performance.now() < until) {
    if (await is()) return;
    await Bun.sleep(50);
  }
  throw new Error(`not within two seconds: ${what}`);
}

const entries = async (query = '') => (await admin.json<Page<Entry>>(`/api/audit?${query}`)).items;

beforeAll(async () => {
  // A new key is tried until the node knows it.
  node = await startNode({ testKey: false, args: ['--http.limits.authFailuresPerMinute=100000'] });
  admin = node.api;
  for (const name of ['hot', 'cold']) await admin.rpc('createwallet', [name]);
  const { result: address } = await call(admin, 'getnewaddress', [], 'hot');
  await admin.rpc('generatetoaddress', [101, address]);
});

describe('scopes of wallets', () => {
  test('a key that spends cannot read private keys, and one that reads cannot spend', async () => {
    const { stdout } = await command('key', 'create', '--scopes', 'read,wallet.read,wallet.spend', '--json');
    const spender = clientOf(JSON.parse(stdout) as Key);
    await within2s('the node knows it', async () => (await spender.request('/api/watches')).status === 200);
    const reader = clientOf(await createKey('read,wallet.read'));
    expect(await call(spender, 'getnewaddress', [], 'hot')).toMatchObject({ status: 200, result: expect.any(String) });
    expect(await call(spender, 'listdescriptors', [], 'hot')).toMatchObject({ result: { wallet_name: 'hot' } });
    for (const [method, params] of [
      ['listdescriptors', [true]],
      ['gethdkeys', [{ private: true }]],
      ['derivehdkey', ['m/1h', { private: true }]],
    ] as const) {
      const { error } = await call(spender, method, params, 'hot');
      expect([method, error?.code, error?.data]).toMatchObject([
        method,
        -32003,
        { details: { required: 'wallet.keys' } },
      ]);
    }
    for (const method of ['backupwallet', 'createwallet', 'encryptwallet', 'importdescriptors'])
      expect((await call(spender, method, ['x'], 'hot')).status).toBe(403);
    expect((await call(reader, 'getnewaddress', [], 'hot')).status).toBe(403);
  });

  test('the scope wallet still includes all three', async () => {
    const all = clientOf(await createKey('read,wallet'));
    expect(await call(all, 'listdescriptors', [true], 'hot')).toMatchObject({ status: 200, result: {} });
    for (let i = 0; i < 3; i++) expect((await call(all, 'setban', ['1.2.3.4', 'add'])).status).toBe(403);
  });
});

describe('a key that is bound to a wallet', () => {
  let hot: ApiClient;

  beforeAll(async () => {
    hot = clientOf(await createKey('read,wallet,metrics', ['hot']));
  });

  test('uses it without naming it, and finds no other', async () => {
    expect(await call(hot, 'getwalletinfo')).toMatchObject({ result: { walletname: 'hot' } });
    expect(await call(hot, 'listwallets')).toMatchObject({ result: ['hot'] });
    expect(await call(hot, 'listwalletdir')).toMatchObject({ result: { wallets: [{ name: 'hot' }] } });
    const answers = [];
    for (const name of ['cold', 'nowhere'])
      for (const method of ['getbalance', 'getnewaddress', 'listtransactions', 'getwalletinfo'])
        answers.push(JSON.stringify({ ...(await call(hot, method, [], name)), id: null }));
    // The answers are equal, whether there is such a wallet or not.
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('-18');
  });

  test('manages no other', async () => {
    const answers = [];
    for (const name of ['cold', 'nowhere', 'default'])
      for (const method of ['loadwallet', 'unloadwallet', 'createwallet'])
        answers.push(JSON.stringify({ ...(await call(hot, method, [name])), id: null }));
    answers.push(JSON.stringify({ ...(await call(hot, 'unloadwallet', [], 'cold')), id: null }));
    expect(new Set(answers).size).toBe(1);
    expect(answers[0]).toContain('insufficient_scope');
    expect((await call(hot, 'restorewallet', ['hot', 'x'])).error?.data).toMatchObject({ code: 'insufficient_scope' });
    expect(await call(admin, 'listwallets')).toMatchObject({ result: expect.arrayContaining(['cold']) });
  });

  test('receives events of its own transactions alone, and sees its own metrics', async () => {
    const metrics = (await hot.request('/metrics')).text;
    expect(metrics).toContain('obverse_wallet_locked{wallet="hot"}');
    expect(metrics).not.toContain('wallet="cold"');
    expect((await admin.request('/metrics')).text).toContain('wallet="cold"');
    const [own, all] = await Promise.all([hot.socket(), admin.socket()]);
    for (const socket of [own, all]) {
      socket.send({ type: 'subscribe', id: 1, data: { events: ['walletTransaction'] } });
      await socket.until('the answer', ({ id }) => id === 1);
    }
    const { result: to } = await call(admin, 'getnewaddress', [], 'cold');
    const sent = await call(hot, 'sendtoaddress', [to, 1]);
    await admin.rpc('generatetoaddress', [1, to]);
    const walletsOf = (socket: typeof own) => new Set(socket.of('walletTransaction').map(({ data }) => data.wallet));
    await all.until('both', () => walletsOf(all).size === 2);
    await own.until('its block', ({ data }) => data.txid === sent.result && data.phase === 'confirmed');
    expect([...walletsOf(own)]).toEqual(['hot']);
    const page = await hot.json<{ items: { data: { wallet: string } }[] }>(
      '/api/events?types=walletTransaction&after=0',
    );
    expect(new Set(page.items.map(({ data }) => data.wallet))).toEqual(new Set(['hot']));
    own.close();
    all.close();
  });
});

describe('open connections follow their key', () => {
  test('a WebSocket ends with the scopes, the wallets, the secret and the key itself', async () => {
    const [scopes, wallets, rotated, revoked] = await Promise.all([
      createKey('read,wallet.read,admin'),
      createKey('read,wallet.read'),
      createKey('read'),
      createKey('read'),
    ]);
    const sockets = [];
    for (const key of [scopes, wallets, rotated, revoked]) sockets.push(await clientOf(key).socket());
    await command('key', 'scopes', scopes!.id, 'read,wallet.read');
    expect(await admin.rpc('setapikey', [wallets!.id, { wallets: ['hot'] }])).toMatchObject({ wallets: ['hot'] });
    const next = await admin.rpc<Key>('rotateapikey', [rotated!.id, 1]);
    const fresh = await clientOf(next).socket();
    await command('key', 'revoke', revoked!.id);
    const ends = await Promise.all(sockets.map(({ closed }) => closed));
    expect(ends).toEqual([
      { code: 4003, reason: 'the scopes of the key have changed' },
      { code: 4003, reason: 'the wallets of the key have changed' },
      { code: 4001, reason: 'the key is no longer valid' },
      { code: 4001, reason: 'the key is no longer valid' },
    ]);
    // The new secret continues to work.
    fresh.send({ type: 'ping', id: 7 });
    await fresh.until('pong', ({ type }) => type === 'pong');
    fresh.close();
  });

  test('further rights reach a WebSocket without closing it', async () => {
    const key = await createKey('read');
    const socket = await clientOf(key).socket();
    await admin.rpc('setapikey', [key.id, { scopes: ['read', 'admin'] }]);
    socket.send({ type: 'subscribe', id: 2, data: { events: ['peerConnected'] } });
    expect(await socket.until('the answer', ({ id }) => id === 2)).toMatchObject({ type: 'ack' });
    socket.close();
  });

  test('waiting requests end with the key, and with the scope they need', async () => {
    const [revoked, narrowed] = await Promise.all([createKey('read,broadcast'), createKey('read,metrics')]);
    const waits = [];
    for (const key of [revoked!, narrowed!]) {
      const client = clientOf(key);
      waits.push(client.request<ErrorBody>('/api/events?wait=60'), call(client, 'waitfornewblock', [60_000]));
    }
    const batch = clientOf(revoked!).rpcBody<RpcReply[]>([
      { jsonrpc: '2.0', id: 1, method: 'waitfornewblock', params: [60_000] },
      { jsonrpc: '2.0', id: 2, method: 'getblockcount' },
    ]);
    const asked = await clientOf(revoked!).request<{ ticket: string }>('/api/ws-ticket', { method: 'POST' });
    await admin.rpc('revokeapikey', [revoked!.id]);
    await admin.rpc('setapikey', [narrowed!.id, { scopes: ['metrics'] }]);
    const [poll, wait, poll2, wait2] = await Promise.all(waits);
    expect([poll!.status, (wait as RpcReply).error?.code]).toEqual([401, -32001]);
    expect([poll2!.status, (wait2 as RpcReply).error?.code]).toEqual([403, -32003]);
    // The calls behind it in the batch do not run any more.
    expect((await batch).body.map(({ error }) => error?.code)).toEqual([-32001, -32001]);
    const headers = { authorization: '', upgrade: 'websocket', connection: 'upgrade' };
    expect((await admin.request(`/ws?ticket=${asked.body.ticket}`, { headers })).status).toBe(401);
  });
});

describe('management over JSON-RPC', () => {
  test('creates, shows and ends keys, only with the scope admin', async () => {
    const made = await admin.rpc<Key>('createapikey', [
      'shop',
      ['read'],
      { expiresAt: 4_000_000_000, allowedIps: ['127.0.0.0/8'], rate: { perSecond: 50, burst: 60 } },
    ]);
    expect(await admin.rpc('getapikey', [made.id])).toMatchObject({
      label: 'shop',
      scopes: ['read'],
      expiresAt: 4_000_000_000,
      allowedIps: ['127.0.0.0/8'],
      rate: { perSecond: 50, burst: 60 },
      revokedAt: null,
    });
    expect((await clientOf(made).request('/api/watches')).headers.get('ratelimit-limit')).toBe('60');
    expect((await call(clientOf(made), 'createapikey', ['x'])).status).toBe(403);
    expect(JSON.stringify(await admin.rpc('listapikeys'))).not.toContain(made.key.slice(-20));
    await admin.rpc('setapikey', [made.id, { allowedIps: ['10.0.0.0/8'] }]);
    expect((await clientOf(made).request('/api/watches')).status).toBe(403);
    await admin.rpc('revokeapikey', [made.id]);
    expect((await clientOf(made).request('/api/watches')).status).toBe(401);
    for (const [params, text] of [
      [['x', ['everything']], 'unknown scope'],
      [['x', []], 'at least one scope'],
      [['x', ['read'], { expiresAt: 5 }], 'not in the future'],
      [['x', ['read'], { allowedIps: ['10.0.0.0/33'] }], 'no address'],
      [['x', ['admin'], { wallets: ['hot'] }], 'cannot be bound'],
      [['x', ['read'], { colour: 1 }], 'Unexpected key'],
    ] as const)
      expect((await call(admin, 'createapikey', params)).error?.message).toContain(text);
  });

  test('the last key with the scope admin is ended only by force, and initial.key goes with its key', async () => {
    const file = join(node.networkDir, 'initial.key');
    const initial = readFileSync(file, 'utf8').trim().split('_')[1]!;
    for (const key of await admin.rpc<{ id: string; scopes: string[] }[]>('listapikeys'))
      if (key.id !== initial && key.scopes.includes('admin')) await admin.rpc('revokeapikey', [key.id]);
    for (const [method, params] of [
      ['revokeapikey', [initial]],
      ['setapikey', [initial, { scopes: ['read'] }]],
      ['setapikey', [initial, { expiresAt: 4_000_000_000 }]],
    ] as const)
      expect((await call(admin, method, params)).error?.message).toContain('last key with the scope admin');
    expect((await admin.request('/metrics')).text).toContain('obverse_initial_key_file 1');
    const own = await createKey('admin,read');
    expect((await command('key', 'list')).stderr).toContain(`obverse key revoke ${initial}`);
    const operator = clientOf(own);
    await operator.rpc('revokeapikey', [initial]);
    expect(existsSync(file)).toBe(false);
    expect((await operator.request('/metrics')).text).toContain('obverse_initial_key_file 0');
    admin = operator;
  });
});

describe('the audit log', () => {
  test('holds each actor, action and result, spends with their transaction, and no secret', async () => {
    await call(admin, 'encryptwallet', [PASSPHRASE], 'cold');
    expect((await call(admin, 'walletpassphrase', ['wrong', 1], 'cold')).error?.code).toBe(-14);
    const spender = await createKey('read,wallet.spend', ['hot']);
    const client = clientOf(spender);
    const { result: to } = await call(client, 'getnewaddress');
    const { result: txid } = await call(client, 'sendtoaddress', [to, 0.5]);
    await client.rpcBody([
      { jsonrpc: '2.0', id: 1, method: 'getblockcount' },
      { jsonrpc: '2.0', id: 2, method: 'sendtoaddress', params: [to, 1_000_000] },
    ]);
    await admin.rpc('logging');
    const { result: made } = await call(admin, 'createapikey', ['audited']);
    const shown = await entries('limit=1000');
    const find = (method: string, outcome: string) =>
      shown.find((entry) => entry.method === method && entry.outcome === outcome);
    expect(find('sendtoaddress', 'ok')).toMatchObject({ who: spender.id, ip: '127.0.0.1', wallet: 'hot', txid });
    expect(find('sendtoaddress', '-6')).toMatchObject({ who: spender.id, txid: null });
    expect(find('walletpassphrase', '-14')).toMatchObject({ wallet: 'cold' });
    expect(find('encryptwallet', 'ok')).toMatchObject({ wallet: 'cold' });
    expect(find('logging', 'ok')).toMatchObject({ wallet: null });
    expect(find('createapikey', 'ok')).toMatchObject({ keyId: (made as Key).id });
    // Once, however often it was tried.
    expect(shown.filter(({ method, outcome }) => method === 'setban' && outcome === '-32003')).toHaveLength(1);
    expect(find('listdescriptors', '-32003')).toMatchObject({ wallet: 'hot' });
    expect(shown.some(({ who }) => who.startsWith('cli:'))).toBe(true);
    expect(shown.some(({ method }) => method === 'getblockcount')).toBe(false);
    const secrets = [PASSPHRASE, (made as Key).key, spender.key];
    for (const text of [JSON.stringify(shown), node.stderr, node.stdout])
      for (const secret of secrets) expect(text.includes(secret)).toBe(false);
  });

  test('is paged and filtered, for administrators alone', async () => {
    const all = await admin.all<Entry>('/api/audit?limit=7');
    const ids = all.items.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => b - a));
    expect(all.pages).toBeGreaterThan(2);
    const sends = await entries('method=sendtoaddress&limit=1000');
    expect(new Set(sends.map(({ method }) => method))).toEqual(new Set(['sendtoaddress']));
    expect((await entries('who=nobody')).length).toBe(0);
    expect((await entries('since=4000000000')).length).toBe(0);
    expect((await admin.request('/api/audit?since=x')).status).toBe(400);
    const reader = clientOf(await createKey('read,broadcast'));
    expect((await reader.request('/api/audit')).status).toBe(403);
    const log = await command('audit', 'log', '--json', '--method', 'sendtoaddress', '--since', '1h');
    expect(
      log.stdout
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as Entry).id)
        .reverse(),
    ).toEqual(sends.map(({ id }) => id));
    expect((await command('audit', 'log', '--check')).stdout).toContain('none changed or missing');
  });

  test('spending is refused while it cannot be written, and the node reports it; afterwards all continues', async () => {
    const { result: to } = await call(admin, 'getnewaddress', [], 'hot');
    const db = new Database(join(node.networkDir, 'auth.db'));
    db.run("CREATE TRIGGER full BEFORE INSERT ON audit BEGIN SELECT RAISE(FAIL, 'disk full'); END");
    const before = (await call(admin, 'getwalletinfo', [], 'hot')).result as { txcount: number };
    const { error } = await call(admin, 'sendtoaddress', [to, 0.1], 'hot');
    expect(error).toMatchObject({ code: -32603, data: { code: 'audit_unavailable' } });
    expect(error!.message).toContain('audit log cannot be written');
    expect((await call(admin, 'getwalletinfo', [], 'hot')).result).toMatchObject({ txcount: before.txcount });
    const { body } = await admin.request<Readiness>('/readyz');
    expect(body.checks.database).toMatchObject({ status: 'degraded', message: expect.stringContaining('audit log') });
    expect((await admin.request('/metrics')).text).toContain('obverse_audit_writable 0');
    // A call that reduces rights is not refused, and is recorded when that is possible again.
    expect((await call(admin, 'walletlock', [], 'cold')).error).toBeUndefined();
    db.run('DROP TRIGGER full');
    db.close();
    await node.until('the log is writable', async () =>
      (await admin.request('/metrics')).text.includes('obverse_audit_writable 1'),
    );
    expect(await call(admin, 'sendtoaddress', [to, 0.1], 'hot')).toMatchObject({ result: expect.any(String) });
    expect((await entries('method=walletlock')).length).toBe(1);
    expect((await command('audit', 'log', '--check')).status).toBe(0);
  });
});
