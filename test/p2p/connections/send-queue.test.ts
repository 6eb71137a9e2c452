import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SendQueue } from '../../../src/p2p/connections/send-queue.ts';
import { concatBytes } from '../../../src/util/bytes.ts';

test('bytes are sent in order and counted by type, whatever the socket accepts', () => {
  const piece = fc.record({
    bytes: fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.integer({ min: 16_000, max: 40_000 }).map((n) => new Uint8Array(n).fill(n)),
    ),
    type: fc.constantFrom('tx', 'inv', null),
  });
  const room = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 }), fc.constant(1_000_000));
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, room), { maxLength: 40 }), (steps) => {
      const queue = new SendQueue();
      const out: Uint8Array[] = [];
      const counted = new Map<string | null, number>();
      const flush = (limit: number) => {
        let left = limit;
        const write = (bytes: Uint8Array) => {
          const taken = Math.min(left, bytes.length);
          left -= taken;
          out.push(bytes.slice(0, taken));
          return taken;
        };
        queue.flush(write, (count, type) => counted.set(type, (counted.get(type) ?? 0) + count));
      };
      for (const [{ bytes, type }, limit] of steps) {
        queue.push(bytes, type, 0);
        flush(limit);
      }
      flush(Number.POSITIVE_INFINITY);
      expect(queue.isEmpty).toBe(true);
      expect(queue.size).toBe(0);
      expect(concatBytes(...out)).toEqual(concatBytes(...steps.map(([{ bytes }]) => bytes)));
      for (const type of ['tx', 'inv', null]) {
        const pushed = steps.reduce((sum, [step]) => sum + (step.type === type ? step.bytes.length : 0), 0);
        expect(counted.get(type) ?? 0).toBe(pushed);
      }
    }),
  );
});

test('small pieces count with their overhead', () => {
  const queue = new SendQueue();
  for (let i = 0; i < 1000; i++) queue.push(new Uint8Array(1), 'ping', 0);
  expect(queue.size).toBeGreaterThan(100_000);
  queue.clear();
  expect([queue.size, queue.isEmpty]).toEqual([0, true]);
});
