import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { ellswiftCreate, ellswiftDecode, ellswiftSharedSecret, xSwiftEcInverse } from '../../src/crypto/ellswift.ts';
import { xOnlyOf } from '../../src/crypto/keys.ts';
import { bytesToHex, hexToBytes } from '../../src/util/bytes.ts';
import { hasVectors, vectorPath } from '../lib/vectors.ts';

/** Rows of a table without quoted fields, by the names in its first line. */
function table(name: string): Record<string, string>[] {
  const [head = '', ...lines] = readFileSync(vectorPath(`bips/${name}`), 'utf8')
    .trim()
    .split(/\r?\n/);
  const names = head.split(',');
  return lines.map((line) => Object.fromEntries(line.split(',').map((field, i) => [names[i]!, field])));
}

describe.skipIf(!hasVectors)('BIP-324 tables', () => {
  test('ellswift_decode', () => {
    const rows = table('bip324-ellswift_decode_test_vectors.csv');
    for (const { ellswift, x } of rows) expect(bytesToHex(ellswiftDecode(hexToBytes(ellswift!)))).toBe(x!);
    expect(rows.length).toBe(76);
  });

  test('xswiftec_inv', () => {
    const rows = table('bip324-xswiftec_inv_test_vectors.csv');
    for (const row of rows)
      for (let form = 0; form < 8; form++) {
        const t = xSwiftEcInverse(BigInt(`0x${row.x!}`), BigInt(`0x${row.u!}`), form);
        expect(t === null ? '' : t.toString(16).padStart(64, '0')).toBe(row[`case${form}_t`]!);
      }
    expect(rows.length).toBe(32);
  });
});

const secret = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter((bytes) => bytes[0]! > 0 && bytes[0]! < 255);

test('an encoded key decodes to the X of the key, and both sides compute the same secret', () => {
  fc.assert(
    fc.property(secret, secret, (a, b) => {
      const [ours, theirs] = [ellswiftCreate(a), ellswiftCreate(b)];
      expect(ellswiftDecode(ours)).toEqual(xOnlyOf(a));
      const shared = ellswiftSharedSecret(a, ours, theirs, true);
      expect(ellswiftSharedSecret(b, theirs, ours, false)).toEqual(shared);
      expect(ellswiftSharedSecret(b, theirs, ours, true)).not.toEqual(shared);
    }),
    { numRuns: 10 },
  );
});

test('zero random bytes are replaced by others, since u must not be zero', () => {
  let draws = 0;
  const random = (size: number) => new Uint8Array(size).fill(draws++ < 4 ? 0 : draws);
  const encoded = ellswiftCreate(new Uint8Array(32).fill(1), random);
  expect(encoded.subarray(0, 32).every((byte) => byte === 0)).toBe(false);
  expect(ellswiftDecode(encoded)).toEqual(xOnlyOf(new Uint8Array(32).fill(1)));
});

test('a secret of zero is refused', () => expect(() => ellswiftCreate(new Uint8Array(32))).toThrow('valid secret'));
