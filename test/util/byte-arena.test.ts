import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ByteArena } from '../../src/util/byte-arena.ts';

test('an arena, and one that follows it, equal a map of arrays under any additions and removals', () => {
  const length = fc.oneof(fc.nat(600), fc.nat(20_000), fc.integer({ min: 100_000, max: 200_000 }));
  const step = fc.oneof(fc.record({ length }), fc.record({ free: fc.nat() }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const arena = new ByteArena();
      const follower = new ByteArena();
      const held = new Map<number, Uint8Array>();
      let fill = 1;
      for (const each of steps) {
        if ('length' in each) {
          const bytes = new Uint8Array(each.length).fill(fill++ & 0xff);
          const cut = Math.floor(bytes.length / 3);
          const at = arena.add(bytes.subarray(0, cut), bytes.subarray(cut));
          expect(held.has(at)).toBe(false);
          held.set(at, bytes);
        } else if (held.size > 0) {
          const [at, bytes] = [...held][each.free % held.size]!;
          arena.free(at, bytes.length);
          held.delete(at);
        }
      }
      follower.applyChanges(arena.drainChanges());
      for (const [at, bytes] of held) {
        expect(arena.view(at, bytes.length).toHex()).toBe(bytes.toHex());
        expect(follower.view(at, bytes.length).toHex()).toBe(bytes.toHex());
        const copy = new Uint8Array(bytes.length + 1);
        follower.copy(at, bytes.length, copy, 1);
        expect(copy.toHex().slice(2)).toBe(bytes.toHex());
      }
    }),
    { numRuns: 60 },
  );
});

test('freed memory is used again', () => {
  const arena = new ByteArena();
  const piece = new Uint8Array(250);
  const first = arena.add(piece);
  arena.free(first, 250);
  expect(arena.add(new Uint8Array(245))).toBe(first);
});

test('an arena that follows another one reads what is written later, and drops the segment of a large piece', () => {
  const arena = new ByteArena();
  const follower = new ByteArena();
  arena.add(Uint8Array.of(1, 2, 3));
  follower.applyChanges(arena.drainChanges());
  const later = arena.add(Uint8Array.of(4, 5, 6));
  expect(arena.drainChanges()).toEqual([]);
  expect(follower.view(later, 3).toHex()).toBe('040506');
  const large = arena.add(new Uint8Array(200_000).fill(7));
  follower.applyChanges(arena.drainChanges());
  expect(follower.view(large, 200_000)[199_999]).toBe(7);
  arena.free(large, 200_000);
  expect(arena.drainChanges()).toEqual([[large / 2 ** 20, null]]);
});
