import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { readFailure, writeFailure } from './failure-file.ts';
import { fuzz } from './fuzz.ts';
import { mutate } from './mutate.ts';
import { Random } from './random.ts';
import { type FuzzTarget, hold } from './target.ts';
import { TARGETS } from './targets.ts';
import { measureWorstCase, WORST_CASES } from './worst-cases.ts';

const SEED = 20_260_101;
/** `npm run fuzz` takes as long as it is asked to. */
const RUN_MS = 40;

describe('every target holds for a short run', () => {
  for (const target of TARGETS)
    test(target.name, async () => {
      const { failure, cases } = await fuzz(target, { seed: SEED, milliseconds: RUN_MS });
      if (failure) throw new Error(writeFailure(target.name, failure.input), { cause: failure.error });
      expect(cases).toBeGreaterThan(0);
    }, 180_000);
});

describe('the most expensive scripts before tapscript', () => {
  for (const worst of WORST_CASES.filter(({ quick }) => quick))
    test(worst.name, () => expect(measureWorstCase(worst).fault).toBeNull());
});

describe('fuzz', () => {
  const target = (run: FuzzTarget['run'], corpus: Uint8Array[] = []): FuzzTarget => ({
    name: 'made-up',
    help: '',
    corpus: () => corpus,
    run,
  });
  const start = Uint8Array.of(1, 2, 3, 4);

  test('finds a violated assertion, the same for the same seed', async () => {
    const odd = target((input) => hold(input.length < 9 || input[8] !== 7, 'no seven'), [start]);
    const first = await fuzz(odd, { seed: 1, milliseconds: 20_000 });
    expect(first.failure?.input[8]).toBe(7);
    const second = await fuzz(odd, { seed: 1, milliseconds: 20_000 });
    expect(second.failure?.input).toEqual(first.failure!.input);
    expect(second.cases).toBe(first.cases);
    const third = await fuzz(odd, { seed: 2, milliseconds: 20_000 });
    expect(third.failure?.input).not.toEqual(first.failure!.input);
  });

  test('finds a rejection after the call, and a case that takes too long', async () => {
    const later = target(async () => hold(false, 'later'));
    expect((await fuzz(later, { seed: 1, milliseconds: 1 })).failure?.error).toBeInstanceOf(Error);
    const slow = target(() => {
      for (const end = performance.now() + 3; performance.now() < end; );
    });
    const report = await fuzz(slow, { seed: 1, milliseconds: 1, slowMs: 1 });
    expect(String(report.failure?.error)).toContain('took');
  });

  test('a mutation changes a copy of the input', () => {
    const random = new Random(5);
    const changed = new Set<string>();
    for (let i = 0; i < 200; i++) changed.add(mutate(start, Uint8Array.of(9, 9, 9), random).toHex());
    expect(start).toEqual(Uint8Array.of(1, 2, 3, 4));
    expect(changed.size).toBeGreaterThan(100);
  });

  test('a found case is kept in a file', () => {
    const path = writeFailure('made-up', start).split(' ').at(-1)!;
    expect(readFailure(path)).toEqual({ target: 'made-up', input: start });
    rmSync(path);
  });
});
