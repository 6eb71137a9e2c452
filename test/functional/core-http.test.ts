import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { basicAuth, rpcauthLine } from '../lib/basic-auth.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

/** Passwords may have colons, and letters beyond ASCII. */
const ALICE = 'alice:pass:wörd';
const BOB = 'bob:secret';
const ARGS = [
  '--wallet.keypool=10',
  `--rpcauth=${rpcauthLine('alice', 'pass:wörd')}`,
  `--rpcauth=${rpcauthLine('bob', 'secret', '0123456789abcdef')}`,
  '--rpcwhitelist=bob:getblockcount,bob:getbalance',
  '--rpcwhitelistdefault=false',
  '--http.limits.authFailuresPerMinute=1000',
];
/** Delay before a wrong password is refused, milliseconds. */
const DELAY_MS = 250;

describe('HTTP as Bitcoin Core speaks it', () => {
  let node: NodeProcess;
  const cookieFile = () => join(node.networkDir, '.cookie');
  const cookie = () => readFileSync(cookieFile(), 'utf8');
  /** `login` is `user:password`, or null for no credentials at all. */
  const post = (body: unknown, login: string | null = ALICE, { path = '/', headers = {} } = {}) =>
    node.api.request<{ result: unknown; error: { code: number; message: string } | null }>(path, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: login === null ? '' : basicAuth(login), ...headers },
    });
  const call = (method: string, params: unknown = []) => ({ jsonrpc: '1.0', id: 'curl', method, params });

  beforeAll(async () => {
    node = await startNode({ args: ARGS });
    const address = await node.api.rpc<string>('getnewaddress', ['', 'bech32']);
    await node.api.rpc('generatetoaddress', [3, address]);
    await node.api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  });
  afterAll(async () => {
    expect(node.stderr).not.toContain('"level":"error"');
    await node.stop();
    // A stale cookie would be sent to another program that listens on the port later.
    expect(existsSync(cookieFile())).toBe(false);
  });

  test('admits the cookie of this start and the users of rpcauth, and no other login', async () => {
    expect(cookie()).toMatch(/^__cookie__:[0-9a-f]{64}$/);
    expect(statSync(cookieFile()).mode & 0o777).toBe(0o600);
    for (const login of [cookie(), ALICE, BOB]) {
      const { status, text } = await post(call('getblockcount'), login);
      expect([login, status, text]).toEqual([login, 200, '{"result":103,"error":null,"id":"curl"}\n']);
    }
    const wrong = ['alice:wrong', 'alice:', 'alice', 'ALICE:pass:wörd', `bob:pass:wörd`, '__cookie__:', ':', 'eve:x'];
    await Promise.all(
      wrong.map(async (login) => {
        const from = performance.now();
        const { status, headers } = await post(call('getblockcount'), login);
        expect([login, status]).toEqual([login, 401]);
        expect(performance.now() - from).toBeGreaterThan(DELAY_MS - 5);
        expect(headers.get('www-authenticate')).toEndWith('Basic realm="jsonrpc"');
      }),
    );
    expect((await post(call('getblockcount'), null)).status).toBe(401);
  });

  test('keeps users to their methods and scopes, also inside a batch', async () => {
    expect((await post(call('getbalance'), BOB)).text).toBe('{"result":150.00000000,"error":null,"id":"curl"}\n');
    expect((await post(call('getblockhash', [0]), BOB)).status).toBe(403);
    expect((await post([call('getblockcount'), call('getblockhash', [0])], BOB)).status).toBe(403);
    expect((await post(call('getblockhash', [0]), ALICE)).status).toBe(200);
    // An operator's method, and none that the users of rpcauth have by themselves.
    expect((await post(call('generatetoaddress', [1, MINING_ADDRESS]), ALICE)).status).toBe(403);
    expect((await post(call('getblockcount'), ALICE)).body).toMatchObject({ result: 103 });
  });

  test('names the content type as Core does, which its clients compare as a whole', async () => {
    const replies: readonly [number, unknown][] = [
      [200, call('getblockcount')],
      [200, { ...call('nonsense'), jsonrpc: '2.0' }],
      [200, [call('getblockcount'), call('nonsense')]],
      [500, call('getblockhash', [-1])],
      [404, call('nonsense')],
      [400, { ...call('getblockcount'), jsonrpc: '3.0' }],
      [400, '{'],
    ];
    for (const [status, body] of replies)
      for (const path of ['/', '/wallet/default']) {
        const reply = await post(body, ALICE, { path });
        expect([reply.status, reply.headers.get('content-type')]).toEqual([status, 'application/json']);
      }
    // Clients take a reply that is not JSON by its status, so it must not look like a JSON-RPC reply.
    for (const login of [null, BOB]) {
      const { headers } = await post(call('getblockhash', [0]), login);
      expect(headers.get('content-type')).not.toBe('application/json');
    }
  });

  test('finds wallets by the path, whatever the method', async () => {
    const reply = async (path: string, body: unknown) => {
      const { status, text } = await post(body, ALICE, { path });
      return [status, text];
    };
    const unknown = 'Requested wallet does not exist or is not loaded';
    expect(await reply('/wallet/default', call('getbalance'))).toEqual([
      200,
      '{"result":150.00000000,"error":null,"id":"curl"}\n',
    ]);
    for (const path of ['/wallet/', '/wallet/nowhere', '/wallet/a%2Fb', '/wallet/%00'])
      expect(await reply(path, call('getbalance'))).toEqual([
        500,
        `{"result":null,"error":{"code":-18,"message":"${unknown}"},"id":"curl"}\n`,
      ]);
    expect(await reply('/wallet/nowhere', call('getblockcount'))).toEqual([
      200,
      '{"result":103,"error":null,"id":"curl"}\n',
    ]);
  });

  test('returns ids as they were written', async () => {
    const ids = ['0', '-7', '1.50', '1e3', '12345678901234567890', '"x"', '""', '"\\u0001\\"ä"', 'null'];
    for (const id of ids)
      for (const [head, tail] of [
        ['{"jsonrpc":"2.0","result":103,', '}\n'],
        ['{"result":103,"error":null,', '}\n'],
      ] as const) {
        const version = head.includes('2.0') ? '"jsonrpc":"2.0",' : '';
        const { text } = await post(`{${version}"method":"getblockcount","params":[],"id":${id}}`);
        expect(text).toBe(`${head}"id":${id}${tail}`);
      }
    const batch = ids.map((id) => `{"method":"getblockcount","id":${id}}`).join(',');
    const replies = ids.map((id) => `{"result":103,"error":null,"id":${id}}`).join(',');
    expect((await post(`[${batch}]`)).text).toBe(`[${replies}]\n`);
    // Ids of older clients that name no version may have any JSON type.
    expect((await post('{"method":"getblockcount","id":[1,{"a":true}]}')).text).toEndWith('"id":[1,{"a":true}]}\n');
  });

  test('accepts a batch of all forms, answers each in its own, and leaves notifications out', async () => {
    const { status, text } = await post([
      { jsonrpc: '1.0', id: 1, method: 'nonsense' },
      { version: '1.1', id: 2, method: 'getblockcount' },
      { jsonrpc: '2.0', method: 'getblockcount' },
      { jsonrpc: '2.0', id: 3, method: 'getbalance', params: {} },
      { jsonrpc: '2.0', id: 4, method: 'sendtoaddress', params: [MINING_ADDRESS, 1e6] },
    ]);
    expect([status, text]).toEqual([
      200,
      `[${[
        '{"result":null,"error":{"code":-32601,"message":"Method not found"},"id":1}',
        '{"result":103,"error":null,"id":2}',
        '{"jsonrpc":"2.0","result":150.00000000,"id":3}',
        '{"jsonrpc":"2.0","error":{"code":-6,"message":"Insufficient funds"},"id":4}',
      ].join()}]\n`,
    ]);
    expect(await post({ jsonrpc: '2.0', method: 'getblockcount' })).toMatchObject({ status: 204, text: '' });
  });

  test('writes every amount with eight decimals, wherever it stands', async () => {
    const own = await node.api.rpc<string>('getnewaddress');
    const txid = await node.api.rpc<string>('sendtoaddress', [own, 1]);
    const tip = await node.api.rpc<string>('getbestblockhash');
    const [coin] = await node.api.rpc<{ txid: string; vout: number }[]>('listunspent', [0]);
    const raw = await node.api.rpc<string>('getrawtransaction', [txid]);
    const to = { [MINING_ADDRESS]: 1 };
    const { psbt } = await node.api.rpc<{ psbt: string }>('walletcreatefundedpsbt', [[], to]);
    const calls: readonly [string, unknown, number][] = [
      ['getbalance', [], 1],
      ['getbalances', [], 4],
      ['getreceivedbyaddress', [own, 0], 1],
      ['listreceivedbyaddress', [0], 1],
      ['listreceivedbylabel', [0], 1],
      ['listtransactions', [], 4],
      ['listsinceblock', [], 4],
      ['gettransaction', [txid, false, true], 6],
      ['listunspent', [0], 4],
      ['walletcreatefundedpsbt', [[], to], 1],
      ['fundrawtransaction', ['0200000000010100000000000000016a00000000', { changePosition: 1 }], 1],
      ['decodepsbt', [psbt], 3],
      ['decoderawtransaction', [raw], 2],
      ['getrawtransaction', [txid, 2], 2],
      ['getrawmempool', [true], 4],
      ['getmempoolentry', [txid], 4],
      ['testmempoolaccept', [[raw]], 0],
      ['gettxout', [coin!.txid, coin!.vout], 1],
      ['getblock', [tip, 2], 2],
      ['gettxoutsetinfo', [], 1],
      ['getmempoolinfo', [], 3],
      ['getmininginfo', [], 1],
      ['getnetworkinfo', [], 2],
      ['estimatesmartfee', [2], 1],
      ['scantxoutset', ['start', [`addr(${own})`, `addr(${MINING_ADDRESS})`]], 101],
    ];
    // Methods whose results have decimals that are no amounts.
    const others = ['difficulty', 'networkhashps'];
    for (const [method, params, least] of calls) {
      const { status, text } = await post(call(method, params), cookie());
      expect([method, status]).toEqual([method, 200]);
      const amounts = numbersOf(text).filter(([key, number]) => !others.includes(key) && /[.e]/i.test(number));
      expect([method, amounts.filter(([, number]) => !/^-?\d+\.\d{8}$/.test(number))]).toEqual([method, []]);
      expect([method, amounts.length >= least]).toEqual([method, true]);
      // An amount that is whole has its decimals as well.
      const whole = numbersOf(text).filter(([key, number]) => AMOUNT.test(key) && !number.includes('.'));
      expect([method, whole]).toEqual([method, []]);
    }
  });

  test('has another cookie after a restart, and the same users', async () => {
    const before = cookie();
    await node.stop();
    expect(existsSync(cookieFile())).toBe(false);
    node = await startNode({ datadir: node.datadir, args: ARGS });
    expect(cookie()).not.toBe(before);
    expect((await post(call('getblockcount'), before)).status).toBe(401);
    for (const login of [cookie(), ALICE]) expect((await post(call('getbalance'), login)).status).toBe(200);
  });
});

/** Keys of JSON whose numbers are coins. */
const AMOUNT = /^(?:amount|fee|value|trusted|untrusted_pending|immature|base|modified|total_amount|relayfee|feerate)$/;

/** All numbers of a JSON text as they are written, each with the key it stands under. */
function numbersOf(text: string): [string, string][] {
  const found: [string, string][] = [];
  JSON.parse(text, (key, value, context?: { source?: string }) => {
    if (typeof value === 'number') found.push([key, context?.source ?? String(value)]);
    return value;
  });
  return found;
}
