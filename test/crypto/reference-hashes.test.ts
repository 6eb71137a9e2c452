import { describe, test } from 'bun:test';
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { ripemd160, sha1 } from '@noble/hashes/legacy.js';
import { sha256, sha512 } from '@noble/hashes/sha2.js';
import fc from 'fast-check';
import * as ours from '../../src/crypto/hash-functions.ts';
import { hkdfSha256 } from '../../src/crypto/hkdf.ts';
import { hmacSha512 } from '../../src/crypto/hmac-sha512.ts';
import { equalBytes } from '../../src/util/bytes.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const same = (a: Uint8Array, b: Uint8Array) => equalBytes(a, b);

// @noble/hashes is audited and shares no code with the runtime's hashes.
describe('the hashes agree with those of @noble/hashes', () => {
  test.each<[string, (data: Uint8Array) => Uint8Array, (data: Uint8Array) => Uint8Array]>([
    ['SHA-256', ours.sha256, sha256],
    ['double SHA-256', ours.hash256, (data) => sha256(sha256(data))],
    ['HASH160', ours.hash160, (data) => ripemd160(sha256(data))],
    ['RIPEMD-160', ours.ripemd160, ripemd160],
    ['SHA-1', ours.sha1, sha1],
  ])('%s', (_, hash, reference) => fc.assert(fc.property(bytes(300), (data) => same(hash(data), reference(data)))));

  test('HMAC-SHA512 agrees for keys shorter and longer than a block', () =>
    fc.assert(
      fc.property(bytes(200), bytes(300), (key, data) => same(hmacSha512(key, data), hmac(sha512, key, data))),
    ));

  test('HKDF-SHA256 agrees for 32 bytes', () =>
    fc.assert(
      fc.property(bytes(100), bytes(100), fc.string({ maxLength: 40 }), (secret, salt, info) =>
        same(hkdfSha256(secret, salt)(info), hkdf(sha256, secret, salt, new TextEncoder().encode(info), 32)),
      ),
    ));
});
