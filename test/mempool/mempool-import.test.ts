import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MempoolFile } from '../../src/mempool/mempool-file.ts';
import { importMempool, type MempoolImportOptions } from '../../src/mempool/mempool-import.ts';
import { type Transaction, transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import { ByteWriter, DecodeError } from '../../src/util/bytes.ts';
import { unixSeconds } from '../../src/util/clock.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { TestMempool } from '../lib/mempool-fixture.ts';
import { coinOf, spend, sweep, withBadSignature } from '../lib/tx-builder.ts';

interface Saved {
  readonly tx: Transaction;
  readonly time: number;
  readonly delta?: number;
}

/** Writes a mempool.dat like Core: version, key, transactions, prioritisations and unbroadcast txids. */
function mempoolFile(
  saved: readonly Saved[],
  {
    deltas = [],
    unbroadcast = [],
    key = null,
    version = key ? 2n : 1n,
  }: {
    deltas?: readonly (readonly [Transaction, number])[];
    unbroadcast?: readonly Transaction[];
    key?: Uint8Array | null;
    version?: bigint;
  } = {},
): Uint8Array {
  const w = new ByteWriter();
  w.u64(version);
  if (key) {
    w.u8(8);
    w.bytes(key);
  }
  const clear = w.length;
  w.u64(BigInt(saved.length));
  for (const { tx, time, delta = 0 } of saved) {
    w.bytes(transactionBytes(tx));
    w.i64(BigInt(time));
    w.i64(BigInt(delta));
  }
  w.u8(deltas.length);
  for (const [tx, delta] of deltas) {
    w.bytes(txidOf(tx));
    w.i64(BigInt(delta));
  }
  w.u8(unbroadcast.length);
  for (const tx of unbroadcast) w.bytes(txidOf(tx));
  const bytes = w.finish().slice();
  if (key) for (let i = clear; i < bytes.length; i++) bytes[i]! ^= key[i % 8]!;
  return bytes;
}

const ALL: MempoolImportOptions = { useCurrentTime: false, applyFeeDeltas: true, applyUnbroadcast: true };
const NONE: MempoolImportOptions = { useCurrentTime: true, applyFeeDeltas: false, applyUnbroadcast: false };
const KEY = Uint8Array.of(1, 2, 3, 0xff, 0x80, 9, 0, 77);

describe('import of a mempool.dat of Bitcoin Core', () => {
  const chain = chainWithCoins(4);
  const parent = spend(
    [chain.coin(1)],
    [
      { to: 'p2tr', value: 10_0000_0000n },
      { to: 'p2wsh-anyone', value: 39_9999_0000n },
    ],
  );
  const child = sweep(coinOf(parent, 1), 'p2pkh', 5000n);
  const other = sweep(chain.coin(2), 'p2wpkh');
  const never = sweep(chain.coin(4), 'p2wpkh');

  async function imported(bytes: Uint8Array, options: MempoolImportOptions) {
    const dir = mkdtempSync(join(tmpdir(), 'obverse-mempool-'));
    const path = join(dir, 'mempool.dat');
    writeFileSync(path, bytes);
    const pool = await TestMempool.on(chain);
    const { mempool, acceptance, node } = pool;
    const signal = new AbortController().signal;
    const run = <T>(work: () => T) => node.chain.whenSettled(work);
    try {
      const counts = await importMempool(path, options, { mempool, acceptance, clock: node.clock, signal, run });
      return { pool, counts };
    } catch (error) {
      return { pool, error };
    } finally {
      rmSync(dir, { recursive: true });
    }
  }

  const now = (pool: TestMempool) => unixSeconds(pool.node.clock);

  for (const key of [null, KEY])
    test(`${key ? 'obfuscated' : 'plain'}: everything in the file is imported if requested`, async () => {
      await using probe = await TestMempool.on(chain);
      const time = now(probe) - 1000;
      const saved = [
        { tx: parent, time, delta: 700 },
        { tx: child, time: time + 1 },
        { tx: parent, time },
        { tx: withBadSignature(sweep(chain.coin(3), 'p2wpkh')), time },
        { tx: other, time: time - 15 * 24 * 3600 },
      ];
      const bytes = mempoolFile(saved, { key, deltas: [[never, -5]], unbroadcast: [child, never] });
      const { pool, counts } = await imported(bytes, ALL);
      expect(counts).toEqual({ accepted: 2, failed: 1, expired: 1, alreadyThere: 1, unbroadcast: 1 });
      const { entries, feeDeltas } = pool.mempool;
      const slot = entries.find(txidOf(parent));
      expect(entries.time(slot)).toBe(time);
      expect(entries.feeDelta(slot)).toBe(700);
      expect([...feeDeltas].map(([, delta]) => delta).toSorted((a, b) => a - b)).toEqual([-5, 700]);
      expect(pool.mempool.isUnbroadcast(entries.find(txidOf(child)))).toBe(true);
      expect(pool.has(other)).toBe(false);
      await pool[Symbol.asyncDispose]();
    });

  test('only the transactions are imported by default, with the current time', async () => {
    const bytes = mempoolFile([{ tx: other, time: 1, delta: 9 }], { deltas: [[never, 3]], unbroadcast: [other] });
    const { pool, counts } = await imported(bytes, NONE);
    expect(counts).toEqual({ accepted: 1, failed: 0, expired: 0, alreadyThere: 0, unbroadcast: 0 });
    const slot = pool.mempool.entries.find(txidOf(other));
    expect(pool.mempool.entries.time(slot)).toBe(now(pool));
    expect([...pool.mempool.feeDeltas]).toEqual([]);
    expect(pool.mempool.isUnbroadcast(slot)).toBe(false);
    await pool[Symbol.asyncDispose]();
  });

  test('a truncated or foreign file is rejected, and what was read of it stays', async () => {
    const whole = mempoolFile([{ tx: other, time: 1 }], { key: KEY, unbroadcast: [other] });
    for (const [bytes, count] of [
      [whole.subarray(0, whole.length - 1), 1],
      [whole.subarray(0, 100), 0],
      [whole.subarray(0, 20), 0],
      [new Uint8Array(0), 0],
      [mempoolFile([{ tx: other, time: 1 }], { version: 3n }), 0],
      [Uint8Array.from([...whole.subarray(0, 17), ...new Uint8Array(64).fill(0xee)]), 0],
    ] as const) {
      const { pool, error } = await imported(bytes, NONE);
      expect(error).toBeInstanceOf(DecodeError);
      expect(pool.count).toBe(count);
      await pool[Symbol.asyncDispose]();
    }
  });

  test('earlier records stay unchanged while later ones are read', () => {
    const saved = new Array(40_000).fill({ tx: parent, time: 1 }).with(0, { tx: child, time: 2 });
    const dir = mkdtempSync(join(tmpdir(), 'obverse-mempool-'));
    try {
      const path = join(dir, 'mempool.dat');
      writeFileSync(path, mempoolFile(saved, { key: KEY }));
      using file = new MempoolFile(path);
      const [first, second] = [...file.transactions()];
      expect([first!.parsed.txid, second!.parsed.txid]).toEqual([txidOf(child), txidOf(parent)]);
      expect([first!.parsed.tx, second!.parsed.tx]).toEqual([child, parent]);
      expect(first!.parsed.raw).toEqual(transactionBytes(child));
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  test('a file larger than the read window is imported completely', async () => {
    // The same transaction repeated: nine megabytes.
    const saved = new Array(40_000).fill({ tx: parent, time: 1 });
    const bytes = mempoolFile(saved, { key: KEY });
    expect(bytes.length).toBeGreaterThan(8_100_000);
    const { pool, counts } = await imported(bytes, NONE);
    expect(counts).toEqual({ accepted: 1, failed: 0, expired: 0, alreadyThere: 39_999, unbroadcast: 0 });
    await pool[Symbol.asyncDispose]();
  });
});
