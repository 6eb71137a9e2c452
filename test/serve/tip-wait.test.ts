import { expect, test } from 'bun:test';
import { cursorText } from '../../src/feed/event-cursor.ts';
import { ApiError } from '../../src/http/errors.ts';
import { type ReachedState, TipWait } from '../../src/serve/tip-wait.ts';

const TAG = 'abcd1234';

function waitAt(height: number, seq: number) {
  const state: { -readonly [K in keyof ReachedState]: ReachedState[K] } = { height, seq, logTag: TAG };
  let nudges = 0;
  const wait = new TipWait(
    () => state,
    () => nudges++,
  );
  return { wait, state, nudges: () => nudges };
}

const request = (headers: Record<string, string>, query = '') =>
  new Request(`http://server/api/events${query}`, { headers });

test('a request that names no later state is not held', () => {
  const { wait, nudges } = waitAt(10, 20);
  const cursor = cursorText(TAG, 20, 20);
  for (const each of [
    request({}),
    request({ 'x-chain-height': '10' }),
    request({}, '?after=20'),
    request({}, `?after=${cursor}`),
    request({ 'last-event-id': cursor }),
    // The log of a node has other numbers.
    request({}, `?after=${cursorText('other123', 99, 99)}`),
  ])
    expect(wait.waitFor(each)).toBeNull();
  expect(nudges()).toBe(0);
});

test('a request for a later state is held until the server has it', async () => {
  const { wait, state, nudges } = waitAt(10, 20);
  const held = [
    wait.waitFor(request({ 'x-chain-height': '11' })),
    wait.waitFor(request({}, `?after=${cursorText(TAG, 21, 21)}z`)),
    wait.waitForEvent(21),
    wait.waitForEvent(cursorText(TAG, 21, 21)),
  ];
  expect(nudges()).toBe(4);
  expect(held).not.toContain(null);
  wait.moved();
  expect(held.map((each) => Bun.peek.status(each!))).toEqual(held.map(() => 'pending'));
  Object.assign(state, { height: 11, seq: 21 });
  wait.moved();
  await Promise.all(held);
});

test('a tip that does not come is an error that names both heights, and an event that does not come is left to the route', async () => {
  const { wait } = waitAt(10, 20);
  const [tip, event] = await Promise.allSettled([
    wait.waitFor(request({ 'x-chain-height': '12' })),
    wait.waitFor(request({}, '?after=25')),
  ]);
  expect(event.status).toBe('fulfilled');
  const { failure, details } = (tip as PromiseRejectedResult).reason as ApiError;
  expect([failure, details]).toEqual(['syncing', { height: 10, wanted: 12 }]);
});

test('a height that is none is an invalid parameter', () => {
  const { wait } = waitAt(10, 20);
  for (const text of ['-1', '1e3', '0x10', '10000000000'])
    expect(() => wait.waitFor(request({ 'x-chain-height': text }))).toThrow(ApiError);
});
