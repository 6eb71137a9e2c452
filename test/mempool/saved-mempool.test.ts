import type { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SavedMempool } from '../../src/mempool/saved-mempool.ts';
import { hashToHex, type Txid } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { MempoolStore } from '../../src/storage/mempool-store.ts';
import { openNodeDatabase } from '../../src/storage/node-database.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { parsed, TestMempool } from '../lib/mempool-fixture.ts';
import { coinOf, sweep } from '../lib/tx-builder.ts';

const IDENTITY = { network: 'regtest', genesisHash: '00'.repeat(32) };
const never = new AbortController().signal;

function withDirectory<T>(run: (path: string) => Promise<T>): Promise<T> {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-saved-'));
  return run(join(dir, 'node.db')).finally(() => rmSync(dir, { recursive: true, force: true }));
}

test('a restored mempool lacks only what was mined, expired or replaced meanwhile', () =>
  withDirectory(async (path) => {
    const chain = chainWithCoins(6, 'p2wpkh');
    const tx = (n: number, fee: bigint) => sweep(chain.coin(n), 'p2wpkh', fee);
    const [old, parent, mined, free, local] = [tx(1, 1000n), tx(2, 1000n), tx(3, 1000n), tx(4, 0n), tx(5, 900n)];
    const child = sweep(coinOf(parent, 0), 'p2wpkh', 1000n);
    {
      await using pool = await TestMempool.on(chain);
      const db = openNodeDatabase(path, IDENTITY);
      const saved = new SavedMempool(new MempoolStore(db));
      const put = async (one: typeof old, options = {}) => {
        expect((await pool.accept(one, options)).status).toBe('accepted');
        saved.recordChange(parsed(one).txid);
      };
      await put(old, { time: Math.floor(pool.node.clock.nowMs() / 1000) - 335 * 3600 });
      pool.mempool.prioritise(parsed(free).txid, 700);
      for (const one of [parent, mined, child, free]) await put(one);
      await put(local, { local: true });
      saved.saveNow(pool.mempool);
      // The second save writes only the changes.
      pool.mempool.removeRecursive([pool.mempool.entries.find(parsed(child).txid)], 'conflict');
      saved.recordRemoval(parsed(child).txid);
      await saved.save(pool.mempool, never);
      expect(savedIn(db)).toHaveLength(5);
      db.close();
    }
    expect(statSync(path).mode & 0o777).toBe(0o600);
    chain.mine(1, { txs: [mined] });
    await using pool = await TestMempool.on(chain);
    const db = openNodeDatabase(path, IDENTITY);
    const saved = new SavedMempool(new MempoolStore(db));
    // Two weeks after the first transaction entered.
    pool.node.clock.advance(2 * 3600 * 1000);
    expect(pool.mempool.loaded).toBe(false);
    await saved.load(pool, {
      run: (work) => pool.node.chain.whenSettled(work),
      signal: never,
      clock: pool.node.clock,
      log: silentLog,
    });
    expect(pool.mempool.loaded).toBe(true);
    expect([old, parent, mined, child, free, local].map((one) => pool.has(one))).toEqual([
      false,
      true,
      false,
      false,
      true,
      true,
    ]);
    // The expired transaction leaves with an event.
    const expired = hashToHex(parsed(old).txid);
    expect(pool.log.filter((entry) => entry.includes(expired))).toEqual([`+${expired}`, `-${expired} expiry`]);
    const { entries } = pool.mempool;
    expect(entries.modifiedFee(entries.find(parsed(free).txid))).toBe(700);
    expect(pool.mempool.isUnbroadcast(entries.find(parsed(local).txid))).toBe(true);
    await saved.save(pool.mempool, never);
    expect(savedIn(db).sort()).toEqual([parent, free, local].map((one) => hashToHex(parsed(one).txid)).sort());
    db.close();
  }));

