import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { mempoolLoaded } from '../lib/mempool-node.ts';
import type { ApiClient } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

interface Bumped {
  readonly txid: string;
}

describe('request_id', () => {
  let node: NodeProcess;
  let api: ApiClient;
  let other: string;
  beforeAll(async () => {
    node = await startNode({ args: ['--wallet.keypool=20'] });
    api = node.api;
    await api.rpc('generatetoaddress', [12, await api.rpc<string>('getnewaddress')]);
    await api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
    other = await api.rpc<string>('getnewaddress');
  });

  const send = (request: object) => api.rpc<string>('sendtoaddress', request);
  const failure = async (method: string, params: unknown) => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    const { error } = (await api.rpcBody<{ error?: { code: number; message: string } }>(body)).body;
    return [error?.code, error?.message];
  };
  const on = async (wallet: string, method: string, params: unknown = []) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    return (await api.request<{ result: unknown }>(`/wallet/${wallet}`, { method: 'POST', body })).body.result;
  };
  const used = (txid: string) => [-8, `request_id was used for another payment, ${txid}`];
  const rawOf = async (txid: string) => (await api.rpc<{ hex: string }>('gettransaction', [txid])).hex;
  /** Signs what psbtbumpfee proposes for a transaction; the result is not sent. */
  const signedBump = async (txid: string, feerate: number) => {
    const { psbt } = await api.rpc<{ psbt: string }>('psbtbumpfee', [txid, { fee_rate: feerate }]);
    const signed = await api.rpc<{ hex: string; complete: boolean }>('walletprocesspsbt', [psbt]);
    expect(signed.complete).toBe(true);
    return signed.hex;
  };

  /** Sends a payment and bumps it by PSBTs, then by bumpfee; returns the last txid. */
  const bumpByPsbt = async (request: object) => {
    const first = await send(request);
    const low = await signedBump(first, 6);
    const high = await signedBump(first, 9);
    // A PSBT counts once it is sent.
    expect(await send(request)).toBe(first);
    for (const hex of [low, high]) {
      const txid = await api.rpc<string>('sendrawtransaction', [hex]);
      expect(await send(request)).toBe(txid);
    }
    const last = (await api.rpc<Bumped>('bumpfee', [await send(request), { fee_rate: 20 }])).txid;
    expect(await send(request)).toBe(last);
    return last;
  };

  test('another amount is refused when the fee is subtracted', async () => {
    const request = { address: MINING_ADDRESS, amount: 0.1, subtractfeefromamount: true, request_id: 'subtracted' };
    const txid = await send(request);
    for (const amount of [5, 0.11, 0.10000001, 0.09999999, 0.09])
      expect(await failure('sendtoaddress', { ...request, amount })).toEqual(used(txid));
    expect(await failure('sendtoaddress', { ...request, subtractfeefromamount: false })).toEqual(used(txid));
    expect(await failure('sendtoaddress', { ...request, address: other })).toEqual(used(txid));
    expect(await send(request)).toBe(txid);
  });

  test('the same payment in another spelling is the same request', async () => {
    const txid = await send({ address: MINING_ADDRESS, amount: 0.1, request_id: 'spelling' });
    for (const amount of ['0.1', '0.10000000', '1e-1'])
      expect(await send({ address: MINING_ADDRESS, amount, request_id: 'spelling' })).toBe(txid);
    const many = { [MINING_ADDRESS]: '0.10', [other]: 0.2 };
    const second = await api.rpc<string>('sendmany', { amounts: many, subtractfeefrom: [other], request_id: 'many' });
    const turned = { [other]: 0.2, [MINING_ADDRESS]: 0.1 };
    expect(await api.rpc<string>('sendmany', { amounts: turned, subtractfeefrom: [other], request_id: 'many' })).toBe(
      second,
    );
    expect(
      await failure('sendmany', { amounts: turned, subtractfeefrom: [MINING_ADDRESS], request_id: 'many' }),
    ).toEqual(used(second));
    const outputs = { outputs: turned, options: { subtract_fee_from_outputs: [0], request_id: 'many' } };
    expect(await api.rpc<object>('send', outputs)).toEqual({ txid: second, complete: true });
    expect(
      await failure('send', { outputs: turned, options: { subtract_fee_from_outputs: [1], request_id: 'many' } }),
    ).toEqual(used(second));
  });

  test('after fee bumps the id answers with the transaction that replaced the first one', async () => {
    const proposed = { address: MINING_ADDRESS, amount: 0.4, fee_rate: 2, request_id: 'psbt' };
    const psbts = await bumpByPsbt(proposed);
    const request = { address: MINING_ADDRESS, amount: 0.3, fee_rate: 2, request_id: 'bumped' };
    const first = await send(request);
    const second = (await api.rpc<Bumped>('bumpfee', [first, { fee_rate: 5 }])).txid;
    expect(await send(request)).toBe(second);
    const third = (await api.rpc<Bumped>('bumpfee', [second, { fee_rate: 10 }])).txid;
    expect(await send(request)).toBe(third);
    expect(await failure('sendtoaddress', { ...request, amount: 0.31 })).toEqual(used(third));

    await on('default', 'backupwallet', ['bumped.db']);
    await on('default', 'restorewallet', ['restored', 'bumped.db']);
    expect(await on('restored', 'sendtoaddress', request)).toBe(third);
    await on('restored', 'unloadwallet');

    await node.stop();
    node = await startNode({ datadir: node.datadir, args: ['--wallet.keypool=20'] });
    api = node.api;
    await mempoolLoaded(node);
    expect(await send(request)).toBe(third);
    expect(await send(proposed)).toBe(psbts);

    // A block holds the one that was replaced after all.
    const replaced = await rawOf(first);
    const { hash } = await api.rpc<{ hash: string }>('generateblock', [MINING_ADDRESS, [replaced]]);
    expect(await send(request)).toBe(first);
    await api.rpc('invalidateblock', [hash]);
    expect(await send(request)).toBe(third);
  });

  test('another payment from the same coin does not answer for an abandoned one', async () => {
    const [coin] = await api.rpc<{ txid: string; vout: number }[]>('listunspent', [101]);
    const options = { inputs: [{ txid: coin!.txid, vout: coin!.vout }], fee_rate: 2 };
    const outputs = [{ [MINING_ADDRESS]: 1 }];
    const first = await api.rpc<Bumped>('send', { outputs, options: { ...options, request_id: 'one' } });
    // The same coin pays the same address the same amount for another reason.
    const { hex } = await api.rpc<{ hex: string }>('send', {
      outputs,
      options: { ...options, add_to_wallet: false, locktime: 7 },
    });
    await api.rpc('generateblock', [MINING_ADDRESS, [hex]]);
    expect((await api.rpc<{ confirmations: number }>('gettransaction', [first.txid])).confirmations).toBe(-1);
    expect(await api.rpc<Bumped>('send', { outputs, options: { ...options, request_id: 'one' } })).toMatchObject({
      txid: first.txid,
    });
  });

  test('a wallet of an earlier version compares outputs and fee', async () => {
    const request = { address: MINING_ADDRESS, amount: 0.7, subtractfeefromamount: true, request_id: 'old' };
    const txid = await send(request);
    const exact = { address: MINING_ADDRESS, amount: 0.8, request_id: 'old and exact' };
    const second = await send(exact);
    await node.stop();
    const db = new Database(join(node.datadir, 'regtest', 'wallets', 'default.db'));
    db.run('DROP TABLE request_payments');
    db.close();
    node = await startNode({ datadir: node.datadir, args: ['--wallet.keypool=20'] });
    api = node.api;
    expect(await send(request)).toBe(txid);
    expect(await send(exact)).toBe(second);
    for (const amount of [0.6, 0.69, 0.7001, 5])
      expect(await failure('sendtoaddress', { ...request, amount })).toEqual(used(txid));
    expect(await failure('sendtoaddress', { ...exact, amount: 0.81 })).toEqual(used(second));
    expect(await failure('sendtoaddress', { ...exact, subtractfeefromamount: true })).toEqual(used(second));
  });
});
