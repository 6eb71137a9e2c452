import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { HeaderTree } from '../../src/chain/header-tree.ts';
import { BlockPruned } from '../../src/storage/chain-reads.ts';
import { HeaderStatus } from '../../src/storage/chain-schema.ts';
import { OperatorError } from '../../src/util/operator-error.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { type ChainState, differences, dumpState, ModelChain } from '../lib/chain-state.ts';
import { sweep } from '../lib/tx-builder.ts';

/** About 14 blocks, or the undo data of 70, in each file. */
const FILE_LIMIT = 4096;
const MANUAL = { target: null, afterHeight: 100 } as const;
/** Core's MIN_BLOCKS_TO_KEEP. */
const KEPT = 288;
const TIP = 610;

const chain = new RegtestChain({ to: 'anyone' });
chain.mine(110);
for (let n = 1; n <= 500; n++) chain.mine(1, { txs: [sweep(chain.coin(n), 'anyone')] });

/** The status names what is stored, which pruning changes. */
const withoutStatus = (state: ChainState): ChainState => ({
  ...state,
  chain: state.chain.map((line) => line.replace(/ status \d+/, '')),
});

function expectState(node: TestNode, of: RegtestChain): void {
  const model = new ModelChain(of.blocks.slice(1)).state();
  const raws = of.blocks.map(({ raw }) => raw);
  expect(differences(withoutStatus(dumpState(node.dir, raws)), withoutStatus(model))).toEqual([]);
}

const filesOf = (node: TestNode) => readdirSync(join(node.dir, 'blocks')).sort();
const bytesOf = (node: TestNode) =>
  filesOf(node).reduce((sum, name) => sum + statSync(join(node.dir, 'blocks', name)).size, 0);

