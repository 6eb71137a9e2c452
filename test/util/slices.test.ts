import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { runInSlices, runSteps, type Steps } from '../../src/util/slices.ts';

const { signal } = new AbortController();

/** Each reading of the clock is one millisecond later, so a slice of 8 ms has 8 steps. */
function stepsTakeAMillisecond(): void {
  let now = 0;
  spyOn(performance, 'now').mockImplementation(() => now++);
}

afterEach(() => {
  spyOn(performance, 'now').mockRestore();
});

function* count(to: number, seen: (n: number) => void = () => {}): Steps<number> {
  for (let n = 1; n <= to; n++) {
    seen(n);
    yield;
  }
  return to;
}

describe('runInSlices', () => {
  test('lets other work run after every slice, and returns the result of the steps', async () => {
    stepsTakeAMillisecond();
    let done = 0;
    const running = runInSlices(
      count(100, (n) => (done = n)),
      { signal },
    );
    const atTurns: number[] = [];
    while (done < 100) {
      atTurns.push(done);
      await new Promise(setImmediate);
    }
    expect(await running).toBe(100);
    expect(atTurns.length).toBeGreaterThanOrEqual(12);
    // The first slice runs synchronously.
    expect(atTurns[0]).toBeLessThanOrEqual(8);
    for (const [i, at] of atTurns.slice(2).entries()) expect(at - atTurns[i + 1]!).toBeLessThanOrEqual(8);
    expect(runSteps(count(100))).toBe(100);
  });

  test('alternates between several calls in order, one slice each', async () => {
    stepsTakeAMillisecond();
    const order: string[] = [];
    let slices = 0;
    const around = (name: string) => (slice: () => void) => {
      order.push(name);
      slices++;
      slice();
    };
    const running = ['a', 'b', 'c'].map((name) => runInSlices(count(30), { signal, around: around(name) }));
    for (let before = 0; slices < 12; before = slices) {
      await new Promise(setImmediate);
      expect(slices - before).toBeLessThanOrEqual(1 + Number(before === 0));
    }
    await Promise.all(running);
    expect(order.join('')).toBe('abcabcabcabc');
  });

  test('closes the steps when the signal aborts, and rejects with its reason', async () => {
    stepsTakeAMillisecond();
    const ending = new AbortController();
    let [at, closed] = [0, false];
    function* work(): Steps<void> {
      try {
        for (;;) {
          at++;
          yield;
        }
      } finally {
        closed = true;
      }
    }
    const running = runInSlices(work(), { signal: ending.signal });
    running.catch(() => {});
    await new Promise(setImmediate);
    const before = at;
    ending.abort(new Error('the client has disconnected'));
    expect(running).rejects.toThrow('the client has disconnected');
    await running.catch(() => {});
    expect(at).toBe(before);
    expect(closed).toBe(true);
  });

  test('rejects with the error of a step, and other calls continue', async () => {
    function* work(): Steps<void> {
      yield;
      throw new Error('no such coin');
    }
    const failing = runInSlices(work(), { signal });
    const other = runInSlices(count(5), { signal });
    expect(await failing.catch(({ message }) => message)).toBe('no such coin');
    expect(await other).toBe(5);
  });
});
