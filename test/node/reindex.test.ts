import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reindexSteps } from '../../src/storage/reindex-folder.ts';
import type { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { type ChainState, differences, dumpState } from '../lib/chain-state.ts';
import { POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { reindexFolder, storedBlocks } from '../lib/reindex-folder.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';

const root = mkdtempSync(join(tmpdir(), 'obverse-reindex-'));
afterAll(() => rmSync(root, { recursive: true }));

let chain: RegtestChain;
/** Folder of a closed chain with a reorg, an invalid block and filters. */
let original: string;
let expected: ChainState;
let filters: string[];

beforeAll(async () => {
  chain = trunkWithCoins();
  const stale = chain.fork();
  const invalid = chain.fork();
  const coins = chain.tip.txs[1]!;
  stale.mine(2, { txs: [sweep(coinOf(coins, 0), 'anyone', 1000n, { sign: false })] });
  for (let n = 1; n < 20; n++)
    chain.mine(1, { txs: [sweep(coinOf(coins, n), n % 2 === 0 ? 'anyone' : 'p2wpkh', 1000n, { sign: false })] });
  const poison = chain.at(104).txs[2]!;
  invalid.mine(1, { txs: [spend(coinOf(poison, 0), [{ to: POISON, value: 5n }], { sign: false })] });
  await using node = new TestNode({ filters: true });
  await node.take(chain.blocks.slice(1, 105));
  expect(await node.submit(invalid.tip)).toStartWith('block-script-verify-flag-failed');
  await node.take(stale.blocks.slice(-2));
  await node.take(chain.blocks.slice(105));
  await node.close();
  expected = dumpState(node.dir);
  filters = filterHeaders(node.dir);
  original = join(root, 'original');
  cpSync(node.dir, original, { recursive: true });
});

/** Headers of the filters of the active chain. */
function filterHeaders(dir: string): string[] {
  const db = new Database(join(dir, 'chain.db'), { readonly: true });
  try {
    return db
      .query<{ header: string }, []>(
        'SELECT hex(f.header) AS header FROM chain c JOIN filters f ON f.header_id = c.header_id ORDER BY c.height',
      )
      .all()
      .map(({ header }) => header);
  } finally {
    db.close();
  }
}

function freshCopy(): string {
  const dir = mkdtempSync(join(root, 'copy-'));
  cpSync(original, dir, { recursive: true });
  return dir;
}

const blockFile = (dir: string) => join(dir, 'blocks/blk00000.dat');

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at < 0 ? bytes.length + at : at]! ^= 4;
  writeFileSync(path, bytes);
}

/** Offset of the bytes of a block in its file. */
function offsetOf(dir: string, block: TestBlock): number {
  const at = readFileSync(blockFile(dir)).indexOf(block.raw);
  if (at < 0) throw new Error(`block ${block.height} is not in the file`);
  return at;
}

function expectSame(dir: string): void {
  expect(differences(dumpState(dir), expected)).toEqual([]);
  expect(filterHeaders(dir)).toEqual(filters);
}

