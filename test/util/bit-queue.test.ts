import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { BitQueue } from '../../src/util/bit-queue.ts';

test('a bit queue returns bits in the order in which they were added', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(1)), { maxLength: 3000, size: 'max' }), (steps) => {
      const queue = new BitQueue();
      const model: number[] = [];
      for (const bit of steps) {
        if (bit !== null) {
          queue.push(bit);
          model.push(bit);
        } else if (model.length > 0) expect(queue.shift()).toBe(model.shift()!);
        expect(queue.size).toBe(model.length);
      }
      queue.clear();
      expect([queue.size, queue.usage]).toEqual([0, 64]);
    }),
    { numRuns: 20 },
  );
});
