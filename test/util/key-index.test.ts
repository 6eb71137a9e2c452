import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { KeyIndex } from '../../src/util/key-index.ts';

describe('KeyIndex', () => {
  test('numbers keys in order of first appearance, as a map would', () => {
    const key = fc.uint8Array({ minLength: 20, maxLength: 20, max: 2 });
    fc.assert(
      fc.property(fc.array(key, { maxLength: 100 }), (keys) => {
        const index = new KeyIndex(20);
        const model = new Map<string, number>();
        for (const one of keys) {
          const hex = one.toHex();
          if (!model.has(hex)) model.set(hex, model.size);
          expect(index.intern(one)).toBe(model.get(hex)!);
        }
        expect(index.count).toBe(model.size);
        for (const [hex, number] of model) expect(index.key(number).toHex()).toBe(hex);
      }),
    );
  });

  test('grows without losing keys', () => {
    const index = new KeyIndex(8);
    const key = (n: number) => {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setUint32(4, n);
      return bytes;
    };
    for (let n = 0; n < 20_000; n++) if (index.intern(key(n)) !== n) throw new Error(`key ${n} has another number`);
    for (let n = 0; n < 20_000; n++) if (index.intern(key(n)) !== n) throw new Error(`key ${n} is not found again`);
    expect(index.count).toBe(20_000);
    expect(index.key(19_999)).toEqual(key(19_999));
  });
});
