import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { MempoolRelay } from '../../src/mempool/relay.ts';
import { MempoolService } from '../../src/mempool/service.ts';
import { ValidationQueue } from '../../src/mempool/validation-queue.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import { FeeStore } from '../../src/storage/fee-store.ts';
import { MempoolStore } from '../../src/storage/mempool-store.ts';
import { openNodeDatabase } from '../../src/storage/node-database.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { silentLog, TestNode } from '../lib/chain-fixture.ts';
import { DEFAULT_RELAY_OPTIONS } from '../lib/default-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { parsed, TestMempool } from '../lib/mempool-fixture.ts';
import { coinOf, sweep, withBadSignature } from '../lib/tx-builder.ts';

const relayOf = (pool: TestMempool) =>
  new MempoolRelay({ ...pool, settled: (work) => pool.node.chain.whenSettled(work), clock: pool.node.clock });
const idOf = (tx: Transaction) => hashToHex(parsed(tx).txid);

describe('MempoolRelay', () => {
  const chain = chainWithCoins(8, 'p2wpkh');
  const pays = (n: number, fee: bigint) => sweep(chain.coin(n), 'p2wpkh', fee);

  test('transactions of peers are validated in order of arrival, each with its own result', async () => {
    await using pool = await TestMempool.on(chain);
    const relay = relayOf(pool);
    const [first, bad, poor] = [pays(1, 1000n), withBadSignature(pays(2, 1000n)), pays(3, 0n)];
    const child = sweep(coinOf(first, 0), 'p2wpkh', 2000n);
    const results = await Promise.all(
      [child, first, child, bad, poor, first].map((tx) => relay.acceptTransaction(parsed(tx))),
    );
    expect(results.map((result) => (result?.status === 'rejected' ? result.rejection.kind : result?.status))).toEqual([
      'missing-inputs',
      'accepted',
      'accepted',
      'script',
      'fee',
      'conflict',
    ]);
    expect(pool.mempool.unbroadcast.size).toBe(0);
    const cpfp = sweep(coinOf(poor, 0), 'p2wpkh', 3000n);
    const together = await relay.acceptPackage([parsed(poor), parsed(cpfp)]);
    expect(together!.rejection).toBeNull();
    expect([...together!.results.values()].map(({ status }) => status)).toEqual(['accepted', 'accepted']);
  });

  test('transactions are found by txid and by wtxid', async () => {
    await using pool = await TestMempool.on(chain);
    const relay = relayOf(pool);
    const tx = parsed(pays(1, 1100n));
    expect([relay.hasTxid(tx.txid), relay.transaction(tx.wtxid, 'wtxid')]).toEqual([false, null]);
    const sequence = relay.nextSequence;
    await relay.acceptTransaction(tx);
    const facts = {
      txid: tx.txid,
      wtxid: tx.wtxid,
      fee: 1100,
      vsize: 110,
      size: tx.raw.length,
      enteredAt: Math.floor(pool.node.clock.nowMs() / 1000),
      sequence,
    };
    expect(relay.transaction(tx.wtxid, 'wtxid')).toEqual({ ...facts, raw: tx.raw });
    expect(relay.transaction(tx.txid, 'txid')).toEqual({ ...facts, raw: tx.raw });
    expect([relay.transaction(tx.txid, 'wtxid'), relay.transaction(tx.wtxid, 'txid')]).toEqual([null, null]);
    expect([
      relay.hasTxid(tx.txid),
      relay.hasTxid(tx.wtxid),
      relay.hasWtxid(tx.wtxid),
      relay.hasWtxid(tx.txid),
    ]).toEqual([true, false, true, false]);
    expect([...relay.transactions()]).toEqual([facts]);
    expect([...relay.candidates()]).toEqual([{ wtxid: tx.wtxid, raw: tx.raw }]);
    expect(relay.nextSequence).toBe(sequence + 1);
  });

  test('the announcement order has parents first, then higher feerates', async () => {
    await using pool = await TestMempool.on(chain);
    const relay = relayOf(pool);
    const parent = pays(1, 200n);
    const child = sweep(coinOf(parent, 0), 'p2wpkh', 5000n);
    const late = sweep(coinOf(child, 0), 'p2wpkh', 100n);
    const [high, low] = [pays(2, 9000n), pays(3, 1000n)];
    for (const tx of [low, parent, child, late, high]) await relay.acceptTransaction(parsed(tx));
    const wtxids = [late, child, low, high, parent].map((tx) => parsed(tx).wtxid);
    expect(relay.inAnnouncementOrder(wtxids, 'wtxid').map(({ txid }) => hashToHex(txid))).toEqual(
      [high, parent, child, low, late].map(idOf),
    );
    const txids = [low, high].map((tx) => parsed(tx).txid);
    expect(relay.inAnnouncementOrder(txids, 'txid').map(({ txid }) => hashToHex(txid))).toEqual([high, low].map(idOf));
    // Removed transactions are omitted.
    expect(relay.inAnnouncementOrder([parsed(pays(4, 1n)).wtxid, wtxids[2]!], 'wtxid')).toHaveLength(1);
  });
});

