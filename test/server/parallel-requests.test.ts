import { expect, test } from 'bun:test';
import { PieceQueue } from '../../src/http/piece-queue.ts';
import { ParallelRequests } from '../../src/server/parallel-requests.ts';
import { RefusalPace } from '../../src/server/refusal-pace.ts';
import { ManualClock } from '../lib/manual-clock.ts';

const refusal = { failure: 'rate_limited', details: { scope: 'parallel', retryAfter: 1 } };

test('a key has a limited number of requests at a time, and other keys are not affected', async () => {
  const parallel = new ParallelRequests(() => 2, 'requests');
  const replies = [1, 2].map(() => Promise.withResolvers<string>());
  const running = replies.map(({ promise }) => parallel.run('a', () => promise));
  const third = () => parallel.run('a', () => 'third');
  expect(third).toThrow(expect.objectContaining(refusal));
  expect(parallel.run('b', () => 'other')).toBe('other');
  replies[0]!.resolve('first');
  expect(await running[0]).toBe('first');
  expect(third()).toBe('third');
});

test('a failed request no longer counts', async () => {
  const parallel = new ParallelRequests(() => 1, 'requests');
  const fails = () => {
    throw new Error('at once');
  };
  expect(() => parallel.run('a', fails)).toThrow('at once');
  const later = await Promise.resolve(parallel.run('a', () => Promise.reject(new Error('later')))).catch(String);
  expect(later).toBe('Error: later');
  expect(parallel.run('a', () => 'next')).toBe('next');
});

test('refusals are sent at once, then held, and in a flood they end the connection', async () => {
  const pace = new RefusalPace(new ManualClock(0));
  for (let i = 0; i < 40; i++) expect(pace.next('a')).toBe('at once');
  const held = Array.from({ length: 1024 }, () => pace.next('a'));
  expect(held.every((each) => each instanceof Promise)).toBe(true);
  expect(pace.next('a')).toBe('and close');
  expect(pace.next('b')).toBe('at once');
  pace.stop();
  await Promise.all(held);
  expect(pace.next('a')).toBe('at once');
});

test('a held refusal is sent after a second', async () => {
  const pace = new RefusalPace(new ManualClock(0));
  for (let i = 0; i < 40; i++) pace.next('a');
  const from = performance.now();
  await pace.next('a');
  expect(performance.now() - from).toBeGreaterThan(990);
});

test('each owner has one piece in a round', async () => {
  const queue = new PieceQueue();
  const order: string[] = [];
  const pieces = ['a', 'a', 'a', 'b', 'c', 'b'].map(async (owner) => {
    await queue.nextPiece(owner);
    order.push(owner);
  });
  await Promise.all(pieces);
  expect(order.join('')).toBe('abcaba');
});
