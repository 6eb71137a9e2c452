import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ChaCha20 } from '../../src/crypto/chacha20.ts';
import { ChaCha20Poly1305 } from '../../src/crypto/chacha20-poly1305.ts';
import { FsChaCha20, FsChaCha20Poly1305 } from '../../src/crypto/fs-chacha20.ts';
import { hkdfSha256 } from '../../src/crypto/hkdf.ts';
import { Poly1305 } from '../../src/crypto/poly1305.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../src/util/bytes.ts';

const text = new TextEncoder().encode(
  "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.",
);
const counting = (from: number, length: number) => Uint8Array.from({ length }, (_, i) => from + i);
const EMPTY = new Uint8Array(0);

function poly1305(key: Uint8Array, ...parts: Uint8Array[]): string {
  const poly = new Poly1305(key);
  for (const part of parts) poly.update(part);
  const tag = new Uint8Array(16);
  poly.finish(tag);
  return bytesToHex(tag);
}

/** The definition of Poly1305 with bigints. */
function poly1305Model(key: Uint8Array, data: Uint8Array): string {
  const number = (bytes: Uint8Array) => BigInt(`0x${bytesToHex(bytes.toReversed()) || '0'}`);
  const r = number(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let at = 0; at < data.length; at += 16)
    sum = ((sum + number(concatBytes(data.subarray(at, at + 16), Uint8Array.of(1)))) * r) % ((1n << 130n) - 5n);
  const tag = (sum + number(key.subarray(16))) & ((1n << 128n) - 1n);
  return bytesToHex(hexToBytes(tag.toString(16).padStart(32, '0')).reverse());
}

describe('RFC 8439', () => {
  test('2.4.2: ChaCha20 from block 1 on', () => {
    const stream = new ChaCha20(counting(0, 32));
    stream.seek(0, 0x4a00_0000, 1);
    const out = new Uint8Array(text.length);
    stream.crypt(text, out);
    expect(bytesToHex(out)).toBe(
      '6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c5524733ab8f593dabcd62b3571639d624e65152ab' +
        '8f530c359f0861d807ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab77937365af90bbf74a35be6b40b8eedf2785e42' +
        '874d',
    );
  });

  test('2.5.2: Poly1305', () => {
    const key = hexToBytes('85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b');
    const data = new TextEncoder().encode('Cryptographic Forum Research Group');
    expect(poly1305(key, data)).toBe('a8061dc1305136c6c22b8baf0c0127a9');
  });

  // Cases for implementations with wrong carries.
  const ones = 'ff'.repeat(16);
  test.each([
    ['02', '', ones, '03'],
    ['02', ones, '02', '03'],
    ['01', '', `${ones}f0${'ff'.repeat(15)}11${'00'.repeat(15)}`, '05'],
    ['01', '', `${ones}fb${'fe'.repeat(15)}${'01'.repeat(16)}`, '00'],
    ['02', '', `fd${'ff'.repeat(15)}`, `fa${'ff'.repeat(15)}`],
    [
      '010000000000000004',
      '',
      `e33594d7505e43b900000000000000003394d7505e4379cd01${'00'.repeat(23)}01${'00'.repeat(15)}`,
      '14000000000000005500000000000000',
    ],
    ['010000000000000004', '', `e33594d7505e43b900000000000000003394d7505e4379cd01${'00'.repeat(23)}`, '13'],
  ])('A.3: r %s, s %s', (r, s, data, tag) => {
    const bytes = hexToBytes(data.padEnd(32, '0'));
    expect(poly1305(hexToBytes(r.padEnd(32, '0') + s.padEnd(32, '0')), bytes)).toBe(tag.padEnd(32, '0'));
  });
});

test('Poly1305 equals its definition for data in any pieces', () => {
  const edges = fc.oneof(fc.constantFrom(0, 1, 2, 4, 5, 0xfb, 0xfc, 0xfe, 0xff), fc.integer({ min: 0, max: 255 }));
  fc.assert(
    fc.property(
      fc.array(edges, { minLength: 32, maxLength: 32 }),
      fc.array(edges, { maxLength: 200 }),
      fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 4 }),
      (key, data, cuts) => {
        const bytes = Uint8Array.from(data);
        const at = [0, ...cuts.filter((cut) => cut < data.length).sort((a, b) => a - b), data.length];
        const parts = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
        expect(poly1305(Uint8Array.from(key), ...parts)).toBe(poly1305Model(Uint8Array.from(key), bytes));
      },
    ),
    { numRuns: 2000 },
  );
});

test('Poly1305 is correct for a long text with all bits set', () => {
  const key = new Uint8Array(32).fill(0xff);
  const data = new Uint8Array(100_000).fill(0xff);
  expect(poly1305(key, data)).toBe(poly1305Model(key, data));
});

test('ChaCha20 yields the same stream for any pieces', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 200 }), { maxLength: 10 }), (sizes) => {
      const total = sizes.reduce((sum, size) => sum + size, 0);
      const whole = new Uint8Array(total);
      new ChaCha20(counting(7, 32)).keyStream(whole);
      const stream = new ChaCha20(counting(7, 32));
      const parts = sizes.map((size) => {
        const part = new Uint8Array(size);
        stream.keyStream(part);
        return part;
      });
      expect(concatBytes(...parts)).toEqual(whole);
    }),
  );
});

test('decrypt returns the encrypted text, and null if one bit differs', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 20 }),
      fc.uint8Array({ maxLength: 200 }),
      fc.uint8Array({ maxLength: 40 }),
      fc.nat(),
      (head, body, aad, bit) => {
        const out = new Uint8Array(head.length + body.length + 16);
        const aead = new ChaCha20Poly1305(counting(1, 32));
        aead.encrypt(3, 0x1_0000_0005, aad, head, body, out);
        expect(aead.decrypt(3, 0x1_0000_0005, aad, out)).toEqual(concatBytes(head, body));
        expect(aead.decrypt(4, 0x1_0000_0005, aad, out)).toBeNull();
        expect(aead.decrypt(3, 5, aad, out)).toBeNull();
        out[(bit >> 3) % out.length]! ^= 1 << (bit & 7);
        expect(aead.decrypt(3, 0x1_0000_0005, aad, out)).toBeNull();
      },
    ),
  );
  expect(new ChaCha20Poly1305(counting(1, 32)).decrypt(0, 0, EMPTY, new Uint8Array(15))).toBeNull();
});

test('BIP-324: sender and receiver rekey together', () => {
  const [a, b] = [new FsChaCha20(counting(1, 32), 3), new FsChaCha20(counting(1, 32), 3)];
  const [seal, open] = [new FsChaCha20Poly1305(counting(1, 32), 3), new FsChaCha20Poly1305(counting(1, 32), 3)];
  const texts = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const chunk = new Uint8Array(3);
    const stretch = new Uint8Array(3);
    a.crypt(chunk, stretch);
    texts.add(bytesToHex(stretch));
    b.crypt(stretch, stretch);
    expect(stretch).toEqual(chunk);
    const packet = new Uint8Array(20);
    seal.encrypt(EMPTY, Uint8Array.of(9), chunk, packet);
    texts.add(bytesToHex(packet));
    expect(open.decrypt(EMPTY, packet)).toEqual(Uint8Array.of(9, 0, 0, 0));
  }
  expect(texts.size).toBe(40);
});

test('RFC 5869, case 3: HKDF-SHA256 without salt and info, first block', () =>
  expect(bytesToHex(hkdfSha256(new Uint8Array(22).fill(0x0b), EMPTY)(''))).toBe(
    '8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d',
  ));
