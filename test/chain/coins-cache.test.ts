import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { CoinsCache } from '../../src/chain/coins-cache.ts';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { type CoinRow, type CoinStore, coinKey, coinRow } from '../../src/storage/coin-store.ts';
import type { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { COINS } from '../../src/storage/runs/run-family.ts';
import { entriesOf, runOf } from '../lib/run-entries.ts';

/** The coins of the database, by key in hex. */
class FakeStore {
  readonly family = COINS;
  readonly rows = new Map<string, CoinRow>();
  lookups = 0;

  row(key: Uint8Array): CoinRow | null {
    this.lookups++;
    return this.rows.get(key.toHex()) ?? null;
  }

  /** Each second row has to be read from the disk. */
  rowIfCached(key: Uint8Array): CoinRow | 'pending' | null {
    return this.lookups % 2 === 0 ? this.row(key) : 'pending';
  }

  hasAnyOf(txid: Uint8Array, outputs: number): boolean {
    return Array.from({ length: outputs }, (_, vout) => coinKey({ txid: txid as Txid, vout }).toHex()).some((key) =>
      this.rows.has(key),
    );
  }
}

/** A coin whose row differs from the database: whether the database holds one, and the new row. */
interface CoinChange {
  stored: boolean;
  row: CoinRow | null;
}

/** The changes of a batch, by key in hex. An outpoint has at most one removal and one addition, in this order. */
function changesOf(batch: RunBatch): Map<string, CoinChange> {
  const entries = entriesOf(runOf(batch));
  expect(entries).toHaveLength(batch.count);
  const changes = new Map<string, CoinChange>();
  for (const { key, removed, value } of entries) {
    const known = changes.get(key.toHex());
    if (known === undefined) {
      changes.set(key.toHex(), { stored: removed, row: removed ? null : coinRow(value, 0, value.length) });
      continue;
    }
    expect([known.stored, known.row, removed]).toEqual([true, null, false]);
    known.row = coinRow(value, 0, value.length);
  }
  return changes;
}

const TXIDS = 5;
const VOUTS = 3;

function txidOf(n: number): Uint8Array {
  const txid = new Uint8Array(32);
  // All keys with the same output index share a slot of the table.
  new DataView(txid.buffer).setUint32(28, n);
  return txid;
}

function keyOf(n: number, vout: number): string {
  return txidOf(n).toHex() + vout.toString(16).padStart(8, '0');
}

const hashes: Uint8Array[] = [];

/** Spread evenly, as real txids are. */
function hashOf(n: number): Uint8Array {
  return (hashes[n] ??= sha256(new TextEncoder().encode(String(n))));
}

/** The value of a coin follows from its outpoint. */
const worthOf = (n: number, vout: number) => n * 1000 + vout;
const scriptOf = (n: number, vout: number) => new Uint8Array((n * 7 + vout * 3) % 40).fill(n + vout);

type Op =
  | { do: 'find' | 'spend'; n: number; vout: number }
  | { do: 'add' | 'restore'; n: number; vout: number; position: number }
  | { do: 'hasAnyOf' | 'load'; n: number }
  | { do: 'seal' | 'written' | 'reset' };

const n = fc.nat(TXIDS - 1);
const vout = fc.nat(VOUTS - 1);
const position = fc.integer({ min: 1, max: 4 });
const op: fc.Arbitrary<Op> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constantFrom('find' as const), n, vout }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constantFrom('spend' as const), n, vout }) },
  { weight: 20, arbitrary: fc.record({ do: fc.constantFrom('add' as const, 'restore' as const), n, vout, position }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('hasAnyOf' as const), n }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom('load' as const), n }) },
  { weight: 10, arbitrary: fc.record({ do: fc.constantFrom('seal' as const, 'written' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('reset' as const) }) },
);

