import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type GateTimer, type Outcome, PasswordGate } from '../../src/auth/password-gate.ts';

/** Time that passes only when it is asked to, with its calls in order. */
class ManualTimer implements GateTimer {
  #now = 0;
  #calls = new Map<object, { at: number; call: () => void }>();

  now() {
    return this.#now;
  }

  after(ms: number, call: () => void) {
    const id = {};
    this.#calls.set(id, { at: this.#now + ms, call });
    return () => void this.#calls.delete(id);
  }

  async pass(ms: number) {
    const end = this.#now + ms;
    await settled();
    for (;;) {
      const due = [...this.#calls].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      this.#now = Math.max(this.#now, due[1].at);
      this.#calls.delete(due[0]);
      due[1].call();
      await settled();
    }
    this.#now = end;
  }

  get pending() {
    return this.#calls.size;
  }
}

/** Lets promises that are resolved run their continuations. */
async function settled() {
  for (let i = 0; i < 6; i++) await Promise.resolve();
}

interface Done {
  readonly outcome: Outcome<string>;
  readonly at: number;
}

function setUp() {
  const timer = new ManualTimer();
  const counts = { right: 0, wrong: 0, dropped: 0 };
  const gate = new PasswordGate<string>((result) => counts[result]++, timer);
  const compared: { address: string; at: number }[] = [];
  /** Right when it begins with `right`. */
  const attempt = (address: string, text: string, user = 'alice', signal?: AbortSignal) => {
    const done: { it: Done | null } = { it: null };
    const compare = () => {
      compared.push({ address, at: timer.now() });
      return text.startsWith('right') ? `user of ${text}` : null;
    };
    void gate
      .check({ address, user, text, compare, ...(signal && { signal }) })
      .then((outcome) => (done.it = { outcome, at: timer.now() }));
    return done;
  };
  return { timer, gate, counts, compared, attempt };
}

describe('PasswordGate', () => {
  test('answers a right password at once and a wrong one after 250 ms', async () => {
    const { timer, attempt, counts } = setUp();
    const right = attempt('a', 'right');
    const wrong = attempt('b', 'wrong');
    await timer.pass(20);
    expect(right.it).toEqual({ outcome: { kind: 'right', value: 'user of right' }, at: 0 });
    await timer.pass(229);
    expect(wrong.it).toBeNull();
    await timer.pass(1);
    expect(wrong.it?.outcome).toEqual({ kind: 'wrong', closing: false });
    expect(counts).toEqual({ right: 1, wrong: 1, dropped: 0 });
  });

  test('compares 10 passwords a second from one address for as long as they come', async () => {
    const { timer, attempt, compared } = setUp();
    for (let i = 0; i < 3000; i++) {
      attempt('a', `wrong ${i}`);
      await timer.pass(10);
    }
    expect(compared.length).toBeGreaterThan(290);
    expect(compared.length).toBeLessThanOrEqual(301);
    for (let i = 10; i < compared.length; i++)
      expect(compared[i]!.at - compared[i - 10]!.at).toBeGreaterThanOrEqual(1000);
  });

  test('compares 64 passwords a second in all, and each address in turn', async () => {
    const { timer, attempt, compared } = setUp();
    for (let tick = 0; tick < 500; tick++) {
      for (let a = 0; a < 50; a++) if ((tick + a) % 5 === 0) attempt(`10.0.0.${a}`, `wrong ${tick}`);
      await timer.pass(10);
    }
    for (let i = 64; i < compared.length; i++)
      expect(compared[i]!.at - compared[i - 64]!.at).toBeGreaterThanOrEqual(999.999);
    expect(compared.length).toBeGreaterThan(300);
    const byAddress = [...Map.groupBy(compared, ({ address }) => address).values()].map((list) => list.length);
    expect(byAddress.length).toBe(50);
    expect(Math.max(...byAddress) - Math.min(...byAddress)).toBeLessThanOrEqual(2);
  });

  test('a right password from another address does not wait behind a hostile one', async () => {
    const { timer, attempt } = setUp();
    for (let i = 0; i < 2000; i++) {
      attempt('hostile', `wrong ${i}`);
      await timer.pass(1);
    }
    const from = timer.now();
    const right = attempt('b', 'right');
    await timer.pass(16);
    expect(right.it?.outcome.kind).toBe('right');
    expect(right.it!.at - from).toBeLessThanOrEqual(1000 / 64);
  });

  test('a right password does not wait for long behind 100 hostile addresses', async () => {
    const { timer, attempt } = setUp();
    for (let i = 0; i < 4000; i++) attempt(`h${i % 100}`, `wrong ${i}`);
    await timer.pass(500);
    const from = timer.now();
    const right = attempt('b', 'right');
    for (let i = 0; i < 400; i++) {
      for (let a = 0; a < 10; a++) attempt(`h${(10 * i + a) % 100}`, `more ${i} ${a}`);
      await timer.pass(10);
    }
    expect(right.it?.outcome.kind).toBe('right');
    expect(right.it!.at - from).toBeLessThan(2000);
  });

  test('a password that was right passes at once from then on, from everywhere', async () => {
    const { timer, gate, attempt, counts } = setUp();
    attempt('a', 'right');
    await timer.pass(1);
    for (let i = 0; i < 1000; i++) attempt('a', `wrong ${i}`);
    const again = attempt('a', 'right');
    const elsewhere = attempt('b', 'right');
    await timer.pass(0);
    expect([again.it?.outcome.kind, elsewhere.it?.outcome.kind]).toEqual(['right', 'right']);
    expect(counts.right).toBe(1);
    expect(gate.known('right')).toBe('user of right');
    expect(gate.known('wrong 1')).toBeNull();
  });

  test('equal texts share a comparison', async () => {
    const { timer, attempt, compared } = setUp();
    attempt('a', 'first');
    const wrong = Array.from({ length: 100 }, () => attempt('a', 'same'));
    const right = Array.from({ length: 100 }, () => attempt('a', 'right'));
    await timer.pass(250);
    expect(compared.length).toBe(3);
    for (const { it } of wrong) expect(it?.outcome.kind).toBe('wrong');
    for (const { it } of right) expect(it?.outcome.kind).toBe('right');
  });

  test('refuses attempts beyond its slots after 250 ms and without a comparison', async () => {
    const { timer, attempt, compared, counts } = setUp();
    const attempts = Array.from({ length: 40 }, (_, i) => attempt('a', `wrong ${i}`));
    await timer.pass(249);
    expect(attempts.filter(({ it }) => it !== null)).toEqual([]);
    await timer.pass(1);
    expect(attempts.filter(({ it }) => it?.outcome.kind === 'dropped').length).toBe(19);
    expect(counts.dropped).toBe(19);
    await timer.pass(3000);
    expect(compared.length).toBe(21);
    expect(attempts.filter(({ it }) => it === null)).toEqual([]);
  });

  test('attempts on one user do not crowd out another user of the same address', async () => {
    const { timer, attempt } = setUp();
    for (let i = 0; i < 200; i++) attempt('a', `wrong ${i}`, 'alice');
    const right = attempt('a', 'right of bob', 'bob');
    await timer.pass(2100);
    expect(right.it?.outcome.kind).toBe('right');
  });

  test('a password that is repeated comes before guesses that were first seen later', async () => {
    const { timer, attempt } = setUp();
    // Each guess is sent again for as long as it was not compared, or a new one every time.
    for (const guesses of [200, 100_000]) {
      let sent = 0;
      const flood = async (ms: number) => {
        for (let i = 0; i < ms; i += 2) {
          attempt('a', `wrong ${guesses} ${sent++ % guesses}`);
          await timer.pass(2);
        }
      };
      await flood(3000);
      const from = timer.now();
      for (;;) {
        const right = attempt('a', `right ${guesses}`);
        await flood(400);
        if (right.it?.outcome.kind === 'right') break;
        expect(timer.now() - from).toBeLessThan(25_000);
      }
      if (guesses > 1000) expect(timer.now() - from).toBeLessThan(4000);
    }
  });

  test('a client that disconnects releases its slot', async () => {
    const { timer, attempt, compared } = setUp();
    const ended = new AbortController();
    attempt('a', 'first');
    for (let i = 0; i < 20; i++) attempt('a', `wrong ${i}`, 'alice', ended.signal);
    ended.abort();
    const right = attempt('a', 'right');
    await timer.pass(100);
    expect(right.it?.outcome.kind).toBe('right');
    expect(compared.length).toBe(2);
  });

  test('holds a bounded number of requests and ends the oldest refusal for a further one', async () => {
    const { timer, attempt } = setUp();
    const attempts = Array.from({ length: 1000 }, (_, i) => attempt('a', `wrong ${i}`));
    await timer.pass(0);
    const early = attempts.filter(({ it }) => it !== null);
    expect(early.length).toBe(750);
    for (const { it } of early) expect(it?.outcome).toMatchObject({ closing: true });
    // Another address is held as ever, though all places are taken.
    for (let a = 0; a < 4; a++) for (let i = 0; i < 250; i++) attempt(`h${a}`, `wrong ${i}`);
    const other = attempt('b', 'wrong');
    await timer.pass(249);
    expect(other.it).toBeNull();
    await timer.pass(1000);
    expect(other.it?.outcome).toEqual({ kind: 'wrong', closing: false });
  });

  test('closing ends all waiting and leaves no timer', async () => {
    const { timer, gate, attempt } = setUp();
    const attempts = Array.from({ length: 30 }, (_, i) => attempt('a', `wrong ${i}`));
    gate.close();
    const late = attempt('a', 'right');
    await timer.pass(0);
    for (const { it } of [...attempts, late]) expect(it?.outcome).toMatchObject({ closing: true });
    expect(timer.pending).toBe(0);
  });

  test('keeps its schedule and answers every attempt for any sequence of attempts', async () => {
    const step = fc.record({
      address: fc.integer({ min: 0, max: 5 }),
      user: fc.integer({ min: 0, max: 2 }),
      count: fc.integer({ min: 1, max: 60 }),
      pause: fc.integer({ min: 0, max: 300 }),
      leaves: fc.boolean(),
    });
    const property = fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const { timer, attempt, compared, counts } = setUp();
      const all: { it: Done | null }[] = [];
      for (const [n, { address, user, count, pause, leaves }] of steps.entries()) {
        const ended = new AbortController();
        for (let i = 0; i < count; i++)
          all.push(attempt(`${address}`, `wrong ${user} ${n % 7} ${i}`, `${user}`, ended.signal));
        await timer.pass(pause);
        if (leaves) ended.abort();
      }
      await timer.pass(11_000);
      expect(all.filter(({ it }) => it === null).length).toBe(0);
      expect(timer.pending).toBe(0);
      expect(counts.wrong).toBe(compared.length);
      for (const list of Map.groupBy(compared, ({ address }) => address).values())
        for (let i = 1; i < list.length; i++) expect(list[i]!.at - list[i - 1]!.at).toBeGreaterThanOrEqual(99.999);
      for (let i = 1; i < compared.length; i++)
        expect(compared[i]!.at - compared[i - 1]!.at).toBeGreaterThanOrEqual(15.62);
    });
    await fc.assert(property, { numRuns: 50 });
  });
});
