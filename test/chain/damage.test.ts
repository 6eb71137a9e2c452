import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilePosition } from '../../src/storage/block-files.ts';
import { RegtestChain, type TestBlock } from '../lib/chain-builder.ts';
import { inlineVerifier, lateVerifier, TestNode } from '../lib/chain-fixture.ts';
import { POISON } from '../lib/fork-tree.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';

function flipBit(node: TestNode, file: string, at: number): void {
  const path = join(node.dir, 'blocks', file);
  const bytes = readFileSync(path);
  bytes[at]! ^= 1;
  writeFileSync(path, bytes);
}

const endOf = ({ offset, size }: FilePosition) => offset + size;
const entryOf = (node: TestNode, block: TestBlock) => node.chain.findEntry(block.hash)!;

// As in Bitcoin Core: a failing disk must not decide which blocks are valid.
test('a damaged stored block stops block processing and is not marked invalid', async () => {
  const chain = new RegtestChain({ to: 'anyone' });
  chain.mine(105);
  const fork = chain.fork(104);
  const first = fork.mine(1, { txs: [sweep(fork.coin(1), 'anyone')] });
  const second = fork.mine(1);
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  await node.take([first]);
  flipBit(node, 'blk00000.dat', endOf(entryOf(node, first).body) - 25);
  expect(node.submit(second)).rejects.toThrow('damaged');
  await node.chain.settle().catch(() => {});
  expect(node.chain.stopped?.message).toContain('is damaged in blk file 0');
  expect(entryOf(node, first).failed).toBe(false);
  // The repaired block is accepted.
  flipBit(node, 'blk00000.dat', endOf(entryOf(node, first).body) - 25);
  await node.restart();
  await node.take([second]);
  expect(node.chain.tip.height).toBe(106);
});

test('damaged undo data stops block processing and does not become coins', async () => {
  const chain = new RegtestChain({ to: 'anyone' });
  chain.mine(104);
  const fork = chain.fork();
  chain.mine(1, { txs: [sweep(chain.coin(1), 'anyone')] });
  fork.mine(2);
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  const { undo } = node.chain.tip;
  flipBit(node, 'rev00000.dat', undo.offset + 13);
  await node.take(fork.blocks.slice(-2, -1));
  expect(node.submit(fork.tip)).rejects.toThrow('damaged');
  await node.chain.settle().catch(() => {});
  expect(node.chain.stopped?.message).toContain('undo data');
});

// The body of a header in a sealed commit belongs to the next commit, which may never happen.
test('a body that arrives after its header was sealed is missing after a stop', async () => {
  const chain = new RegtestChain({ to: 'anyone' });
  chain.mine(110);
  for (let i = 1; i <= 9; i++) chain.mine(1, { txs: [sweep(chain.coin(i), 'anyone')] });
  let turns = 0;
  await using node = new TestNode({ verifier: lateVerifier(() => turns) });
  await node.take(chain.blocks.slice(1, 111));
  for (const block of chain.blocks.slice(111)) await node.chain.acceptHeader(block.raw.slice(0, 80));
  turns = 4;
  node.clock.advance(6000);
  await node.accept(chain.blocks.slice(111, 114));
  turns = 1_000_000;
  await node.accept([chain.at(114)]);
  for (let i = 0; i < 10; i++) await new Promise(setImmediate);
  await node.restart({ verifier: inlineVerifier });
  node.read(({ headers }) => {
    for (const record of headers.all()) expect((record.status & 1) === 1).toBe(record.body !== null);
  });
  await node.take(chain.blocks.slice(node.chain.tip.height + 1));
  expect(node.chain.tip.height).toBe(chain.height);
});

test('a block is rejected if its parent turns out to be invalid while both are verified', async () => {
  const chain = new RegtestChain({ to: 'anyone' });
  chain.mine(104);
  const make = spend(chain.coin(1), [{ to: POISON, value: 5n }], { sign: false });
  chain.mine(1, { txs: [make] });
  const fork = chain.fork();
  chain.mine(1);
  const bad = fork.mine(1, { txs: [spend(coinOf(make, 0), [{ to: 'anyone', value: 5n }], { sign: false })] });
  const child = fork.mine(1);
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  expect(await node.submit(bad)).toBe('accepted');
  expect(await node.submit(child)).toBe('bad-prevblk');
});