/** Applies the operations to the cache and to plain maps, and compares the observable state. */
function run(ops: readonly Op[], limitBytes: number, stored: readonly [number, number, number][]): void {
  const store = new FakeStore();
  for (const [i, out, at] of stored)
    store.rows.set(keyOf(i, out), { position: at, value: worthOf(i, out), script: scriptOf(i, out) });
  const cache = new CoinsCache(store as unknown as CoinStore, { limitBytes, databaseEmpty: store.rows.size === 0 });
  /** Positions of the unspent coins: now, and at the last seal. */
  let now = new Map([...store.rows].map(([key, row]) => [key, row.position]));
  let sealed: Map<string, number> | null = null;
  let written = new Map(now);

  const step = (o: Op): void => {
    switch (o.do) {
      case 'find':
      case 'spend': {
        const slot = cache.findSlot(txidOf(o.n), o.vout);
        const expected = now.get(keyOf(o.n, o.vout));
        expect(slot >= 0).toBe(expected !== undefined);
        if (expected === undefined) return;
        const coin = cache.coinAt(slot);
        expect([coin.position, Number(coin.output.value)]).toEqual([expected, worthOf(o.n, o.vout)]);
        expect(coin.output.scriptPubKey.toHex()).toBe(scriptOf(o.n, o.vout).toHex());
        if (o.do === 'find') return;
        cache.spendCoin(slot);
        now.delete(keyOf(o.n, o.vout));
        return;
      }
      case 'add':
        // `addCoin` requires that an existing coin was looked up first; `restoreCoin` does that.
        if (now.has(keyOf(o.n, o.vout))) return;
        cache.addCoin(txidOf(o.n), o.vout, o.position, worthOf(o.n, o.vout), scriptOf(o.n, o.vout));
        now.set(keyOf(o.n, o.vout), o.position);
        return;
      case 'restore':
        cache.restoreCoin(txidOf(o.n), o.vout, o.position, worthOf(o.n, o.vout), scriptOf(o.n, o.vout));
        now.set(keyOf(o.n, o.vout), o.position);
        return;
      case 'hasAnyOf': {
        const expected = [...Array(VOUTS).keys()].some((out) => now.has(keyOf(o.n, out)));
        expect(cache.hasAnyOf(txidOf(o.n), VOUTS)).toBe(expected);
        return;
      }
      case 'load': {
        // The outpoints of the transaction, one of them twice, as an input has them.
        const outpoints = new Uint8Array((VOUTS + 1) * 36);
        for (let i = 0; i <= VOUTS; i++) {
          outpoints.set(txidOf(o.n), i * 36);
          outpoints[i * 36 + 32] = i % VOUTS;
        }
        cache.loadCoins(
          outpoints,
          Uint32Array.from({ length: VOUTS + 1 }, (_, i) => i * 36),
        );
        return;
      }
      case 'seal': {
        if (sealed) return;
        const seen = changesOf(cache.sealChanges());
        for (const [key, { stored: removed, row }] of seen) {
          expect(row?.position ?? null).toBe(now.get(key) ?? null);
          expect(removed).toBe(written.has(key));
          if (row === null) continue;
          const index = Number.parseInt(key.slice(56, 64), 16);
          const out = Number.parseInt(key.slice(64), 16);
          expect([row.value, row.script.toHex()]).toEqual([worthOf(index, out), scriptOf(index, out).toHex()]);
        }
        const all = new Set([...now.keys(), ...written.keys()]);
        for (const key of all) expect(seen.has(key)).toBe(now.get(key) !== written.get(key));
        sealed = new Map(now);
        return;
      }
      case 'written': {
        if (!sealed) return;
        store.rows.clear();
        for (const [key, at] of sealed) {
          const index = Number.parseInt(key.slice(56, 64), 16);
          const out = Number.parseInt(key.slice(64), 16);
          store.rows.set(key, { position: at, value: worthOf(index, out), script: scriptOf(index, out) });
        }
        written = sealed;
        sealed = null;
        cache.releaseSealed();
        return;
      }
      case 'reset':
        cache.reset();
        sealed = null;
        now = new Map(written);
    }
  };
  for (const o of ops) step(o);
  for (const o of [{ do: 'written' }, { do: 'seal' }, { do: 'written' }] as const) step(o);
  for (let i = 0; i < TXIDS; i++) for (let out = 0; out < VOUTS; out++) step({ do: 'find', n: i, vout: out });
}

