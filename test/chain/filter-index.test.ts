import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ChainEntry } from '../../src/chain/chain-entry.ts';
import { buildFilters } from '../../src/node/filter-build.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { regtest } from '../../src/params/regtest.ts';
import { systemClock } from '../../src/util/clock.ts';
import { createLog } from '../../src/util/log.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { lateVerifier, mixedBlocks, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { FilterModel, type ModelFilter } from '../lib/filter-model.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { hasVectors } from '../lib/vectors.ts';

const model = (chain: RegtestChain): readonly ModelFilter[] =>
  new FilterModel(chain.blocks.map(({ raw }) => raw)).filters;

/** Filters of the chain up to a block, from genesis on; null for a block without one. */
function filtersOf(node: TestNode, tip: ChainEntry = node.chain.tip): (ModelFilter | null)[] {
  return node.read(({ filters }) =>
    Array.from({ length: tip.height + 1 }, (_, height) => {
      const record = filters.get(tip.ancestor(height)!.id);
      if (record === null) return null;
      return {
        filter: filters.bytes(record).toHex(),
        hash: record.hash.toReversed().toHex(),
        header: record.header.toReversed().toHex(),
      };
    }),
  );
}

const covered = (node: TestNode) => node.read((reads) => reads.filters.coveredHeight(reads.tip().height));

/** Builds the filter of one block and commits it with the next one. Returns whether the index has caught up. */
function step(node: TestNode): boolean {
  node.clock.advance(1_000);
  return node.chain.filters!.buildMissing(0, node.clock);
}

function buildAll(node: TestNode): void {
  expect(node.chain.filters!.buildMissing(1, node.clock)).toBe(true);
  expect(node.chain.filters!.live).toBe(true);
}

describe.skipIf(!hasVectors)('filters of every standard kind of input', () => {
  const expected = (blocks: readonly Uint8Array[]) => [...new FilterModel([genesisBlock(regtest), ...blocks]).filters];

  test('equal independently computed ones at every height when they are committed with the blocks', async () => {
    await using node = new TestNode({ filters: true, verifier: lateVerifier(() => 3, trustingVerifier) });
    await node.take(mixedBlocks());
    expect(filtersOf(node)).toEqual(expected(mixedBlocks()));
    expect(node.chain.filters!.live).toBe(true);
  });

  test('equal independently computed ones when they are built from the block files, and after a reorg', async () => {
    await using node = new TestNode({ verifier: trustingVerifier });
    // All blocks of the reorg are disconnected and connected again, so there are only some full ones.
    const blocks = mixedBlocks().slice(0, 118);
    const wanted = expected(blocks);
    await node.take(blocks);
    await node.restart({ filters: true });
    for (let i = 0; i < 100; i++) expect(step(node)).toBe(false);
    expect(covered(node)).toBe(99);
    const fork = node.chain.tip.ancestor(90)!;
    await node.chain.invalidateBlock(fork);
    expect(node.chain.filters!.live).toBe(false);
    buildAll(node);
    expect(filtersOf(node)).toEqual(wanted.slice(0, 90));
    await node.chain.reconsiderBlock(fork);
    expect(filtersOf(node)).toEqual(wanted);
  });
});