describe('validation queue', () => {
  const clock = new ManualClock(0);
  const settled = async <T>(work: () => T): Promise<T> => work();

  test('a slice runs as many validations as its time allows and leaves the rest', async () => {
    let turns = 0;
    const relay = new ValidationQueue({
      settled: async (work) => {
        turns++;
        return work();
      },
      clock,
    });
    const slow = (i: number) => () => {
      clock.advance(4);
      return i;
    };
    const results = Promise.all(Array.from({ length: 20 }, (_, i) => relay.enqueue(1, slow(i))));
    expect(relay.waiting).toBe(20);
    expect(await results).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect([turns, relay.waiting]).toEqual([7, 0]);
  });

  test('the queue refuses validations above its limits', async () => {
    const relay = new ValidationQueue({ settled, clock }, { count: 3, bytes: 100 });
    const add = (bytes: number) => relay.enqueue(bytes, () => bytes);
    expect(await Promise.all([add(60), add(50), add(40), add(0), add(0)])).toEqual([60, null, 40, 0, null]);
    expect(await add(100)).toBe(100);
    // The loop has ended and starts again.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(await add(1)).toBe(1);
  });

  test('a failed validation rejects alone, and a stopped chain rejects all', async () => {
    const relay = new ValidationQueue({ settled, clock });
    const bad = relay.enqueue(1, () => {
      throw new Error('ours');
    });
    const good = relay.enqueue(1, () => 1);
    expect(bad).rejects.toThrow('ours');
    expect(await good).toBe(1);
    const over = new ValidationQueue({ settled: () => Promise.reject(new Error('over')), clock });
    const waiting = [over.enqueue(1, () => 1), over.enqueue(1, () => 2)];
    for (const result of await Promise.allSettled(waiting)) expect(result.status).toBe('rejected');
    expect(over.waiting).toBe(0);
  });
});

/** A mempool service on a chain with coins, whose readers apply `backpressure`. */
async function serviceUnder(backpressure: () => Promise<void> | null, coins: number) {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-relay-'));
  const chain = chainWithCoins(coins, 'p2wpkh');
  const node = new TestNode({ params: chain.params });
  await node.take(chain.blocks.slice(1));
  const db = openNodeDatabase(join(dir, 'node.db'), { network: 'regtest', genesisHash: '00'.repeat(32) });
  const service = new MempoolService(DEFAULT_RELAY_OPTIONS, {
    chain: node.chain,
    engine: signatureEngine(),
    store: new MempoolStore(db),
    fees: new FeeStore(db),
    anyTip: true,
    clock: node.clock,
    log: silentLog,
    emit: () => {},
    backpressure,
  });
  return {
    chain,
    service,
    async [Symbol.asyncDispose]() {
      service.close();
      db.close();
      rmSync(dir, { recursive: true, force: true });
      await node[Symbol.asyncDispose]();
    },
  };
}

test('a submitted transaction is accepted after a second while a reader hangs', async () => {
  await using it = await serviceUnder(() => new Promise(() => {}), 1);
  const raw = transactionBytes(sweep(it.chain.coin(1), 'p2wpkh', 1000n));
  const limits = { maxFeerate: null, maxBurn: 0 };
  expect(await it.service.submissions.broadcast(raw, limits)).toMatchObject({ status: 'accepted' });
  expect(it.service.mempool.entries.count).toBe(1);
});

test('a submitted transaction waits for slow readers, is announced and stays unbroadcast until a peer requests it', async () => {
  let room: Promise<void> | null = null;
  await using it = await serviceUnder(() => room, 2);
  const { chain, service } = it;
  const { relay } = service;
  const tx = sweep(chain.coin(1), 'p2wpkh', 1000n);
  const announced: string[] = [];
  relay.setAnnouncer(({ txid }) => announced.push(hashToHex(txid)));
  const hand = () => service.submissions.broadcast(transactionBytes(tx), { maxFeerate: null, maxBurn: 0 });
  const slow = Promise.withResolvers<void>();
  room = slow.promise;
  const waiting = hand();
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
  expect(service.mempool.entries.count).toBe(0);
  room = null;
  slow.resolve();
  expect(await waiting).toMatchObject({ status: 'accepted', relayedTo: 1 });
  expect(await hand()).toMatchObject({ status: 'in-mempool', relayedTo: 2 });
  expect(announced).toEqual([idOf(tx), idOf(tx)]);
  expect(relay.unbroadcast().map(({ txid }) => hashToHex(txid))).toEqual([idOf(tx)]);
  await relay.acceptTransaction(parsed(sweep(chain.coin(2), 'p2wpkh', 1000n)));
  expect(relay.unbroadcast()).toHaveLength(1);
  relay.markRequested(parsed(tx).txid);
  expect(relay.unbroadcast()).toEqual([]);
});
