import { beforeAll, describe, expect, test } from 'bun:test';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: number;
}
interface Reply<T> {
  readonly result: T;
  readonly error: { readonly code: number; readonly message: string } | null;
}

describe('spends of unconfirmed transactions', () => {
  let api: ApiClient;
  const call = async <T>(wallet: string, method: string, params: unknown = []) =>
    (
      await api.request<Reply<T>>(`/wallet/${wallet}`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '1.0', id: 1, method, params }),
      })
    ).body;
  const on = async <T>(wallet: string, method: string, params: unknown = []) => {
    const { result, error } = await call<T>(wallet, method, params);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  const failure = async (wallet: string, method: string, params: unknown = []) => {
    const { error } = await call(wallet, method, params);
    return [error?.code, error?.message];
  };
  const mine = () => api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
  const pay = (wallet: string, version: number, amount: number, options: object = {}) =>
    on<{ txid: string }>(wallet, 'send', { outputs: [{ [MINING_ADDRESS]: amount }], version, options });

  beforeAll(async () => {
    ({ api } = await startNode({ args: ['--wallet.keypool=5'] }));
    for (const name of ['other', 'third', 'long']) await api.rpc('createwallet', [name]);
    const address = await on<string>('default', 'getnewaddress');
    await api.rpc('generatetoaddress', [4, address]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
    for (let i = 0; i < 2; i++) await on('default', 'sendtoaddress', [await on<string>('third', 'getnewaddress'), 10]);
    await mine();
  });

  test('a transaction whose coin another transaction has spent is not replaced', async () => {
    const address = await on<string>('other', 'getnewaddress');
    const txid = await on<string>('default', 'sendtoaddress', { address, amount: 3, fee_rate: 2 });
    const [coin] = await on<Coin[]>('other', 'listunspent', [0]);
    expect(coin!.txid).toBe(txid);
    const inputs = [{ txid, vout: coin!.vout }];
    const { txid: child } = await pay('other', 2, 1, { inputs, fee_rate: 2 });
    expect(await failure('default', 'bumpfee', [txid])).toEqual([-8, 'Transaction has descendants in the mempool']);
    expect(await api.rpc<string[]>('getrawmempool')).toContain(child);
    await mine();
  });

  test('an ancestor that another wallet already bumped costs nothing more', async () => {
    const address = await on<string>('default', 'getnewaddress');
    const parent = await on<string>('default', 'sendtoaddress', { address, amount: 3, fee_rate: 1 });
    const coins = (await on<Coin[]>('default', 'listunspent', [0])).filter(({ txid }) => txid === parent);
    expect(coins).toHaveLength(2);
    const [lifting, spent] = coins.map(({ txid, vout }) => ({ txid, vout }));
    const feeOf = async (feerate: number) =>
      (
        await on<{ fee: number }>('default', 'walletcreatefundedpsbt', [
          [spent],
          [{ [MINING_ADDRESS]: 1 }],
          0,
          { add_inputs: false, fee_rate: feerate },
        ])
      ).fee * 1e8;
    // Its own bytes are at most 155, those of the parent at least 140.
    expect(await feeOf(10)).toBeGreaterThan(9 * 140 + 1400);
    await on('default', 'sendall', { recipients: [MINING_ADDRESS], options: { inputs: [lifting], fee_rate: 100 } });
    expect(await feeOf(10)).toBeLessThan(1560);
    expect(await feeOf(200)).toBeGreaterThan(199 * 140 + 200 * 140);
    await mine();
  });

  test('a transaction of version 3 is replaced by an ordinary one', async () => {
    const { txid } = await pay('default', 3, 0.5, { fee_rate: 2 });
    const bumped = await on<{ txid: string }>('default', 'bumpfee', [txid]);
    const { decoded } = await on<{ decoded: { version: number } }>('default', 'gettransaction', [
      bumped.txid,
      true,
      true,
    ]);
    expect(decoded.version).toBe(2);
    expect(await api.rpc<string[]>('getrawmempool')).toEqual([bumped.txid]);
    await mine();
  });

  test('one unconfirmed transaction of version 3 is spent at a time, and none that has relatives', async () => {
    for (const { txid, vout } of await on<Coin[]>('third', 'listunspent'))
      await pay('third', 3, 9, { inputs: [{ txid, vout }], fee_rate: 3 });
    expect(await api.rpc<string[]>('getrawmempool')).toHaveLength(2);
    const outputs = (amount: number) => ({ outputs: [{ [MINING_ADDRESS]: amount }], version: 3 });
    expect(await failure('third', 'send', outputs(1.5))).toEqual([-4, 'Insufficient funds']);
    await pay('third', 3, 0.5);
    await pay('third', 3, 0.3);
    expect(await api.rpc<string[]>('getrawmempool')).toHaveLength(4);
    // Grandchildren would be one too many.
    expect(await failure('third', 'send', outputs(0.1))).toEqual([-4, 'Insufficient funds']);
    await mine();
    await pay('third', 3, 0.9);
    expect(await api.rpc<string[]>('getrawmempool')).toHaveLength(1);
  });

  test('two chains that do not fit into one cluster are not joined', async () => {
    for (let i = 0; i < 2; i++) await on('default', 'sendtoaddress', [await on<string>('long', 'getnewaddress'), 5]);
    await mine();
    const tips = await on<Coin[]>('long', 'listunspent');
    expect(tips).toHaveLength(2);
    // A cluster has 101,000 virtual bytes at most.
    for (const { txid, vout } of tips)
      await on('long', 'send', {
        outputs: [{ data: '00'.repeat(60_000) }],
        options: { inputs: [{ txid, vout }], fee_rate: 1 },
      });
    expect(await api.rpc<string[]>('getrawmempool')).toHaveLength(2);
    const before = await on('long', 'getbalances');
    expect(await failure('long', 'sendtoaddress', { address: MINING_ADDRESS, amount: 5, fee_rate: 1 })).toEqual([
      -6,
      'too many unconfirmed transactions in cluster',
    ]);
    expect(await on('long', 'getbalances')).toEqual(before);
    await on('long', 'sendtoaddress', { address: MINING_ADDRESS, amount: 4, fee_rate: 1 });
    expect(await api.rpc<string[]>('getrawmempool')).toHaveLength(3);
    await mine();
    await on('long', 'sendtoaddress', { address: MINING_ADDRESS, amount: 5, fee_rate: 1 });
  });
});
