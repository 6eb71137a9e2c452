import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlockPruned } from '../../src/storage/chain-reads.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, dumpState, ModelChain } from '../lib/chain-state.ts';
import { sweep } from '../lib/tx-builder.ts';
import { pruneSteps } from './prune-steps.ts';

const FILE_LIMIT = 4096;
const PRUNE = { target: null, afterHeight: 100 } as const;

const chain = new RegtestChain({ to: 'anyone' });
chain.mine(110);
for (let n = 1; n <= 390; n++) chain.mine(1, { txs: [sweep(chain.coin(n), 'anyone')] });
const RAWS = chain.blocks.map(({ raw }) => raw);
const withoutStatus = (line: string) => line.replace(/ status \d+/, '');

/** The state of the whole chain. */
const model = new ModelChain(chain.blocks.slice(1)).state();
let whole: string;
let steps: string[];
/** Copies of the files at each step: what a process leaves that ends there without any notice to it. */
const copies: string[] = [];

async function filled(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-prune-'));
  await using node = new TestNode({ fileLimit: FILE_LIMIT });
  await node.take(chain.blocks.slice(1));
  await node.close();
  cpSync(node.dir, dir, { recursive: true });
  return dir;
}

function stepsOf(from: string): string[] {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-prune-'));
  try {
    cpSync(from, dir, { recursive: true });
    return Array.from(pruneSteps(dir), (step) => {
      const copy = mkdtempSync(join(tmpdir(), 'obverse-prune-'));
      cpSync(dir, copy, { recursive: true });
      copies.push(copy);
      return step;
    });
  } finally {
    rmSync(dir, { recursive: true });
  }
}

beforeAll(async () => {
  whole = await filled();
  steps = stepsOf(whole);
});
afterAll(() => {
  for (const dir of [whole, ...copies]) rmSync(dir, { recursive: true });
});

/** Numbers of the steps: nothing, the rows, two for each of three files, and the folder. */
const STEPS = Array.from({ length: 9 }, (_, n) => n);

/** Starts on a copy of a directory whose pruning ended after step `n`, and checks that nothing is lost but what it removed. */
async function expectCompletion(dir: string, n: number): Promise<void> {
  await using node = new TestNode({ from: dir, prune: PRUNE, fileLimit: FILE_LIMIT });
  const blocks = join(node.dir, 'blocks');
  const names = readdirSync(blocks);
  const gone = n > 0;
  for (const name of ['blk00000.dat', 'blk00001.dat', 'rev00000.dat']) expect(names.includes(name)).toBe(!gone);
  for (const name of names) expect(statSync(join(blocks, name)).size).toBeGreaterThan(0);
  // All that rows refer to can be read, and the rest is known to be pruned.
  node.read((reads) => {
    const { pruneHeight } = node.chain.pruner!;
    expect(reads.pruneHeight()).toBe(pruneHeight);
    for (const block of reads.headers.range(0, 1000)) {
      if (block.body) expect(reads.rawBlock(block)).toEqual(RAWS[block.height]!);
      else expect(() => reads.rawBlock(block)).toThrow(BlockPruned);
      expect(reads.rawUndo(block) === null).toBe(block.undo === null);
      if (block.height >= (pruneHeight ?? 0)) expect(block.body && block.undo).not.toBeNull();
    }
    expect(reads.headers.byHeight(0)!.body === null).toBe(gone);
  });
  const state = dumpState(node.dir, RAWS);
  const comparable = (each: typeof state) => ({ ...each, chain: each.chain.map(withoutStatus) });
  expect(differences(comparable(state), comparable(model))).toEqual([]);
  // The chain goes on, and so does pruning.
  await node.chain.pruneUpTo(chain.height);
  expect(readdirSync(blocks).filter((name) => name.startsWith('blk')).length).toBeLessThan(names.length);
  const longer = chain.fork();
  longer.mine(3);
  await node.take(longer.blocks.slice(-3));
  expect(node.chain.tip.height).toBe(chain.height + 3);
}

describe('a process that ends while files are pruned', () => {
  test('has these steps', () => {
    expect(steps).toEqual([
      'nothing',
      'rows committed',
      'blk file 0 truncated',
      'blk file 0 removed',
      'blk file 1 truncated',
      'blk file 1 removed',
      'rev file 0 truncated',
      'rev file 0 removed',
      'folder synced',
    ]);
  });

  test.each(STEPS)('after step %d leaves a chain that the next start completes', (n) =>
    expectCompletion(copies[n]!, n),
  );

  test('by kill -9 leaves a chain that the next start completes', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'obverse-prune-'));
    try {
      cpSync(whole, dir, { recursive: true });
      const child = Bun.spawn([process.execPath, join(import.meta.dir, 'prune-steps.ts'), dir, '4'], {
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      await child.exited;
      expect(child.signalCode).toBe('SIGKILL');
      await expectCompletion(dir, 4);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