describe('the filter index', () => {
  const chain = recentChain(130, { payments: 3 });
  const branch = chain.fork(120);
  branch.mine(15);

  test('is off by default and then creates no files', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1));
    expect(node.chain.filters).toBeNull();
    expect(existsSync(join(node.dir, 'filters'))).toBe(false);
    expect(covered(node)).toBe(-1);
  });

  test('contains the genesis block from the start', async () => {
    await using node = new TestNode({ params: chain.params, filters: true });
    expect(filtersOf(node)).toEqual(model(chain).slice(0, 1));
  });

  test('keeps the filters of disconnected blocks and builds none twice', async () => {
    await using node = new TestNode({ params: chain.params, filters: true });
    await node.take(chain.blocks.slice(1));
    const old = node.chain.tip;
    await node.take(branch.blocks.slice(121));
    expect(node.chain.tip.height).toBe(135);
    expect(filtersOf(node)).toEqual([...model(branch)]);
    expect(filtersOf(node, old)).toEqual([...model(chain)]);
    const size = readFileSync(join(node.dir, 'filters/flt00000.dat')).length;
    const longer = chain.fork();
    longer.mine(8);
    await node.take(longer.blocks.slice(131));
    expect(node.chain.tip.height).toBe(138);
    expect(filtersOf(node)).toEqual([...model(longer)]);
    const added = model(longer).slice(131);
    const bytes = added.reduce((sum, { filter }) => sum + 8 + filter.length / 2, 0);
    expect(readFileSync(join(node.dir, 'filters/flt00000.dat')).length).toBe(size + bytes);
  });

  test('continues where it stopped after it was off, and after each restart', async () => {
    await using node = new TestNode({ params: chain.params, filters: true });
    await node.take(chain.blocks.slice(1, 60));
    await node.restart({ filters: false });
    await node.take(chain.blocks.slice(60));
    await node.take(branch.blocks.slice(121));
    expect(covered(node)).toBe(59);
    await node.restart({ filters: true });
    let steps = 0;
    for (; !step(node); steps++) {
      if (steps % 7 !== 6) continue;
      const { height } = node.chain.filters!;
      await node.restart({ filters: true });
      // A filter may have been pending.
      expect(node.chain.filters!.height).toBeGreaterThanOrEqual(height - 1);
    }
    expect(steps).toBeGreaterThanOrEqual(75);
    expect(filtersOf(node)).toEqual([...model(branch)]);
  });

  test('includes blocks that are committed while it is built', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1, 100));
    await node.restart({ filters: true });
    const next = chain.blocks.slice(100).values();
    // Blocks arrive faster than filters at first.
    for (const block of next) {
      await node.take([block]);
      step(node);
      if (block.height % 3 === 0) step(node);
      expect(node.chain.filters!.live).toBe(false);
    }
    buildAll(node);
    await node.take(branch.blocks.slice(121));
    expect(node.chain.filters!.live).toBe(true);
    expect(filtersOf(node)).toEqual([...model(branch)]);
  });

  test('can catch up between the connection of blocks and their commit', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1, 50));
    await node.restart({ filters: true });
    // During initial block download the blocks stay in memory.
    node.clock.advance(1_000_000_000_000);
    await node.accept(chain.blocks.slice(50, 80));
    expect(node.chain.height).toBe(79);
    buildAll(node);
    const at = node.chain.filters!.height;
    await node.accept(chain.blocks.slice(80));
    await node.chain.settle();
    expect(at).toBeLessThan(80);
    expect(node.chain.filters!.live).toBe(true);
    expect(filtersOf(node)).toEqual([...model(chain)]);
  });

  test('follows a reorg below the height that it has reached', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1));
    await node.restart({ filters: true });
    // Filters of the abandoned branch are still pending at first.
    for (let i = 0; i < 128; i++) expect(node.chain.filters!.buildMissing(0, node.clock)).toBe(false);
    expect(node.chain.filters!.height).toBe(127);
    const old = node.chain.tip;
    await node.take(branch.blocks.slice(121));
    expect(step(node)).toBe(false);
    expect(node.chain.filters!.height).toBe(121);
    buildAll(node);
    expect(filtersOf(node)).toEqual([...model(branch)]);
    expect(filtersOf(node, old).slice(0, 128)).toEqual(model(chain).slice(0, 128));
    expect(filtersOf(node, old).slice(128)).toEqual([null, null, null]);
    // Back to the first branch, of which some filters exist.
    const longer = chain.fork();
    longer.mine(8);
    await node.take(longer.blocks.slice(131));
    expect(filtersOf(node)).toEqual([...model(longer)]);
  });

  test('continues from the committed filters after a crash at any moment', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1));
    await node.restart({ filters: true });
    const expected = [...model(chain)];
    for (let done = 0; done < 131; done++) {
      // Some filters are committed, the others are in memory or in the file.
      if (done % 3 === 0) step(node);
      else node.chain.filters!.buildMissing(0, node.clock);
      if (done % 10 !== 5) continue;
      await using dead = new TestNode({ params: chain.params, from: node.dir, filters: true });
      expect(dead.chain.filters!.height).toBeLessThanOrEqual(done);
      expect(dead.chain.filters!.height).toBeGreaterThanOrEqual(done - 7);
      buildAll(dead);
      expect(filtersOf(dead)).toEqual(expected);
    }
  });

  test('is built anew if its files were removed', async () => {
    await using node = new TestNode({ params: chain.params, filters: true });
    await node.take(chain.blocks.slice(1));
    await node.close();
    rmSync(join(node.dir, 'filters'), { recursive: true });
    await node.restart();
    expect(node.chain.filters!.lost).toBe(true);
    expect(node.chain.filters!.height).toBe(-1);
    buildAll(node);
    expect(filtersOf(node)).toEqual([...model(chain)]);
    await node.restart();
    expect(node.chain.filters!.lost).toBe(false);
    expect(node.chain.filters!.live).toBe(true);
  });

  test('does not need its files while it is off', async () => {
    await using node = new TestNode({ params: chain.params, filters: true });
    await node.take(chain.blocks.slice(1, 50));
    await node.close();
    rmSync(join(node.dir, 'filters'), { recursive: true });
    await node.restart({ filters: false });
    await node.take(chain.blocks.slice(50));
    await node.restart({ filters: true });
    buildAll(node);
    expect(filtersOf(node)).toEqual([...model(chain)]);
  });

  test('does not return a filter that is damaged on the disk', async () => {
    await using node = new TestNode({ params: chain.params, filters: true });
    await node.take(chain.blocks.slice(1));
    const { filters, tip } = node.chain;
    const { position } = filters!.findRecord(tip)!;
    const file = join(node.dir, 'filters/flt00000.dat');
    const bytes = readFileSync(file);
    bytes[position.offset + 1]! ^= 1;
    writeFileSync(file, bytes);
    expect(() => filters!.readFilter(filters!.findRecord(tip)!)).toThrow('damaged');
    expect(filters!.readFilter(filters!.findRecord(tip.parent!)!).toHex()).toBe(model(chain)[129]!.filter);
  });

  test('stops building at a block that cannot be read, and keeps its filters', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1));
    await node.restart({ filters: true });
    const file = join(node.dir, 'blocks/blk00000.dat');
    const bytes = readFileSync(file);
    const { body } = node.chain.tip.ancestor(70)!;
    bytes[body.offset + 90]! ^= 1;
    writeFileSync(file, bytes);
    for (let i = 0; i < 60; i++) step(node);
    expect(() => node.chain.filters!.buildMissing(1, node.clock)).toThrow();
    expect(node.chain.filters!.height).toBe(59);
    expect(node.chain.filters!.live).toBe(false);
    expect(filtersOf(node).slice(0, 60)).toEqual(model(chain).slice(0, 60));
    bytes[body.offset + 90]! ^= 1;
    writeFileSync(file, bytes);
    buildAll(node);
    expect(filtersOf(node)).toEqual([...model(chain)]);
  });

  test('reports how building in the background ended', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1));
    await node.restart({ filters: true });
    let text = '';
    const write = (bytes: Uint8Array) => {
      text += new TextDecoder().decode(bytes);
      return bytes.length;
    };
    const log = createLog({ level: 'info', format: 'json', write });
    const build = (signal = new AbortController().signal) =>
      buildFilters(node.chain, { signal, clock: systemClock, log });
    const messages = () => {
      log.flush();
      const lines = text.split('\n').filter((line) => line !== '');
      text = '';
      return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    };

    await build(AbortSignal.abort());
    expect(node.chain.filters!.height).toBe(-1);
    expect(messages()).toEqual(['building block filters in the background']);
    const file = join(node.dir, 'blocks/rev00000.dat');
    const bytes = readFileSync(file);
    const { undo } = node.chain.tip.ancestor(110)!;
    bytes[undo.offset]! ^= 1;
    writeFileSync(file, bytes);
    await build();
    expect(node.chain.stopped).toBeNull();
    expect(messages()).toEqual(['building block filters in the background', 'building block filters stopped']);
    bytes[undo.offset]! ^= 1;
    writeFileSync(file, bytes);
    await build();
    expect(messages()).toEqual(['building block filters in the background', 'block filters are built']);
    await build();
    expect(messages()).toEqual([]);
    expect(filtersOf(node)).toEqual([...model(chain)]);
  });

  test('an older database without the table of filters gets it when it is opened', async () => {
    await using node = new TestNode({ params: chain.params });
    await node.take(chain.blocks.slice(1, 20));
    await node.close();
    const db = new Database(join(node.dir, 'chain.db'));
    db.run('DROP TABLE filters');
    db.close();
    await node.restart({ filters: true });
    buildAll(node);
    expect(filtersOf(node)).toEqual(model(chain).slice(0, 20));
  });
});