test('a transaction received during the restore stays, also on disk, and follows the restored ones', () =>
  withDirectory(async (path) => {
    const chain = chainWithCoins(4, 'p2wpkh');
    const [first, second, other] = [1, 2, 3].map((n) => sweep(chain.coin(n), 'p2wpkh', 1000n)) as [
      Transaction,
      Transaction,
      Transaction,
    ];
    {
      await using pool = await TestMempool.on(chain);
      const db = openNodeDatabase(path, IDENTITY);
      const saved = new SavedMempool(new MempoolStore(db));
      for (const one of [first, second]) {
        await pool.accept(one);
        saved.recordChange(parsed(one).txid);
      }
      await saved.save(pool.mempool, never);
      db.close();
    }
    await using pool = await TestMempool.on(chain);
    const db = openNodeDatabase(path, IDENTITY);
    const saved = new SavedMempool(new MempoolStore(db));
    let peer: Promise<unknown> | null = null;
    const bring = async () => {
      for (const one of [other, second]) {
        await pool.accept(one);
        saved.recordChange(parsed(one).txid);
      }
    };
    const loading = saved.load(pool, {
      run: async (work) => {
        await (peer ??= bring());
        return pool.node.chain.whenSettled(work);
      },
      signal: never,
      clock: pool.node.clock,
      log: silentLog,
    });
    await loading;
    const { entries } = pool.mempool;
    const order = (tx: Transaction) => entries.order(entries.find(parsed(tx).txid));
    expect([first, second, other].map((one) => pool.has(one))).toEqual([true, true, true]);
    expect(order(other)).toBeGreaterThan(order(first));
    await saved.save(pool.mempool, never);
    expect(savedIn(db).sort()).toEqual([first, second, other].map((one) => hashToHex(parsed(one).txid)).sort());
    db.close();
  }));

/** Returns txids in display order, by arrival. */
function savedIn(db: Database): string[] {
  const store = new MempoolStore(db);
  const { txids } = store.saved();
  return Array.from({ length: txids.length / 32 }, (_, i) => {
    const { txid } = store.get(txids.subarray(i * 32, (i + 1) * 32))!;
    return hashToHex(txid as Txid);
  });
}

test('transactions of a disconnected block are restored before their children', () =>
  withDirectory(async (path) => {
    const chain = chainWithCoins(3, 'p2wpkh');
    const fork = chain.fork();
    const grandparent = sweep(chain.coin(1), 'p2wpkh');
    const parent = sweep(coinOf(grandparent, 0), 'p2wpkh');
    const child = sweep(coinOf(parent, 0), 'p2wpkh');
    const all = [grandparent, parent, child];
    chain.mine(1, { txs: [grandparent] });
    chain.mine(1, { txs: [parent] });
    fork.mine(3);
    const store = new MempoolStore(openNodeDatabase(path, IDENTITY));
    {
      await using pool = await TestMempool.on(chain);
      expect((await pool.accept(child)).status).toBe('accepted');
      await pool.node.take(fork.blocks.slice(-3));
      expect(all.map((one) => pool.has(one))).toEqual([true, true, true]);
      const { entries } = pool.mempool;
      const orders = all.map((one) => entries.order(entries.find(parsed(one).txid)));
      expect(orders).toEqual(orders.toSorted((a, b) => a - b));
      expect(new Set(orders).size).toBe(3);
      const saved = new SavedMempool(store);
      for (const one of all) saved.recordChange(parsed(one).txid);
      saved.saveNow(pool.mempool);
    }
    await using pool = await TestMempool.on(fork);
    const { clock, chain: tip } = pool.node;
    await new SavedMempool(store).load(pool, {
      run: (work) => tip.whenSettled(work),
      signal: never,
      clock,
      log: silentLog,
    });
    expect(all.map((one) => pool.has(one))).toEqual([true, true, true]);
  }));

test('a database of another network is refused', () =>
  withDirectory(async (path) => {
    openNodeDatabase(path, IDENTITY).close();
    expect(() => openNodeDatabase(path, { ...IDENTITY, network: 'main' })).toThrow('belongs to network regtest');
  }));

test('entries that the next start does not restore stay unsaved until they leave the mempool', () =>
  withDirectory(async (path) => {
    const chain = chainWithCoins(3, 'p2wpkh');
    const [first, second] = [1, 2].map((n) => sweep(chain.coin(n), 'p2wpkh', 1000n)) as [Transaction, Transaction];
    await using pool = await TestMempool.on(chain);
    const db = openNodeDatabase(path, IDENTITY);
    const store = new MempoolStore(db);
    const [saved, kept] = [new SavedMempool(store, false), new SavedMempool(store, true)];
    for (const [index, one] of [first, second].entries()) {
      expect((await pool.accept(one)).status).toBe('accepted');
      for (const each of [saved, kept]) each.recordArrival(parsed(one).txid, index + 5);
    }
    expect([saved.unsavedFrom, kept.unsavedFrom]).toEqual([5, 5]);
    for (const each of [saved, kept]) await each.save(pool.mempool, never);
    expect(savedIn(db)).toHaveLength(2);
    expect([saved.unsavedFrom, kept.unsavedFrom]).toEqual([5, 0]);
    saved.recordRemoval(parsed(first).txid);
    expect(saved.unsavedFrom).toBe(6);
    saved.recordRemoval(parsed(second).txid);
    expect(saved.unsavedFrom).toBe(0);
    db.close();
  }));
