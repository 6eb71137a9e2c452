import { beforeAll, describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import {
  type BroadcastBody,
  broadcast,
  hexOf,
  idOf,
  mempoolLoaded,
  mine,
  nodeWith,
  post,
  refused,
} from '../lib/mempool-node.ts';
import type { ApiClient, ErrorBody, TxBody } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { coinOf, spend, sweep, type TestCoin, withBadSignature } from '../lib/tx-builder.ts';

cleanUpAfterTests();

/** Coinbases of the first blocks; each test spends coins that no other test spends. */
class Purse {
  #next = 1;
  constructor(readonly chain: RegtestChain) {}
  coin(): TestCoin {
    return this.chain.coin(this.#next++);
  }
}

describe('submitting transactions', () => {
  const chain = recentChain(160);
  const purse = new Purse(chain);
  let node: NodeProcess;
  let api: ApiClient;
  beforeAll(async () => {
    node = await nodeWith(chain);
    api = node.api;
  });

  test('the same transaction is answered the same way before, in and after a block, and when it is spent', async () => {
    const tx = sweep(purse.coin(), 'p2wpkh', 1410n);
    const taken = await broadcast(api, tx);
    expect(taken).toEqual({
      txid: idOf(tx),
      wtxid: taken.wtxid,
      status: 'accepted',
      vsize: 110,
      fee: 1410,
      feeRate: 12.818,
      replaced: [],
      blockHash: null,
      confirmations: 0,
      relayedTo: 0,
    });
    expect(await broadcast(api, tx)).toEqual({ ...taken, status: 'already_in_mempool' });
    // Three forms of the same request.
    for (const [body, type] of [
      [hexOf(tx), 'text/plain'],
      [transactionBytes(tx), 'application/octet-stream'],
      [JSON.stringify({ rawtx: hexOf(tx) }), 'application/json'],
    ] as const) {
      const reply = await api.request<BroadcastBody>('/api/tx', {
        method: 'POST',
        body,
        headers: { 'content-type': type },
      });
      expect([reply.status, reply.body.status]).toEqual([200, 'already_in_mempool']);
    }
    const block = await mine(api, chain, [tx]);
    const confirmed = { ...taken, status: 'already_confirmed', blockHash: hashToHex(block.hash) };
    expect(await broadcast(api, tx)).toEqual({ ...confirmed, confirmations: 1 });
    await mine(api, chain, [sweep(coinOf(tx, 0), 'p2tr')]);
    expect(await broadcast(api, tx)).toEqual({ ...confirmed, confirmations: 2 });
    // JSON-RPC reports the block that the transaction is in.
    const { body } = await api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'sendrawtransaction', params: [hexOf(tx)] });
    expect(body).toMatchObject({ error: { code: -27, message: 'Transaction outputs already in utxo set' } });
  });

  test('a rejection names its reason, and whether to try again', async () => {
    const coin = purse.coin();
    const parent = sweep(purse.coin(), 'p2wpkh');
    const orphan = sweep(coinOf(parent, 0), 'p2wpkh');
    const young = chain.coin(chain.height - 5);
    const cases = [
      [sweep(coin, 'p2wpkh', 5n), 'min relay fee not met', 'fee', false],
      [spend(coin, [{ to: 'p2wpkh', value: 100n }]), 'dust', 'policy', false],
      [sweep(coin, Uint8Array.of(0x51, 0x51), 1000n), 'scriptpubkey', 'policy', false],
      [sweep(coin, 'p2wpkh', 1000n, { version: 9 }), 'version', 'policy', false],
      [sweep(coin, 'p2wpkh', 1000n, { locktime: chain.height + 5, sequence: 1 }), 'non-final', 'premature', true],
      [sweep(coin, 'p2wpkh', 1000n, { sequence: chain.height + 50 }), 'non-BIP68-final', 'premature', true],
      [sweep(young, 'p2wpkh'), 'bad-txns-premature-spend-of-coinbase', 'premature', true],
      [sweep(coin, 'p2wpkh', -1n), 'bad-txns-in-belowout', 'consensus', false],
      [orphan, 'bad-txns-inputs-missingorspent', 'missing-inputs', true],
    ] as const;
    for (const [tx, reason, rejectClass, retryable] of cases) {
      const details = await refused(api, tx);
      expect(details).toMatchObject({ reason, class: rejectClass, retryable, txid: idOf(tx), conflicts: [] });
      if (rejectClass === 'missing-inputs') expect(details.missingInputs).toEqual([{ txid: idOf(parent), vout: 0 }]);
      else expect(details.missingInputs).toEqual([]);
    }
    const bad = await refused(api, withBadSignature(sweep(coin, 'p2wpkh')));
    expect(bad).toMatchObject({ class: 'script', retryable: false });
    expect(bad.reason).toStartWith('mempool-script-verify-flag-failed (');
    // A transaction that was rejected for a missing parent is accepted once the parent is there.
    await broadcast(api, parent);
    expect((await broadcast(api, orphan)).status).toBe('accepted');
  });

  test('an absurd fee or a burnt output is refused until the caller confirms it', async () => {
    const coin = purse.coin();
    const dear = sweep(coin, 'p2wpkh', 2_000_000n);
    expect(await refused(api, dear)).toMatchObject({ reason: 'max-fee-exceeded', class: 'fee', retryable: false });
    const burn = spend(purse.coin(), [
      { to: Uint8Array.of(0x6a, 1, 7), value: 5000n },
      { to: 'p2wpkh', value: 40_0000_0000n },
    ]);
    expect(await refused(api, burn, { maxFeeRate: 0 })).toMatchObject({ reason: 'max-burn-exceeded', class: 'fee' });
    const meant = await post<BroadcastBody>(api, '/api/tx', { tx: hexOf(burn), maxFeeRate: 0, maxBurn: 5000 });
    expect([meant.status, meant.body.status]).toEqual([200, 'accepted']);
    expect((await post(api, '/api/tx', { tx: hexOf(dear), maxFeeRate: 0 })).status).toBe(200);
    for (const [tx, params, message] of [
      [
        sweep(purse.coin(), 'p2wpkh', 2_000_000n),
        [],
        'Fee exceeds maximum configured by user (e.g. -maxtxfee, maxfeerate)',
      ],
      [
        spend(purse.coin(), [{ to: Uint8Array.of(0x6a), value: 10_0000_0000n }]),
        [0],
        'Unspendable output exceeds maximum configured by user (maxburnamount)',
      ],
    ] as const) {
      const call = { jsonrpc: '2.0', id: 1, method: 'sendrawtransaction', params: [hexOf(tx), ...params] };
      expect((await api.rpcBody(call)).body).toMatchObject({ error: { code: -25, message } });
    }
  });

  test('a JSON-RPC batch submits in order: each transaction may spend the one before, and later calls see them all', async () => {
    const chainOf = (length: number) => {
      const txs = [sweep(purse.coin(), 'p2wpkh', 1000n)];
      while (txs.length < length) txs.push(sweep(coinOf(txs.at(-1)!, 0), 'p2wpkh', 1000n));
      return txs;
    };
    const [first, second] = [chainOf(24), chainOf(24)];
    const bad = withBadSignature(sweep(purse.coin(), 'p2wpkh', 1000n));
    const submit = (tx: Parameters<typeof hexOf>[0]) => ({ method: 'sendrawtransaction', params: [hexOf(tx)] });
    const entry = (tx: Parameters<typeof hexOf>[0]) => ({ method: 'getmempoolentry', params: [idOf(tx)] });
    const calls = [
      ...first.map(submit),
      entry(first.at(-1)!),
      submit(bad),
      entry(second[0]!),
      ...second.map(submit),
      submit(second[0]!),
      entry(second.at(-1)!),
    ];
    const { body } = await api.rpcBody(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })));
    const replies = body as unknown as { id: number; result?: unknown; error?: { code: number } }[];
    expect(replies.map(({ id }) => id)).toEqual(calls.map((_, id) => id));
    expect(replies.slice(0, 24).map(({ result }) => result)).toEqual(first.map(idOf));
    expect(replies[24]).toMatchObject({ result: { ancestorcount: 24 } });
    expect([replies[25]?.error?.code, replies[26]?.error?.code]).toEqual([-26, -5]);
    expect(replies.slice(27, 51).map(({ result }) => result)).toEqual(second.map(idOf));
    expect(replies[51]).toMatchObject({ result: idOf(second[0]!) });
    expect(replies[52]).toMatchObject({ result: { ancestorcount: 24 } });
  });

  test('a replacement names the transactions that it replaced, and those that it paid too little for', async () => {
    const coin = purse.coin();
    const first = sweep(coin, 'p2wpkh', 1000n);
    const child = sweep(coinOf(first, 0), 'p2wpkh', 1000n);
    await broadcast(api, first);
    await broadcast(api, child);
    const poor = sweep(coin, 'p2tr', 1500n);
    expect(await refused(api, poor)).toMatchObject({
      reason: 'insufficient fee',
      class: 'conflict',
      retryable: false,
      conflicts: [idOf(first)],
    });
    const rich = sweep(coin, 'p2tr', 9000n);
    const { replaced } = await broadcast(api, rich);
    expect([...replaced].sort()).toEqual([idOf(first), idOf(child)].sort());
    const gone = await api.request<ErrorBody>(`/api/tx/${idOf(first)}`);
    expect([gone.status, gone.body.error.details]).toEqual([404, { replacedBy: idOf(rich) }]);
    const tx = await api.json<TxBody & { mempool: { replaces: string[] } }>(`/api/tx/${idOf(rich)}`);
    expect([...tx.mempool.replaces].sort()).toEqual([...replaced].sort());
  });

  test('a test submission changes nothing', async () => {
    const [a, b] = [sweep(purse.coin(), 'p2wpkh'), sweep(purse.coin(), 'p2wpkh', 1n)];
    const { body } = await post<object[]>(api, '/api/tx/test', { txs: [hexOf(a)] });
    expect(body).toEqual([
      expect.objectContaining({ txid: idOf(a), allowed: true, vsize: 110, fee: 1000, feeRate: 9.091, reason: null }),
    ]);
    const refusal = await post<object[]>(api, '/api/tx/test', { txs: [hexOf(b)] });
    expect(refusal.body).toEqual([
      expect.objectContaining({ allowed: false, reason: 'min relay fee not met', class: 'fee', fee: null }),
    ]);
    const missing = sweep(coinOf(b, 0), 'p2wpkh');
    expect(await api.rpc<object[]>('testmempoolaccept', [[hexOf(missing)]])).toEqual([
      { txid: idOf(missing), wtxid: expect.any(String), allowed: false, 'reject-reason': 'missing-inputs' },
    ]);
    expect((await api.request(`/api/tx/${idOf(a)}`)).status).toBe(404);
    const together = await post<{ allowed: boolean | null }[]>(api, '/api/tx/test', {
      txs: [hexOf(a), hexOf(sweep(coinOf(a, 0), 'p2wpkh'))],
    });
    expect(together.body.map(({ allowed }) => allowed)).toEqual([true, true]);
  });

  test('a child pays for its parent', async () => {
    const parent = sweep(purse.coin(), 'p2wpkh', 0n, { version: 3 });
    const child = sweep(coinOf(parent, 0), 'p2wpkh', 4000n, { version: 3 });
    expect(await refused(api, parent)).toMatchObject({ reason: 'min relay fee not met' });
    const { body } = await post<{ packageMessage: string; results: Record<string, object>; replaced: string[] }>(
      api,
      '/api/txs/package',
      { txs: [hexOf(parent), hexOf(child)] },
    );
    expect([body.packageMessage, body.replaced]).toEqual(['success', []]);
    const effectiveFeeRate = Math.round((4000 / 220) * 1000) / 1000;
    expect(Object.values(body.results)).toEqual([
      expect.objectContaining({ txid: idOf(parent), status: 'accepted', fee: 0, effectiveFeeRate }),
      expect.objectContaining({ txid: idOf(child), status: 'accepted', fee: 4000, effectiveFeeRate }),
    ]);
    const again = await api.rpc<{ package_msg: string; 'tx-results': object }>('submitpackage', [
      [hexOf(parent), hexOf(child)],
    ]);
    expect(again.package_msg).toBe('success');
    const tx = await api.json<{ mempool: object }>(`/api/tx/${idOf(parent)}`);
    expect(tx.mempool).toMatchObject({ ancestorCount: 1, descendantCount: 2, effectiveFeeRate, unbroadcast: true });
  });

  test('the mempool is restored after a restart, and after a crash as far as it was saved', async () => {
    const tx = sweep(purse.coin(), 'p2tr', 2222n);
    await broadcast(api, tx);
    expect(await api.rpc<{ filename: string }>('savemempool')).toEqual({
      filename: `${node.networkDir}/node.db`,
    });
    const before = await api.rpc<string[]>('getrawmempool');
    const { datadir } = node;
    await node.stop('SIGKILL');
    node = await startNode({ datadir });
    api = node.api;
    await mempoolLoaded(node);
    expect((await api.rpc<string[]>('getrawmempool')).sort()).toEqual([...before].sort());
    const late = sweep(purse.coin(), 'p2tr', 2222n);
    await broadcast(api, late);
    await node.stop('SIGTERM');
    node = await startNode({ datadir });
    api = node.api;
    await mempoolLoaded(node);
    expect((await api.rpc<string[]>('getrawmempool')).sort()).toEqual([...before, idOf(late)].sort());
  });
});