describe('a reindex', () => {
  test('leaves the same chain and indexes, and block files as they were', async () => {
    const dir = freshCopy();
    const before = readFileSync(blockFile(dir));
    const result = await reindexFolder(dir, { filters: true });
    expect(result).toMatchObject({
      continued: false,
      height: chain.height,
      damaged: [],
      unreadable: [],
      withoutParent: 0,
    });
    expectSame(dir);
    expect(readFileSync(blockFile(dir)).equals(before)).toBe(true);
    expect(readdirSync(join(dir, 'blocks')).sort()).toEqual(['blk00000.dat', 'rev00000.dat']);
    // The chain goes on behind the last block.
    await using node = new TestNode({ from: dir, filters: true });
    expect(node.chain.tip.height).toBe(chain.height);
    await node.take([chain.fork().mine(1)]);
    expect(node.chain.tip.height).toBe(chain.height + 1);
    expect(readFileSync(blockFile(node.dir)).subarray(0, before.length).equals(before)).toBe(true);
  });

  const derived: [name: string, damage: (dir: string) => void][] = [
    ['chain.db', (dir) => flipBit(join(dir, 'chain.db'), 20_000)],
    ['the header of chain.db', (dir) => flipBit(join(dir, 'chain.db'), 3)],
    ['undo data', (dir) => flipBit(join(dir, 'blocks/rev00000.dat'), -40)],
    ['a filter', (dir) => flipBit(join(dir, 'filters/flt00000.dat'), -3)],
    ['a database that is missing', (dir) => rmSync(join(dir, 'chain.db'))],
    ['a database that is empty', (dir) => truncateSync(join(dir, 'chain.db'), 0)],
  ];
  test.each(derived)('repairs %s', async (_, damage) => {
    const dir = freshCopy();
    damage(dir);
    await reindexFolder(dir, { filters: true });
    expectSame(dir);
  });

  test('finds children before their parents', async () => {
    const dir = freshCopy();
    const bytes = readFileSync(blockFile(dir));
    const records: Buffer[] = [];
    for (let at = 0; at < bytes.length; ) {
      const end = at + 8 + bytes.readUInt32LE(at + 4);
      records.push(bytes.subarray(at, end));
      at = end;
    }
    writeFileSync(blockFile(dir), Buffer.concat(records.toReversed()));
    const result = await reindexFolder(dir, { filters: true });
    expect(result).toMatchObject({ height: chain.height, damaged: [] });
    expectSame(dir);
  });

  test('numbers events above those before, with another tag', async () => {
    const dir = freshCopy();
    const tags = () => {
      const db = new Database(join(dir, 'chain.db'), { readonly: true });
      try {
        return db
          .query<{ tag: string }, []>('SELECT tag FROM event_ranges')
          .all()
          .map(({ tag }) => tag.slice(0, 4));
      } finally {
        db.close();
      }
    };
    const [before] = tags();
    await reindexFolder(dir);
    expect(tags()).not.toContain(before);
  });

  test('skips a damaged block, names it, and uses the blocks behind it when the block arrives', async () => {
    const dir = freshCopy();
    const missing = chain.at(110);
    const offset = offsetOf(dir, missing);
    flipBit(blockFile(dir), offset + missing.raw.length - 30);
    const size = readFileSync(blockFile(dir)).length;
    const result = await reindexFolder(dir, { filters: true });
    expect(result).toMatchObject({
      height: 109,
      headers: chain.height,
      damaged: [{ file: blockFile(dir), offset, hash: missing.hash.toReversed().toHex(), height: 110 }],
    });
    await using node = new TestNode({ from: dir, filters: true });
    await node.take([missing]);
    expect(node.chain.tip.height).toBe(chain.height);
    await node.close();
    expectSame(node.dir);
    expect(readFileSync(blockFile(node.dir)).length).toBe(size + 8 + missing.raw.length);
    // The file has a damaged and an intact record of this block now.
    expect(await reindexFolder(node.dir, { filters: true })).toMatchObject({ height: chain.height, damaged: [] });
    expectSame(node.dir);
  });

  test('stores the genesis block again where its record is damaged', async () => {
    const dir = freshCopy();
    flipBit(blockFile(dir), 8 + 200);
    expect(await reindexFolder(dir, { filters: true })).toMatchObject({ height: chain.height });
    expectSame(dir);
  });

  test.each([
    ['magic', -8],
    ['size', -4],
    ['size, by megabytes', -2],
    ['size, beyond the file', -1],
  ])('skips a record with a damaged %s and finds the next one', async (_, at) => {
    const dir = freshCopy();
    flipBit(blockFile(dir), offsetOf(dir, chain.at(108)) + at);
    const result = await reindexFolder(dir, { filters: true });
    expect(result.height).toBe(107);
    expect(result.damaged.length + result.unreadable.length).toBeGreaterThan(0);
    await using node = new TestNode({ from: dir, filters: true });
    // Headers behind a record without magic have no parent in the files.
    await node.take(chain.blocks.slice(108));
    await node.close();
    expectSame(node.dir);
  });

  test('reads files that begin or end in the middle of a record, or with zeros', async () => {
    const dir = freshCopy();
    const bytes = readFileSync(blockFile(dir));
    writeFileSync(
      blockFile(dir),
      Buffer.concat([bytes.subarray(20, 200), bytes, bytes.subarray(0, 60), Buffer.alloc(100_000)]),
    );
    expect(storedBlocks(dir).unreadable).toEqual([
      { file: blockFile(dir), offset: 0, bytes: 180 },
      { file: blockFile(dir), offset: 180 + bytes.length, bytes: 100_060 },
    ]);
  });
});

describe('an interrupted reindex', () => {
  test.each([1, 60, 108])('after %d blocks is continued, and no other start changes the folder', async (blocks) => {
    const dir = freshCopy();
    const before = readFileSync(blockFile(dir));
    const first = await reindexFolder(dir, { filters: true, stopAfter: blocks });
    expect(first.height).toBeLessThan(chain.height);
    expect(() => new TestNode({ from: dir })).toThrow('was interrupted: run obverse reindex');
    const second = await reindexFolder(dir, { filters: true });
    expect(second).toMatchObject({ continued: true, height: chain.height });
    expect(second.blocksKnown + second.blocksConnected).toBeGreaterThanOrEqual(chain.height);
    expectSame(dir);
    expect(readFileSync(blockFile(dir)).equals(before)).toBe(true);
  });

  test('begins again with restart', async () => {
    const dir = freshCopy();
    await reindexFolder(dir, { filters: true, stopAfter: 60 });
    flipBit(join(dir, 'chain.db'), 3);
    expect(await reindexFolder(dir, { filters: true, restart: true })).toMatchObject({
      continued: false,
      blocksKnown: 0,
    });
    expectSame(dir);
  });

  test('may end after each step of its beginning', async () => {
    const names = [...reindexSteps(freshCopy(), false)];
    expect(names.length).toBeGreaterThan(5);
    for (let steps = 1; steps <= names.length; steps++) {
      const dir = freshCopy();
      let done = 0;
      for (const _ of reindexSteps(dir, false)) if (++done === steps) break;
      expect(() => new TestNode({ from: dir })).toThrow('was interrupted: run obverse reindex');
      expect(await reindexFolder(dir, { filters: true })).toMatchObject({ height: chain.height });
      expectSame(dir);
    }
  });
});

// Otherwise a start would overwrite the blocks with those that it downloads.
test('a folder with blocks and without a database is not opened', () => {
  const dir = freshCopy();
  rmSync(join(dir, 'chain.db'));
  expect(() => new TestNode({ from: dir })).toThrow('none: run obverse reindex');
  expect(existsSync(blockFile(dir))).toBe(true);
});
