import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { FairQueue } from '../../src/util/fair-queue.ts';

const all = () => true;
const queue = (perKey = 100, total = 1000) => new FairQueue<string>({ perKey, total });
const next = (from: FairQueue<string>) => from.dequeue(all)?.item ?? null;

test('keys are served alternately however many items one of them has', () => {
  const q = queue();
  for (let i = 0; i < 50; i++) q.enqueue('greedy', `greedy ${i}`);
  q.enqueue('other', 'other 0');
  const order: string[] = [];
  for (let i = 0; i < 3; i++) order.push(next(q)!);
  expect(order).toContain('other 0');
});

test('a key whose items cost ten times as much is served a tenth as often', () => {
  const q = queue();
  for (let i = 0; i < 100; i++) {
    q.enqueue('dear', 'dear');
    q.enqueue('cheap', 'cheap');
  }
  const turns = { dear: 0, cheap: 0 };
  for (let i = 0; i < 88; i++) {
    const { key, item } = q.dequeue(all)!;
    turns[item as 'dear' | 'cheap']++;
    q.complete(key, item === 'dear' ? 100 : 10);
  }
  expect(turns.dear).toBeWithin(6, 11);
});

test('a key that was idle gets no compensation for that time', () => {
  const q = queue();
  for (let i = 0; i < 40; i++) q.enqueue('busy', 'busy');
  for (let i = 0; i < 20; i++) q.complete(q.dequeue(all)!.key, 50);
  for (let i = 0; i < 20; i++) q.enqueue('new', 'new');
  const order: string[] = [];
  for (let i = 0; i < 10; i++) {
    const { key, item } = q.dequeue(all)!;
    order.push(item);
    q.complete(key, 50);
  }
  expect(order.filter((item) => item === 'new').length).toBeWithin(4, 7);
});

test('an item above the limit of its key is refused, and a full queue displaces an item of the longest lane', () => {
  const q = queue(3, 4);
  for (let i = 0; i < 3; i++) expect(q.enqueue('a', `a${i}`)).toEqual({ ok: true, displaced: null });
  expect(q.enqueue('a', 'a3')).toEqual({ ok: false, full: 'key' });
  q.enqueue('b', 'b0');
  expect(q.enqueue('c', 'c0')).toEqual({ ok: true, displaced: 'a2' });
  expect(q.enqueue('d', 'd0')).toEqual({ ok: true, displaced: 'a1' });
  expect(q.enqueue('e', 'e0')).toEqual({ ok: false, full: 'queue' });
});

test('a dequeued item can be requeued into a full queue', () => {
  const q = queue(1, 1);
  q.enqueue('a', 'first');
  expect(next(q)).toBe('first');
  q.enqueue('a', 'second');
  q.requeue('a', 'first');
  expect(q.size).toBe(2);
  expect(q.enqueue('b', 'third')).toMatchObject({ ok: true, displaced: 'first' });
});

test('items of a key keep their order, none is lost or served twice, and the size is right', () => {
  const step = fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    act: fc.constantFrom('push', 'push', 'take', 'remove'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const q = queue(10, 20);
      const model = new Map<string, string[]>([...'abc'].map((key) => [key, []]));
      steps.forEach(({ key, act }, n) => {
        const lane = model.get(key)!;
        if (act === 'push') {
          const pushed = q.enqueue(key, `${key}${n}`);
          if (!pushed.ok) return;
          lane.push(`${key}${n}`);
          if (pushed.displaced) expect(model.get(pushed.displaced[0]!)!.pop()).toBe(pushed.displaced);
        } else if (act === 'take') {
          const taken = q.dequeue(all);
          if (!taken) {
            expect([...model.values()].flat()).toEqual([]);
            return;
          }
          expect(model.get(taken.key)!.shift()).toBe(taken.item);
          q.complete(taken.key, n % 7);
        } else if (lane.length > 0) q.remove(key, lane.splice(n % lane.length, 1)[0]!);
        expect(q.size).toBe([...model.values()].flat().length);
      });
      expect(q.drain().sort()).toEqual([...model.values()].flat().sort());
    }),
  );
});
