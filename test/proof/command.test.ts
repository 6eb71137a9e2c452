import { afterEach, beforeEach, expect, type Mock, spyOn, test } from 'bun:test';
import { proofCommand } from './command.ts';
import type { Proof, Proofs } from './proof.ts';

const calls: [number, number][] = [];

function proofWith(violations: readonly string[]): Proof {
  return {
    help: 'runs nothing',
    count: 20,
    run: (count, seed) => {
      calls.push([count, seed]);
      return Promise.resolve({ figures: [['deposits', 500]], violations });
    },
  };
}

const PROOFS: Proofs = {
  good: proofWith([]),
  bad: proofWith(['deposit 7 is missing']),
  broken: { help: 'throws', count: 1, run: () => Promise.reject(new Error('the node did not start')) },
};

const { signal } = new AbortController();
const output: string[] = [];
let spies: Mock<(...args: unknown[]) => void>[];

beforeEach(() => {
  calls.length = output.length = 0;
  const write = (...args: unknown[]) => void output.push(args.join(' '));
  spies = [spyOn(console, 'log').mockImplementation(write), spyOn(console, 'error').mockImplementation(write)];
});
afterEach(() => {
  for (const spy of spies) spy.mockRestore();
});

test('a proof that holds prints its figures, ends with the verdict and exits with 0', async () => {
  expect(await proofCommand(PROOFS, ['good'], signal)).toBe(0);
  expect(calls[0]![0]).toBe(20);
  expect(output.join('\n')).toMatch(/deposits +500/);
  expect(output.at(-1)).toBe('good held');
});

test('count and seed are passed on', async () => {
  expect(await proofCommand(PROOFS, ['good', '--count', '3', '--seed', '7'], signal)).toBe(0);
  expect(calls).toEqual([[3, 7]]);
});

test('the file of a chain is passed on to a proof that accepts one, and refused by others', async () => {
  const chains: (string | undefined)[] = [];
  const accepting: Proof = {
    ...proofWith([]),
    acceptsChain: true,
    run(_count, _seed, _signal, _progress, chain) {
      chains.push(chain);
      return Promise.resolve({ figures: [], violations: [] });
    },
  };
  expect(await proofCommand({ accepting }, ['accepting', '--chain', 'blocks.dat'], signal)).toBe(0);
  expect(chains).toEqual(['blocks.dat']);
  expect(await proofCommand(PROOFS, ['good', '--chain', 'blocks.dat'], signal)).toBe(2);
  expect(calls).toEqual([]);
});

test('a violated proof names each violation and exits with 1', async () => {
  expect(await proofCommand(PROOFS, ['bad'], signal)).toBe(1);
  expect(output).toContain('deposit 7 is missing');
  expect(output.at(-1)).toBe('bad does not hold, violations: 1');
});

test('a proof that throws exits with 1', async () => {
  expect(await proofCommand(PROOFS, ['broken'], signal)).toBe(1);
  expect(output.at(-1)).toBe('broken does not hold: it did not finish');
});

test('without a name all proofs are listed', async () => {
  expect(await proofCommand(PROOFS, [], signal)).toBe(0);
  expect(output.join('\n')).toContain('good    runs nothing (count 20)');
  expect(calls).toEqual([]);
});

for (const args of [
  ['none'],
  ['toString'],
  ['good', '--count', '0'],
  ['good', '--seed', 'x'],
  ['good', 'bad'],
  ['--x'],
])
  test(`wrong usage exits with 2: ${args.join(' ')}`, async () => {
    expect(await proofCommand(PROOFS, args, signal)).toBe(2);
    expect(calls).toEqual([]);
  });
