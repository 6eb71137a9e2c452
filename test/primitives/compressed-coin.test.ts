import { describe, expect, test } from 'bun:test';
import {
  compressAmount,
  decompressAmount,
  readCompressedCoin,
  writeCompressedCoin,
} from '../../src/primitives/compressed-coin.ts';
import { compareVarInts, readBigVarInt, readVarInt, writeVarInt } from '../../src/primitives/var-int.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../src/util/bytes.ts';

const encoded = (write: (w: ByteWriter) => void): string => {
  const w = new ByteWriter();
  write(w);
  return w.finish().toHex();
};
const reader = (hex: string) => new ByteReader(Uint8Array.fromHex(hex));

describe('VARINT', () => {
  const rows: [value: number | bigint, hex: string][] = [
    [0, '00'],
    [0x7f, '7f'],
    [0x80, '8000'],
    [0x1234, 'a334'],
    [0xffff, '82fe7f'],
    [0x12_3456, 'c7e756'],
    [0x8012_3456, '86ffc7e756'],
    [0xffff_ffff, '8efefefe7f'],
    [0x7fff_ffff_ffff_ffffn, 'fefefefefefefefe7f'],
    [0xffff_ffff_ffff_ffffn, '80fefefefefefefefe7f'],
  ];
  for (const [value, hex] of rows)
    test(`${value}`, () => {
      expect(encoded((w) => writeVarInt(w, value))).toBe(hex);
      expect(encoded((w) => writeVarInt(w, BigInt(value)))).toBe(hex);
      expect(readBigVarInt(reader(hex))).toBe(BigInt(value));
      if (value <= 0xffff_ffff) expect(readVarInt(reader(hex))).toBe(Number(value));
      else expect(() => readVarInt(reader(hex))).toThrow(DecodeError);
    });

  test('above 64 bits is rejected', () =>
    expect(() => readBigVarInt(reader('80fefefefefefefeff00'))).toThrow(DecodeError));

  test('encodings compare as bytes', () => {
    const values = [0, 1, 127, 128, 200, 16_511, 16_512, 16_600, 65_535, 2_113_663, 2_113_664];
    for (const a of values)
      for (const b of values) {
        const order = encoded((w) => writeVarInt(w, a)) < encoded((w) => writeVarInt(w, b));
        expect([a, b, compareVarInts(a, b) < 0]).toEqual([a, b, order]);
      }
    expect(compareVarInts(16_512, 256)).toBeLessThan(0);
  });
});

describe('compressed amounts', () => {
  // The pairs of Core's compress_tests.
  const rows: [satoshis: number, compressed: number][] = [
    [0, 0],
    [1, 1],
    [1_000_000, 7],
    [100_000_000, 9],
    [5_000_000_000, 0x32],
    [2_100_000_000_000_000, 0x140_6f40],
  ];
  for (const [satoshis, compressed] of rows)
    test(`${satoshis}`, () => {
      expect(Number(compressAmount(satoshis))).toBe(compressed);
      expect(decompressAmount(BigInt(compressed))).toBe(BigInt(satoshis));
    });

  test('every amount comes back, with and without 53 bits', () => {
    for (let i = 0; i < 2000; i++) {
      const satoshis = Math.floor(2_100_000_000_000_000 * Math.random() ** 4);
      expect(decompressAmount(BigInt(compressAmount(satoshis)))).toBe(BigInt(satoshis));
    }
    for (const satoshis of [2_099_999_999_999_999, 900_000_000_000_001, 899_999_999_999_999, 1_000_000_000_000_001]) {
      const reference = 1n + (BigInt(Math.floor(satoshis / 10)) * 9n + BigInt((satoshis % 10) - 1)) * 10n;
      expect(BigInt(compressAmount(satoshis))).toBe(reference);
      expect(decompressAmount(reference)).toBe(BigInt(satoshis));
    }
  });
});

describe('compressed coins', () => {
  const hash = '11'.repeat(20);
  const x = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
  const y = '483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';
  const odd = 'b7c52588d95c3b9aa25b0403f1eef75702e84bb7597aabe663b82f6f04ef2777';
  const rows: [kind: string, script: string, compressed: string][] = [
    ['pay to public key hash', `76a914${hash}88ac`, `00${hash}`],
    ['pay to script hash', `a914${hash}87`, `01${hash}`],
    ['pay to an even compressed key', `2102${x}ac`, `02${x}`],
    ['pay to an odd compressed key, even one without a point', `2103${'ff'.repeat(32)}ac`, `03${'ff'.repeat(32)}`],
    ['pay to an even uncompressed key', `4104${x}${y}ac`, `04${x}`],
    ['pay to an odd uncompressed key', `4104${x}${odd}ac`, `05${x}`],
    ['pay to an uncompressed key beside the curve', `4104${x}${'00'.repeat(32)}ac`, `494104${x}${'00'.repeat(32)}ac`],
    ['pay to a hybrid key', `4106${x}${y}ac`, `494106${x}${y}ac`],
    ['pay to witness public key hash', `0014${hash}`, `1c0014${hash}`],
    ['an empty script', '', '06'],
    ['a long script', '51'.repeat(200), `804e${'51'.repeat(200)}`],
  ];
  for (const [kind, script, compressed] of rows)
    test(kind, () => {
      const bytes = encoded((w) => writeCompressedCoin(w, 203_998, true, 5_000_000_000, Uint8Array.fromHex(script)));
      expect(bytes).toBe(`97f23d32${compressed}`);
      const coin = readCompressedCoin(reader(bytes));
      expect({ ...coin, script: coin.script.toHex() }).toEqual({
        height: 203_998,
        coinbase: true,
        value: 5_000_000_000n,
        script,
      });
    });

  test('a key without a point becomes an empty script, a script above the limit OP_RETURN, as in Core', () => {
    expect(readCompressedCoin(reader(`0400 04${'ff'.repeat(32)}`.replace(' ', ''))).script.length).toBe(0);
    const long = encoded((w) => writeVarInt(w, 10_007)) + '51'.repeat(10_001);
    const r = reader(`0400${long}07ac`);
    expect(readCompressedCoin(r).script.toHex()).toBe('6a');
    expect(r.remaining).toBe(2);
  });
});
