import { expect, test } from 'bun:test';
import fc from 'fast-check';
import {
  ByteReader,
  ByteWriter,
  bytesToHex,
  DecodeError,
  equalBytes,
  hexToBytes,
  isHex,
} from '../../src/util/bytes.ts';

test('a writer grows beyond its capacity', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.uint8Array({ maxLength: 40 }))),
      (items) => {
        const w = new ByteWriter(1);
        for (const [number, bytes] of items) {
          w.u64(number);
          w.u8(bytes.length);
          w.bytes(bytes);
          w.u32(Number(number & 0xffff_ffffn));
          w.u16(Number(number & 0xffffn));
          w.i64(-(number >> 1n));
        }
        const r = new ByteReader(w.finish());
        for (const [number, bytes] of items) {
          expect(r.u64()).toBe(number);
          expect(equalBytes(r.bytes(r.u8()), bytes)).toBe(true);
          expect(r.u32()).toBe(Number(number & 0xffff_ffffn));
          expect(r.u16()).toBe(Number(number & 0xffffn));
          expect(r.i64()).toBe(-(number >> 1n));
        }
        expect(r.remaining).toBe(0);
      },
    ),
  );
});

test('reading past the end throws DecodeError', () => {
  const r = new ByteReader(Uint8Array.of(1, 2, 3));
  expect(() => r.u32()).toThrow(DecodeError);
  expect(() => r.bytes(4)).toThrow(DecodeError);
  expect(r.bytes(3)).toEqual(Uint8Array.of(1, 2, 3));
});

test('hex', () => {
  expect(bytesToHex(hexToBytes('00fFab'))).toBe('00ffab');
  for (const bad of ['0', 'zz', '0x', ' 00']) expect(() => hexToBytes(bad)).toThrow(DecodeError);
});

test('isHex accepts hexadecimal text of any even length', () => {
  for (const good of ['', '00', 'fFaB']) expect(isHex(good)).toBe(true);
  for (const bad of ['0', 'zz', '0x', ' 00', '00\n', '0g']) expect(isHex(bad)).toBe(false);
  const long = 'ab'.repeat(5_000_000);
  expect(isHex(long)).toBe(true);
  expect(isHex(`${long}zz`)).toBe(false);
});
