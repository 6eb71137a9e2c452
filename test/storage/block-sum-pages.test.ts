import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { BlockSumPages, type BlockSums } from '../../src/storage/block-sum-pages.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { HeaderWriter } from '../../src/storage/header-store.ts';

interface Figures {
  readonly id: number;
  readonly size: number;
  readonly strippedSize: number;
  readonly txCount: number;
  /** Null for a block that is not connected yet. */
  readonly fees: number | null;
}

/** Returns the sums of blocks, one after the other. */
function addedUp(blocks: readonly Figures[]): BlockSums {
  const connected = blocks.filter(({ fees }) => fees !== null);
  const sum = (of: readonly Figures[], figure: (block: Figures) => number) =>
    of.length === 0 ? null : of.reduce((total, block) => total + figure(block), 0);
  return {
    received: blocks.length,
    connected: connected.length,
    size: sum(blocks, ({ size }) => size),
    strippedSize: sum(blocks, ({ strippedSize }) => strippedSize),
    txCount: sum(blocks, ({ txCount }) => txCount),
    fees: sum(connected, ({ fees }) => fees!),
    connectedWeight: sum(connected, ({ strippedSize, size }) => strippedSize * 3 + size),
  };
}

test('sums by pages are those of the blocks, whatever branch is active', () => {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-sums-'));
  const db = openWriter(join(dir, 'chain.db'), { network: 'regtest', genesisHash: '00'.repeat(32) }, 1);
  try {
    const writer = new HeaderWriter(db);
    const setFees = (id: number, fees: number) => writer.setUndo(id, { file: 0, offset: 0, size: 1 }, fees);
    const pages = new BlockSumPages(db);
    let nextId = 1;
    let chain: Figures[] = [];
    const extend = (connected: boolean) => {
      const id = nextId++;
      const hash = new Uint8Array(32);
      new DataView(hash.buffer).setUint32(0, id);
      const size = 300 + (id % 97);
      const block = { id, size, strippedSize: size - 9, txCount: 1 + (id % 5), fees: connected ? id % 1000 : null };
      const header = { id, hash, header: new Uint8Array(80), height: chain.length, chainwork: 1n, status: 0 };
      writer.insert(header as Parameters<HeaderWriter['insert']>[0]);
      const stats = { ...block, inputs: 0, outputs: 1, valueOut: 0, reward: 0 };
      writer.setBody(id, 1, { file: 0, offset: 0, size }, stats);
      if (block.fees !== null) setFees(id, block.fees);
      writer.extend(chain.length, id, { circulating: 0, utxos: 0, txs: 0 });
      chain.push(block);
    };
    const check = (from: number, to: number, asked: boolean) => {
      let work = 0;
      if (asked) pages.readPages(from, to, (microseconds) => (work += microseconds));
      expect(pages.sums(from, to)).toEqual(addedUp(chain.slice(from, to + 1)));
      return work;
    };
    extend(true);
    db.transaction(() => {
      for (let i = 0; i < 700; i++) extend(true);
    })();
    expect(check(1, 700, true)).toBe(640);
    // They are read once.
    expect(check(1, 700, true)).toBe(0);
    const step = fc.record({
      cut: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
      added: fc.integer({ min: 0, max: 300 }),
      connected: fc.boolean(),
      finished: fc.boolean(),
      ranges: fc.array(fc.tuple(fc.integer({ min: 0 }), fc.integer({ min: 0 }), fc.boolean()), { maxLength: 6 }),
    });
    fc.assert(
      fc.property(step, ({ cut, added, connected, finished, ranges }) => {
        db.transaction(() => {
          chain = chain.slice(0, Math.max(1, chain.length - cut));
          writer.cutAbove(chain.length - 1);
          for (let i = 0; i < added + 2; i++) extend(connected || i % 50 !== 0);
          // The figures of blocks behind a loaded UTXO set come late.
          if (finished)
            chain = chain.map((block) => {
              if (block.fees === null) setFees(block.id, 7);
              return { ...block, fees: block.fees ?? 7 };
            });
        })();
        const tip = chain.length - 1;
        check(1, tip, finished);
        for (const [a, b, asked] of ranges) {
          const [from, to] = [1 + (a % tip), 1 + (b % tip)].toSorted((x, y) => x - y) as [number, number];
          check(from, to, asked);
        }
      }),
      { numRuns: 60 },
    );
  } finally {
    db.close();
    rmSync(dir, { recursive: true });
  }
});