/** Heights of the active chain whose bodies and undo data can be read. */
function stored(node: TestNode): { bodies: number[]; undo: number[] } {
  return node.read((reads) => {
    const bodies: number[] = [];
    const undo: number[] = [];
    for (const block of reads.headers.range(0, 10_000)) {
      try {
        if (reads.rawBlock(block)) bodies.push(block.height);
      } catch (error) {
        expect(error).toBeInstanceOf(BlockPruned);
      }
      if (reads.rawUndo(block)) undo.push(block.height);
    }
    return { bodies, undo };
  });
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe('pruning on request', () => {
  let node: TestNode;
  beforeAll(async () => {
    node = new TestNode({ prune: MANUAL, fileLimit: FILE_LIMIT });
    await node.take(chain.blocks.slice(1));
  });
  afterAll(() => node[Symbol.asyncDispose]());

  test('without a request removes nothing', () => {
    node.chain.startPruning();
    expect(node.chain.pruner!.pruneHeight).toBeNull();
    expect(stored(node)).toEqual({ bodies: range(0, TIP), undo: range(0, TIP) });
  });

  test('removes files of which all blocks are at most at the height', async () => {
    await node.chain.pruneUpTo(60);
    const { bodies, undo } = stored(node);
    const pruneHeight = node.chain.pruner!.pruneHeight!;
    expect(pruneHeight).toBeGreaterThan(30);
    expect(pruneHeight).toBeLessThanOrEqual(61);
    // Files are contiguous here, so what is left is too.
    expect(bodies).toEqual(range(bodies[0]!, TIP));
    expect(undo).toEqual(range(undo[0]!, TIP));
    expect(Math.max(bodies[0]!, undo[0]!)).toBe(pruneHeight);
    expect(filesOf(node)).not.toContain('blk00000.dat');
    expectState(node, chain);
  });

  test('keeps the last 288 blocks', async () => {
    await node.chain.pruneUpTo(TIP);
    const { bodies, undo } = stored(node);
    expect(bodies[0]).toBeGreaterThan(TIP - KEPT - 20);
    expect(bodies[0]).toBeLessThanOrEqual(TIP - KEPT + 1);
    expect(undo[0]).toBeGreaterThan(200);
    expect(undo[0]).toBeLessThanOrEqual(TIP - KEPT + 1);
    expectState(node, chain);
  });

  test('survives a restart, and forgets nothing', async () => {
    const before = stored(node);
    const { pruneHeight } = node.chain.pruner!;
    await node.restart();
    expect(stored(node)).toEqual(before);
    expect(node.chain.pruner!.pruneHeight).toBe(pruneHeight);
    expectState(node, chain);
  });

  test('a pruned block is not invalidated, since it cannot be disconnected', async () => {
    expect(await node.chain.invalidateBlock(node.chain.findEntry(chain.at(100).hash)!)).toBe(false);
    expect(node.chain.tip.height).toBe(TIP);
    expectState(node, chain);
  });

  test('a pruned block that is submitted is stored again, and the chain stays', async () => {
    const entry = node.chain.findEntry(chain.at(5).hash)!;
    expect(entry.hasBody).toBe(false);
    expect(await node.submit(chain.at(5))).toBe('accepted');
    expect(node.chain.tip.height).toBe(TIP);
    expect(node.chain.readRawBlock(entry)).toEqual(chain.at(5).raw);
    expect(await node.submit(chain.at(5))).toBe('known');
    await node.restart();
    expect(stored(node).bodies[0]).toBe(5);
    // It has no undo data, so the height stays.
    expect(node.chain.pruner!.pruneHeight).toBeGreaterThan(100);
    expectState(node, chain);
  });

  test('a reorganization of 100 blocks works', async () => {
    const branch = chain.fork(chain.height - 100);
    branch.mine(101);
    await node.take(branch.blocks.slice(-101));
    expect(node.chain.tip.height).toBe(TIP + 1);
    expectState(node, branch);
    await node.restart();
    expectState(node, branch);
  });

  test('is refused to be switched off', async () => {
    await node.close();
    expect(() => new TestNode({ from: node.dir })).toThrow(OperatorError);
    expect(() => new TestNode({ from: node.dir })).toThrow(/storage\.prune/);
  });

  test('leaves no block filters to be built', async () => {
    const open = () => new TestNode({ from: node.dir, prune: MANUAL, filters: true });
    expect(open).toThrow(/^index\.filter best block of the index goes beyond pruned data/);
  });
});

test('an index that was switched off while blocks were pruned cannot be switched on again', async () => {
  const tx = { tx: true, address: false, spender: false, coinStats: false };
  await using node = new TestNode({ prune: MANUAL, fileLimit: FILE_LIMIT, indexes: tx });
  await node.take(chain.blocks.slice(1));
  await node.chain.pruneUpTo(TIP);
  await expect(node.restart({ indexes: { ...tx, address: true } })).rejects.toThrow(
    /^index\.address best block of the index goes beyond pruned data .* it ends at height -1/,
  );
});

test('a chain that is too short is not pruned', async () => {
  await using node = new TestNode({ prune: { target: null, afterHeight: TIP + 1 }, fileLimit: FILE_LIMIT });
  await node.take(chain.blocks.slice(1));
  await node.chain.pruneUpTo(TIP);
  expect(node.chain.pruner!.pruneHeight).toBeNull();
});

test('a lock keeps the blocks that are still needed, and ten below', async () => {
  await using node = new TestNode({ prune: MANUAL, fileLimit: FILE_LIMIT });
  await node.take(chain.blocks.slice(1));
  let needed: number | null = 70;
  node.chain.pruner!.addLock('test', () => needed);
  await node.chain.pruneUpTo(120);
  expect(stored(node).bodies[0]).toBeLessThanOrEqual(60);
  expect(stored(node).bodies[0]).toBeGreaterThan(30);
  needed = null;
  await node.chain.pruneUpTo(120);
  expect(stored(node).bodies[0]).toBeGreaterThan(90);
});

test('an index of filters that is behind keeps its blocks', async () => {
  await using whole = new TestNode({ fileLimit: FILE_LIMIT });
  await whole.take(chain.blocks.slice(1));
  await whole.close();
  await using node = new TestNode({ from: whole.dir, prune: MANUAL, filters: true, fileLimit: FILE_LIMIT });
  await node.chain.pruneUpTo(120);
  expect(node.chain.pruner!.pruneHeight).toBeNull();
  while (!node.chain.filters!.buildMissing(1000, node.clock));
  await node.chain.pruneUpTo(120);
  expect(node.chain.pruner!.pruneHeight).toBeGreaterThan(90);
  expect(node.chain.filters!.findRecord(node.chain.tip.ancestor(3)!)).not.toBeNull();
});

describe('a target', () => {
  const TARGET = 160 * 1024;
  const long = chain.fork();
  long.mine(700);

  test('is kept while blocks arrive, and by the next start', async () => {
    await using node = new TestNode({ prune: { target: TARGET, afterHeight: 100 }, fileLimit: FILE_LIMIT });
    node.chain.startPruning();
    let largest = 0;
    let commits = 0;
    node.chain.onCommit(() => {
      largest = Math.max(largest, bytesOf(node));
      commits++;
    });
    for (let at = 1; at < long.blocks.length; at += 10) await node.take(long.blocks.slice(at, at + 10));
    expect(commits).toBeGreaterThan(100);
    expect(largest).toBeGreaterThan(TARGET / 2);
    expect(largest).toBeLessThanOrEqual(TARGET);
    const { bodies, undo } = stored(node);
    expect(bodies[0]).toBeGreaterThan(300);
    expect(Math.max(bodies[0]!, undo[0]!)).toBe(node.chain.pruner!.pruneHeight!);
    expectState(node, long);
  });

  test('is reached by a start on a chain that was never pruned', async () => {
    await using whole = new TestNode({ fileLimit: FILE_LIMIT });
    await whole.take(long.blocks.slice(1));
    await whole.close();
    expect(bytesOf(whole)).toBeGreaterThan(TARGET * 1.5);
    const prune = { target: TARGET, afterHeight: 100 };
    await using node = new TestNode({ from: whole.dir, prune, fileLimit: FILE_LIMIT });
    expect(bytesOf(node)).toBeGreaterThan(TARGET * 1.5);
    node.chain.startPruning();
    // Its rounds are calls of the chain's queue, and each begins after the one before.
    for (let left = 1000; bytesOf(node) > TARGET && left > 0; left--) await node.chain.settle();
    expect(bytesOf(node)).toBeLessThanOrEqual(TARGET);
    expectState(node, long);
  });
});

test('a chain with more work that leaves below the pruned blocks stops block processing with advice', async () => {
  await using node = new TestNode({ prune: MANUAL, fileLimit: FILE_LIMIT });
  await node.take(chain.blocks.slice(1));
  await node.chain.pruneUpTo(TIP);
  const branch = chain.fork(100);
  branch.mine(TIP - 99);
  await expect(node.take(branch.blocks.slice(101))).rejects.toThrow(/leaves the active chain at height 100/);
  expect(node.chain.stopped).toBeInstanceOf(OperatorError);
  expectState(node, chain);
});

test('a reader on an older snapshot learns that the block was pruned meanwhile', async () => {
  await using node = new TestNode({ prune: MANUAL, fileLimit: FILE_LIMIT });
  await node.take(chain.blocks.slice(1));
  const old = node.read((reads) => reads.headers.byHeight(3)!);
  expect(old.body).not.toBeNull();
  await node.chain.pruneUpTo(TIP);
  const error = node.read((reads) => {
    try {
      return reads.rawBlock(old);
    } catch (thrown) {
      return thrown;
    }
  });
  expect(error).toBeInstanceOf(BlockPruned);
  expect((error as BlockPruned).pruneHeight).toBe(node.chain.pruner!.pruneHeight!);
  expect(node.read((reads) => reads.rawUndo(old))).toBeNull();
});

test('a branch with a pruned block is no candidate until that block is received again', () => {
  const tree = new HeaderTree();
  const base = new RegtestChain();
  base.mine(2);
  const side = base.fork();
  base.mine(2);
  side.mine(4);
  const insert = (blocks: RegtestChain['blocks']) =>
    blocks.map((block) => {
      const parent = block.parent && tree.findEntry(block.parent.hash);
      const entry = tree.findEntry(block.hash) ?? tree.insertHeader(block.hash, block.header, parent);
      if (!entry.hasBody) {
        entry.status |= HeaderStatus.HAVE_BLOCK | HeaderStatus.HAD_BLOCK;
        tree.onBlockStored(entry);
      }
      return entry;
    });
  const active = insert(base.blocks);
  const branch = insert(side.blocks.slice(0, 5));
  const tip = active.at(-1)!;
  expect(tree.bestCandidate(tip)).toBe(tip);
  const pruned = branch[3]!;
  tree.markPruned({ bodies: [pruned, active[1]!], undo: [] });
  const best = insert(side.blocks.slice(5)).at(-1);
  expect(best!.complete).toBe(true);
  expect(tree.bestCandidate(tip)).toBe(tip);
  pruned.status |= HeaderStatus.HAVE_BLOCK;
  tree.onBlockStored(pruned);
  expect(tree.bestCandidate(tip)).toBe(best!);
});
