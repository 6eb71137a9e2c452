import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { SlotHeap } from '../../src/util/slot-heap.ts';

test('a slot heap has the least key first under any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(99), fc.nat(30)), { maxLength: 400, size: 'max' }), (steps) => {
      const keys = new Map<number, number>();
      const heap = new SlotHeap((slot) => keys.get(slot)!);
      for (const [slot, key] of steps) {
        // Removes one that is in the heap.
        if (keys.has(slot)) {
          heap.remove(slot);
          keys.delete(slot);
        } else {
          keys.set(slot, key);
          heap.add(slot);
        }
        expect([heap.size, heap.has(slot)]).toEqual([keys.size, keys.has(slot)]);
        if (keys.size === 0) expect(heap.first).toBe(-1);
        else expect(keys.get(heap.first)).toBe(Math.min(...keys.values()));
      }
      heap.remove(1000);
      const drained: number[] = [];
      for (let slot = heap.first; slot >= 0; slot = heap.first) {
        drained.push(keys.get(slot)!);
        heap.remove(slot);
      }
      expect(drained).toEqual([...keys.values()].sort((a, b) => a - b));
    }),
  );
});
