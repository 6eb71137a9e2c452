import { expect, test } from 'bun:test';
import { EventWaits } from '../../src/rest/event-waits.ts';
import { LocalCounts } from '../../src/util/counts.ts';

/** The parts of a context that a wait uses. */
function contextOf(following: AbortController) {
  let followers = 0;
  return {
    options: { limits: { eventWaitsPerKey: 2, eventWaitsTotal: 2 } },
    call: () => ({ principal: { id: 'k' } }),
    follow: () => {
      followers++;
      return { signal: following.signal, end: () => void followers-- };
    },
    get followers() {
      return followers;
    },
  };
}

test('a wait is counted until its end, until its client disconnects, and not at all behind that', () => {
  const counts = new LocalCounts();
  const waits = new EventWaits(counts);
  const ctx = contextOf(new AbortController());
  const running = () => counts.get('event waits');
  const begin = (signal: AbortSignal) => waits.begin(ctx as never, new Request('http://x/', { signal }), 'read');

  const first = begin(new AbortController().signal);
  const client = new AbortController();
  const second = begin(client.signal);
  expect([running(), ctx.followers]).toEqual([2, 2]);
  expect(() => begin(new AbortController().signal)).toThrow('too many requests');

  client.abort();
  expect([running(), ctx.followers, second.signal.aborted]).toEqual([1, 1, true]);
  second.end();
  expect(running()).toBe(1);
  first.end();
  first.end();
  expect([running(), ctx.followers]).toEqual([0, 0]);

  expect(begin(AbortSignal.abort()).signal.aborted).toBe(true);
  expect([running(), ctx.followers]).toEqual([0, 0]);
});
