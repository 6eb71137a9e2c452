import { describe, expect, test } from 'bun:test';
import { readCompactSize, readVarBytes } from '../../src/primitives/compact-size.ts';
import { decodeWitness } from '../../src/primitives/transaction.ts';
import { ByteReader, DecodeError } from '../../src/util/bytes.ts';

const sizeOf = (...bytes: number[]) => readCompactSize(new ByteReader(Uint8Array.from(bytes)));

describe('compact sizes', () => {
  const good: [size: number, bytes: number[]][] = [
    [0, [0]],
    [252, [0xfc]],
    [253, [0xfd, 0xfd, 0]],
    [65_535, [0xfd, 0xff, 0xff]],
    [65_536, [0xfe, 0, 0, 1, 0]],
    [33_554_432, [0xfe, 0, 0, 0, 2]],
  ];
  for (const [size, bytes] of good) test(`${size}`, () => expect(sizeOf(...bytes)).toBe(size));

  const longer: [title: string, bytes: number[]][] = [
    ['252 in three bytes', [0xfd, 0xfc, 0]],
    ['65,535 in five bytes', [0xfe, 0xff, 0xff, 0, 0]],
    ['2^32 - 1 in nine bytes', [0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]],
  ];
  for (const [title, bytes] of longer)
    test(`rejected: ${title}`, () => expect(() => sizeOf(...bytes)).toThrow('non-canonical compact size'));

  for (const bytes of [
    [0xfe, 1, 0, 0, 2],
    [0xff, 0, 0, 0, 0, 1, 0, 0, 0],
    [0xff, 255, 255, 255, 255, 255, 255, 255, 255],
  ])
    test(`rejected: above 32 MiB, ${bytes.length} bytes`, () =>
      expect(() => sizeOf(...bytes)).toThrow('compact size too large'));

  for (const bytes of [[], [0xfd, 1], [0xfe, 0, 0, 1], [0xff, 0, 0, 0, 0, 1, 0, 0]])
    test(`rejected: truncated after ${bytes.length} bytes`, () => expect(() => sizeOf(...bytes)).toThrow(DecodeError));
});

describe('byte strings', () => {
  test('are views', () => {
    const buf = Uint8Array.of(2, 7, 8, 9);
    const bytes = readVarBytes(new ByteReader(buf));
    expect(bytes).toEqual(Uint8Array.of(7, 8));
    expect(bytes.buffer).toBe(buf.buffer);
  });

  test('longer than the remaining bytes are rejected', () => {
    expect(() => readVarBytes(new ByteReader(Uint8Array.of(3, 7, 8)))).toThrow(DecodeError);
  });

  // A block of 4 MB may hold 4 million empty witness items, which would need a GB as separate objects.
  test('are one object if they are empty', () => {
    const items = decodeWitness(new ByteReader(Uint8Array.of(3, 0, 1, 5, 0)));
    expect(items).toEqual([new Uint8Array(), Uint8Array.of(5), new Uint8Array()]);
    expect(items[0]).toBe(items[2]!);
  });
});
