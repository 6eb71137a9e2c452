import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ByteArena } from '../../src/util/byte-arena.ts';

test('an arena equals a map of arrays under any additions and removals', () => {
  const length = fc.oneof(fc.nat(600), fc.nat(20_000), fc.integer({ min: 100_000, max: 200_000 }));
  const step = fc.oneof(fc.record({ length }), fc.record({ free: fc.nat() }));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const arena = new ByteArena();
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
      for (const [at, bytes] of held) expect(arena.view(at, bytes.length)).toEqual(bytes);
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
