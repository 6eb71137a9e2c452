import { expect, test } from 'bun:test';
import { NextBlocks } from '../../src/rest/next-blocks.ts';

/** A node thread whose answers the test gives. */
function fixture() {
  const calls: PromiseWithResolvers<unknown>[] = [];
  let now = 0;
  const call = () => {
    const answer = Promise.withResolvers<unknown>();
    calls.push(answer);
    return answer.promise as never;
  };
  const next = new NextBlocks(
    () => ({ call }),
    () => now,
  );
  return { next, calls, advance: (ms: number) => (now += ms) };
}

test('one call of the node thread serves all requests that wait, and each later one calls again', async () => {
  const { next, calls } = fixture();
  const both = Promise.all([next.blocks(), next.blocks()]);
  calls[0]!.resolve(['first']);
  expect(await both).toEqual([['first'], ['first']] as never);
  const later = next.blocks();
  expect(calls).toHaveLength(2);
  calls[1]!.resolve(['second']);
  expect(await later).toEqual(['second'] as never);
});

test('while the node thread does not answer, the blocks that it made last are given, for a minute', async () => {
  const { next, calls, advance } = fixture();
  const first = next.blocks();
  calls[0]!.resolve(['first']);
  await first;
  advance(30_000);
  expect(await next.blocks()).toEqual(['first'] as never);
  advance(31_000);
  const waiting = next.blocks();
  expect(calls).toHaveLength(2);
  calls[1]!.resolve(['second']);
  expect(await waiting).toEqual(['second'] as never);
});

test('a failed call is reported, and the next one is made', async () => {
  const { next, calls } = fixture();
  const failing = next.blocks();
  calls[0]!.reject(new Error('the node thread has ended'));
  expect(await failing.catch((error) => error.message)).toBe('the node thread has ended');
  const again = next.blocks();
  calls[1]!.resolve([]);
  expect(await again).toEqual([]);
});