describe('the coins cache', () => {
  const stored = fc.uniqueArray(fc.tuple(n, vout, position), { maxLength: 8, selector: ([i, out]) => i * VOUTS + out });

  test('equals a plain map when it is emptied at each commit', () => {
    fc.assert(
      fc.property(fc.array(op, { maxLength: 80 }), stored, (ops, rows) => run(ops, 1, rows)),
      { numRuns: 150 },
    );
  });

  test('equals a plain map when it is never emptied', () => {
    fc.assert(
      fc.property(fc.array(op, { maxLength: 80 }), stored, (ops, rows) => run(ops, 2 ** 30, rows)),
      { numRuns: 150 },
    );
  });

  test('reports no change for a coin that is created and spent between two commits', () => {
    const cache = new CoinsCache(new FakeStore() as unknown as CoinStore, { limitBytes: 1, databaseEmpty: true });
    cache.addCoin(txidOf(1), 0, 5, 1, new Uint8Array(3));
    cache.spendCoin(cache.findSlot(txidOf(1), 0));
    expect(cache.sealChanges().count).toBe(0);
  });

  test('does not read an empty database until it was emptied itself', () => {
    const store = new FakeStore();
    const cache = new CoinsCache(store as unknown as CoinStore, { limitBytes: 1, databaseEmpty: true });
    expect(cache.findSlot(txidOf(1), 0)).toBe(-1);
    cache.addCoin(txidOf(2), 0, 5, 1, new Uint8Array(3));
    expect(store.lookups).toBe(0);
    cache.sealChanges();
    store.rows.set(keyOf(2, 0), { position: 5, value: 1, script: new Uint8Array(3) });
    cache.releaseSealed();
    expect(cache.findSlot(txidOf(2), 0)).toBeGreaterThanOrEqual(0);
    expect(store.lookups).toBe(1);
  });

  // The table grows beyond 45,000 coins; this many lead to collision chains of every length.
  test('finds each of a hundred thousand coins and no others', () => {
    const store = new FakeStore();
    const cache = new CoinsCache(store as unknown as CoinStore, { limitBytes: 2 ** 30, databaseEmpty: true });
    const count = 100_000;
    for (let i = 0; i < count; i++) cache.addCoin(hashOf(i), i % 4, i + 1, i, new Uint8Array(1).fill(i));
    for (let i = 0; i < count; i += 3) cache.spendCoin(cache.findSlot(hashOf(i), i % 4));
    let wrong = 0;
    for (let i = 0; i < count; i++) {
      const slot = cache.findSlot(hashOf(i), i % 4);
      if (slot >= 0 !== i % 3 > 0) wrong++;
      else if (slot >= 0) {
        const { position: at, output } = cache.coinAt(slot);
        if (at !== i + 1 || output.value !== BigInt(i) || output.scriptPubKey[0] !== (i & 0xff)) wrong++;
      }
      if (cache.findSlot(hashOf(i), (i + 1) % 4) >= 0) wrong++;
    }
    expect(wrong).toBe(0);
    const changes = changesOf(cache.sealChanges());
    expect(changes.size).toBe(count - Math.ceil(count / 3));
    // Two thirds of the coins are spent while the sealed changes are committed; then more arrive than the table has
    // room for.
    for (let i = 0; i < count; i++) if (i % 3 === 1) cache.spendCoin(cache.findSlot(hashOf(i), i % 4));
    for (let i = count; i < count * 2; i++) cache.addCoin(hashOf(i), 0, i, i, new Uint8Array(0));
    for (let i = 0; i < count; i++) if (cache.findSlot(hashOf(i), i % 4) >= 0 !== (i % 3 === 2)) wrong++;
    expect(wrong).toBe(0);
    for (const [key, { row }] of changes) store.rows.set(key, row!);
    cache.releaseSealed();
    const gone = [...changesOf(cache.sealChanges()).values()].filter(({ row }) => row === null);
    expect(gone).toHaveLength(Math.ceil((count - 1) / 3));
    expect(gone.every(({ stored }) => stored)).toBe(true);
  });

  // The database holds the coin until the commit, so the table must keep its spent state.
  test('keeps a coin spent when the table grows before the sealed changes are committed', () => {
    const store = new FakeStore();
    const row = { position: 5, value: 1, script: new Uint8Array(3) };
    store.rows.set(keyOf(1, 0), row);
    const cache = new CoinsCache(store as unknown as CoinStore, { limitBytes: 2 ** 30, databaseEmpty: false });
    cache.spendCoin(cache.findSlot(txidOf(1), 0));
    expect(changesOf(cache.sealChanges()).size).toBe(1);
    for (let i = 0; i < 60_000; i++) cache.addCoin(hashOf(i), 0, i, i, row.script);
    expect(cache.findSlot(txidOf(1), 0)).toBe(-1);
    store.rows.clear();
    cache.releaseSealed();
    expect(cache.findSlot(txidOf(1), 0)).toBe(-1);
  });
});
