import { afterAll, expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { examplesOf } from '../../src/rpc/engine/method.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';
import {
  type ApiFixture,
  describeWithVectors,
  expectedOfMixedChain,
  idleNode,
  mixedChainDir,
  startTestApi,
} from '../lib/chain-api.ts';

const ADDRESS = 'bcrt1q5fm3utw8dqmzc2y8c4czuz66gg6fxhcshhc7pa';
const UNKNOWN_HASH = '00'.repeat(32);

describeWithVectors('methods of JSON-RPC', () => {
  const { transactions, tip } = expectedOfMixedChain();
  const txid = transactions[0]!.txid;
  const api: ApiFixture = startTestApi(mixedChainDir());
  afterAll(() => api.close());

  const errorOf = async (method: string, params: unknown) => {
    const response = await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }));
    const { error } = (await response.json()) as { error?: { code: number; message: string } };
    return error && [error.code, error.message];
  };

  test('amounts have eight decimals', async () => {
    const text = async (method: string, ...params: unknown[]) =>
      (await api.post('/', JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }))).text();
    expect(await text('getmempoolinfo')).toContain(
      '"total_fee":0.00000000,"maxmempool":300000000,"mempoolminfee":0.00000100',
    );
    expect(await text('getnetworkinfo')).toContain('"relayfee":0.00000100,"incrementalfee":0.00000100');
    expect(await text('getmininginfo')).toContain('"blockmintxfee":0.00000001');
    expect(await text('gettxoutsetinfo', 'none')).toContain('"total_amount":7724.87123000');
    expect(await text('estimatefee')).toContain('"result":0.00000100,');
  });

  test('the thirteen methods of the interface answer without parameters', async () => {
    expect(await api.rpc<number>('getblockcount')).toBe(160);
    expect(await api.rpc<string>('getbestblockhash')).toBe(tip);
    expect(await api.rpc<unknown[]>('getpeerinfo')).toEqual([]);
    expect(await api.rpc<number>('getconnectioncount')).toBe(0);
    expect(await api.rpc<object>('getblockchaininfo')).toMatchObject({
      chain: 'regtest',
      blocks: 160,
      headers: 160,
      bestblockhash: tip,
    });
    expect(await api.rpc<object>('getmininginfo')).toMatchObject({
      blocks: 160,
      pooledtx: 0,
      chain: 'regtest',
      next: { height: 161, bits: '207fffff' },
    });
    expect(await api.rpc<object>('getnetworkinfo')).toMatchObject({
      version: 310_000,
      connections: 0,
      networkactive: true,
    });
    expect(await api.rpc<object>('getmempoolinfo')).toMatchObject({ loaded: true, size: 0, bytes: 0, optimal: true });
    expect(await api.rpc<object>('getlistingmetadata')).toEqual(await api.json('/api/listing'));
    expect(await api.rpc<object>('estimatesmartfee')).toEqual({
      feerate: 0.000001,
      estimator: 'floor',
      blocks: 6,
      warnings: ['insufficient data, minimum relay rate returned'],
    });
    expect(await api.rpc<number>('estimatefee')).toBe(0.000001);
    for (const method of ['getnewaddress', 'getbalance'])
      expect(await errorOf(method, [])).toEqual([-32601, 'Method not found: wallets are disabled (wallet.enabled)']);
  });

  test('a call to a wallet that does not exist is refused', async () => {
    const response = await api.post('/wallet/nope', '{"jsonrpc":"2.0","id":1,"method":"getbalance"}');
    expect(await response.json()).toEqual({
      jsonrpc: '2.0',
      error: { code: -18, message: 'Requested wallet does not exist or is not loaded' },
      id: 1,
    });
  });

  const refusals: [string, unknown[], number, string][] = [
    ['getblockhash', [-1], -8, 'Block height out of range'],
    ['getblockhash', [4_294_967_296], -1, 'JSON integer out of range'],
    ['getblock', ['abc'], -8, "blockhash must be of length 64 (not 3, for 'abc')"],
    ['getblock', ['z'.repeat(64)], -8, `blockhash must be hexadecimal string (not '${'z'.repeat(64)}')`],
    ['getblock', [UNKNOWN_HASH], -5, 'Block not found'],
    ['getblock', [tip, 'x'], -3, 'JSON value of type string is not of expected type number'],
    ['getblockheader', ['abc'], -8, "hash must be of length 64 (not 3, for 'abc')"],
    ['getblockheader', [UNKNOWN_HASH], -5, 'Block not found'],
    ['getrawtransaction', ['abc'], -8, "parameter 1 must be of length 64 (not 3, for 'abc')"],
    [
      'getrawtransaction',
      [UNKNOWN_HASH],
      -5,
      'No such mempool or blockchain transaction. Use gettransaction for wallet transactions.',
    ],
    [
      'getrawtransaction',
      [txid, 1, tip],
      -5,
      'No such transaction found in the provided block. Use gettransaction for wallet transactions.',
    ],
    ['getrawtransaction', [txid, 1, UNKNOWN_HASH], -5, 'Block hash not found'],
    [
      'getrawtransaction',
      ['4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b'],
      -5,
      'The genesis block coinbase is not considered an ordinary transaction and cannot be retrieved',
    ],
    ['gettxout', [txid, -1], -1, 'JSON integer out of range'],
    ['gettxoutproof', [[]], -8, "Parameter 'txids' cannot be empty"],
    ['gettxoutproof', [['zz']], -8, "txid must be of length 64 (not 2, for 'zz')"],
    ['gettxoutproof', [[txid, txid]], -8, `Invalid parameter, duplicated txid: ${txid}`],
    ['gettxoutproof', [[UNKNOWN_HASH]], -5, 'Transaction not yet in block'],
    ['gettxoutproof', [[txid], tip], -5, 'Not all transactions found in specified or retrieved block'],
    ['verifytxoutproof', ['zz'], -8, "proof must be hexadecimal string (not 'zz')"],
    ['gettxoutsetinfo', ['md5'], -8, "'md5' is not a valid hash_type"],
    ['gettxoutsetinfo', ['none', 5], -8, 'Querying specific block heights requires coinstatsindex'],
    ['getblockstats', [-1], -8, 'Target block height -1 is negative'],
    ['getblockstats', [161], -8, 'Target block height 161 after current tip 160'],
    ['getblockstats', [1, ['nope']], -8, "Invalid selected statistic 'nope'"],
    ['getchaintxstats', [160], -8, "Invalid block count: should be between 0 and the block's height - 1"],
    ['getnetworkhashps', [0], -8, 'Invalid nblocks. Must be a positive number or -1.'],
    ['getnetworkhashps', [1, 161], -8, 'Block does not exist at specified height'],
    ['estimatesmartfee', [0], -8, 'Invalid conf_target, must be between 1 and 1008'],
    ['estimatesmartfee', [1009], -8, 'Invalid conf_target, must be between 1 and 1008'],
    [
      'estimatesmartfee',
      [6, 'fast'],
      -8,
      'Invalid estimate_mode parameter, must be one of: "unset", "economical", "conservative"',
    ],
    ['estimatefee', [0], -8, 'Invalid conf_target, must be between 1 and 1008'],
    [
      'getnewaddress',
      [1],
      -3,
      'Wrong type passed:\n{\n    "Position 1 (label)": "JSON value of type number is not of expected type string"\n}',
    ],
    ['validateaddress', [], -1, 'validateaddress "address"'],
    ['getblock', [], -1, 'getblock "blockhash" ( verbosity )'],
  ];
  for (const [method, params, code, message] of refusals)
    test(`${method} ${JSON.stringify(params).slice(0, 40)}: ${code}`, async () =>
      expect(await errorOf(method, params)).toEqual([code, message]));

  test('validateaddress', async () => {
    expect(await api.rpc<object>('validateaddress', ADDRESS)).toEqual({
      isvalid: true,
      address: ADDRESS,
      scriptPubKey: '0014a2771e2dc768362c2887c5702e0b5a4234935f10',
      isscript: false,
      iswitness: true,
      witness_version: 0,
      witness_program: 'a2771e2dc768362c2887c5702e0b5a4234935f10',
    });
    expect(await api.rpc<object>('validateaddress', 'nonsense')).toMatchObject({ isvalid: false, error_locations: [] });
  });

  test('getblockstats of the genesis block, which spends nothing and adds nothing to the set', async () => {
    expect(await api.rpc<object>('getblockstats', 0)).toMatchObject({
      txs: 1,
      outs: 1,
      utxo_increase: 1,
      utxo_increase_actual: 0,
      subsidy: 5_000_000_000,
    });
  });

  test('the examples of methods that read the chain are answered, or only miss what the chain of the test lacks', async () => {
    const short = [...RPC_METHODS.values()].filter(({ runsOn, long }) => runsOn === 'reads' && !long);
    const failed: unknown[] = [];
    for (const method of short)
      for (const { params } of examplesOf(method)) {
        const error = await errorOf(method.name, params);
        if (error) failed.push([method.name, ...error]);
      }
    const missing = 'Use gettransaction for wallet transactions.';
    expect(failed).toEqual([
      ['getblockfilter', -1, 'Index is not enabled for filtertype basic'],
      ['getrawtransaction', -5, `No such mempool or blockchain transaction. ${missing}`],
      ['getrawtransaction', -5, `No such mempool or blockchain transaction. ${missing}`],
      ['getrawtransaction', -5, `No such transaction found in the provided block. ${missing}`],
      ['gettxoutproof', -5, 'Transaction not yet in block'],
      ['gettxoutproof', -5, 'Not all transactions found in specified or retrieved block'],
      ['combinerawtransaction', -25, 'Input not found or already spent'],
    ]);
  });

  test('help lists every method but hidden ones, and describes one', async () => {
    const list = await api.rpc<string>('help');
    const listed = new Set(list.split('\n').map((line) => line.split(' ')[0]));
    for (const { name, hidden } of RPC_METHODS.values()) expect([name, listed.has(name)]).toEqual([name, !hidden]);
    expect(list.startsWith('== Addressindex ==\n')).toBe(true);
    expect(await api.rpc<string>('help', 'getblockhash')).toStartWith('getblockhash height\n\n');
    expect(await api.rpc<string>('help', 'nope')).toBe('help: unknown command: nope');
  });
});

describeWithVectors('a node in initial block download', () => {
  const node = idleNode({ initialBlockDownload: true, headers: 900 });
  const api = startTestApi(mixedChainDir(), { node, params: { ...regtest, name: 'main' } });
  afterAll(() => api.close());

  test('has no fee estimate outside of regtest', async () => {
    expect(await api.rpc<object>('estimatesmartfee')).toEqual({
      errors: ['Insufficient data or no feerate found'],
      blocks: 0,
    });
    expect(await api.rpc<number>('estimatefee')).toBe(-1);
    const fees = await api.get('/api/fees');
    expect([fees.status, await fees.json()]).toMatchObject([
      503,
      { error: { code: 'syncing', details: { height: 160, headers: 900 } } },
    ]);
  });

  test('reports that state', async () => {
    expect(await api.rpc<object>('getblockchaininfo')).toMatchObject({ initialblockdownload: true, headers: 900 });
    expect(await api.rpc<object>('getmempoolinfo')).toMatchObject({ loaded: false });
    expect(await api.json('/api/mempool')).toMatchObject({ loaded: false, count: 0 });
    expect(await api.json('/api/info')).toMatchObject({ synced: false, initialBlockDownload: true, headers: 900 });
  });
});
