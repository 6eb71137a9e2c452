import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SlotIndex } from '../../src/util/slot-index.ts';

const WIDTH = 36;

/** A key that shares most of its bytes with others. */
function keyOf(id: number): Uint8Array {
  const key = new Uint8Array(WIDTH);
  key[id % 3 === 0 ? 0 : 33] = id & 0xff;
  key[10] = id >> 8;
  return key;
}

test('a slot index equals a map under any additions and removals', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 3000 })), {
    minLength: 1500,
    maxLength: 4000,
  });
  fc.assert(
    fc.property(steps, (list) => {
      let keys = new Uint8Array(WIDTH * 16);
      const index = new SlotIndex(WIDTH, () => keys);
      const model = new Map<number, number>();
      const free: number[] = [];
      let used = 0;
      for (const [add, id] of list) {
        const slot = model.get(id);
        expect(index.find(keyOf(id))).toBe(slot ?? -1);
        if (add && slot === undefined) {
          const next = free.pop() ?? used++;
          if ((next + 1) * WIDTH > keys.length) {
            const larger = new Uint8Array(keys.length * 2);
            larger.set(keys);
            keys = larger;
          }
          keys.set(keyOf(id), next * WIDTH);
          index.add(next);
          model.set(id, next);
        } else if (!add && slot !== undefined) {
          index.remove(slot);
          model.delete(id);
          free.push(slot);
        }
        expect(index.count).toBe(model.size);
      }
      for (const [id, slot] of model) expect(index.find(keyOf(id))).toBe(slot);
    }),
    { numRuns: 20 },
  );
});
