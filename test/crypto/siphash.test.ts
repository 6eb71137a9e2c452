import { describe, expect, test } from 'bun:test';
import { sipHash, sipHashKey, sipHashKeyOf, sipHashWords } from '../../src/crypto/siphash.ts';
import { concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';

interface Row {
  readonly key: readonly [string, string];
  /** Parts that are hashed together. */
  readonly input: readonly string[];
  readonly expected: { readonly siphash24: string };
}

const counting = (length: number) => Uint8Array.from({ length }, (_, i) => i);

describe('SipHash-2-4', () => {
  test.skipIf(!hasVectors)('siphash.json', () => {
    const rows = readVectorJson<Row[]>('core/siphash.json');
    for (const { key, input, expected } of rows) {
      const data = concatBytes(...input.map(hexToBytes));
      const hash = sipHash(sipHashKey(BigInt(`0x${key[0]}`), BigInt(`0x${key[1]}`)), data);
      expect(hash.toString(16).padStart(16, '0')).toBe(expected.siphash24);
    }
    expect(rows.length).toBe(146);
  });

  test('matches the example of its authors', () => {
    const key = sipHashKeyOf(counting(16));
    expect(key).toEqual(sipHashKey(0x0706050403020100n, 0x0f0e0d0c0b0a0908n));
    expect(sipHash(key, counting(15))).toBe(0xa129ca6149be45e5n);
    const words = new Uint32Array(2);
    sipHashWords(key, counting(15), words);
    expect([...words]).toEqual([0x49be45e5, 0xa129ca61]);
  });

  test('accepts data and keys that begin inside a buffer', () => {
    const bytes = counting(64);
    const key = sipHashKeyOf(bytes.subarray(3, 19));
    expect(key).toEqual(sipHashKeyOf(bytes.slice(3, 19)));
    for (let length = 0; length < 40; length++)
      expect(sipHash(key, bytes.subarray(5, 5 + length))).toBe(sipHash(key, bytes.slice(5, 5 + length)));
  });

  // Only the lowest byte of the length is hashed.
  test('hashes more than 255 bytes', () => {
    const key = sipHashKey(1n, 2n);
    expect(sipHash(key, new Uint8Array(256))).not.toBe(sipHash(key, new Uint8Array(0)));
    expect(sipHash(key, new Uint8Array(256))).not.toBe(sipHash(key, new Uint8Array(264)));
  });
});
