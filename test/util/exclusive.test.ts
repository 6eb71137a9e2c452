import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Exclusive } from '../../src/util/exclusive.ts';

const never = new AbortController().signal;

describe('Exclusive', () => {
  test('runs one task at a time, in order, whether tasks fail or not', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ turns: fc.nat(3), fails: fc.boolean() }), { maxLength: 12 }),
        async (works) => {
          const exclusive = new Exclusive(works.length);
          const order: number[] = [];
          let running = 0;
          const results = await Promise.allSettled(
            works.map(({ turns, fails }, i) =>
              exclusive.run(async () => {
                expect(++running).toBe(1);
                order.push(i);
                for (let turn = 0; turn < turns; turn++) await Promise.resolve();
                running--;
                if (fails) throw new Error('failed');
                return i;
              }, never),
            ),
          );
          expect(order).toEqual(works.map((_, i) => i));
          for (const [i, result] of results.entries())
            expect(result.status).toBe(works[i]!.fails ? 'rejected' : 'fulfilled');
        },
      ),
      { numRuns: 50 },
    );
  });

  test('skips tasks that are aborted while they wait, and throws if too many wait', async () => {
    const exclusive = new Exclusive(2);
    const { promise, resolve } = Promise.withResolvers<void>();
    const ran: string[] = [];
    const first = exclusive.run(() => promise, never);
    const leaving = new AbortController();
    const second = exclusive.run(() => ran.push('second'), leaving.signal);
    const third = exclusive.run(() => ran.push('third'), never);
    expect(exclusive.full).toBe(true);
    expect(await exclusive.run(() => ran.push('fourth'), never).catch(({ message }) => message)).toBe(
      'too many tasks are waiting',
    );
    leaving.abort(new Error('the client has disconnected'));
    expect(await second.catch(({ message }) => message)).toBe('the client has disconnected');
    resolve();
    await Promise.all([first, third]);
    expect(ran).toEqual(['third']);
    expect(await exclusive.run(() => 'free', never)).toBe('free');
  });
});
