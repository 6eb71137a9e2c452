import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { parseDerLax } from '../../src/crypto/der.ts';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import {
  publicKeyOf,
  randomSecret,
  recoverPublicKey,
  signEcdsaCompact,
  tapTweakPublicKey,
  tapTweakSecret,
  xOnlyOf,
} from '../../src/crypto/keys.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { bytesToHex, concatBytes, hexToBytes } from '../../src/util/bytes.ts';
import { signEcdsa } from '../lib/sign-ecdsa.ts';
import { hasVectors, vectorPath } from '../lib/vectors.ts';
import { presentEngines, signatures } from '../proof/signatures.ts';

const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';
const N = BigInt(`0x${ORDER}`);
const P_HEX = 'fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f';
const G_X = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';

const engines = presentEngines().map(({ engine }) => engine);

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const secrets = bytes32.map((bytes) => sha256(bytes));
const to32 = (value: bigint): Uint8Array => hexToBytes(value.toString(16).padStart(64, '0'));

/** The result of all engines, which must be equal. */
function agreed(ask: (engine: SignatureEngine) => boolean): boolean {
  const [first, ...others] = engines.map(ask);
  for (const other of others) expect(other).toBe(first!);
  return first!;
}

function flip(bytes: Uint8Array, bit: number): Uint8Array {
  const changed = bytes.slice();
  changed[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7);
  return changed;
}

test.skipIf(!hasVectors)('bip340-schnorr.csv', () => {
  const rows = readFileSync(vectorPath('bips/bip340-schnorr.csv'), 'utf8').trim().split(/\r?\n/).slice(1);
  let seen = 0;
  for (const row of rows) {
    const [, secret, key, aux, message, signature, result] = row.split(',') as [string, ...string[]];
    // Bitcoin signs only messages of 32 bytes.
    if (message!.length !== 64) continue;
    seen++;
    const [msg, sig, pub] = [hexToBytes(message!), hexToBytes(signature!), hexToBytes(key!)];
    expect(agreed((engine) => engine.verifySchnorr(sig, msg, pub))).toBe(result === 'TRUE');
    if (secret) {
      expect(xOnlyOf(hexToBytes(secret))).toEqual(pub);
      expect(signSchnorr(msg, hexToBytes(secret), hexToBytes(aux!))).toEqual(sig);
    }
  }
  expect(seen).toBe(15);
});

// `npm run proof -- signatures` runs more of them.
test('all libraries of this machine give the same results for 2,000 random and extreme cases', async () => {
  const { violations } = await signatures.run(2000, 1, new AbortController().signal);
  expect(violations).toEqual([]);
}, 60_000);

describe('engines agree', () => {
  test('on ECDSA', () =>
    fc.assert(
      fc.property(secrets, bytes32, fc.boolean(), fc.nat(2047), (secret, msg, compressed, bit) => {
        const key = publicKeyOf(secret, compressed);
        const { signature } = signEcdsaCompact(msg, secret);
        const der = signEcdsa(msg, secret);
        expect(agreed((engine) => engine.verifyEcdsa(der, msg, key))).toBe(true);
        // The other S of the pair, in the same lax form without a sign byte.
        const high = to32(N - BigInt(`0x${bytesToHex(signature.subarray(32))}`));
        const lax = laxDer(signature.subarray(0, 32), high);
        expect(agreed((engine) => engine.verifyEcdsa(lax, msg, key))).toBe(true);
        expect(agreed((engine) => engine.verifyEcdsa(der, flip(msg, bit), key))).toBe(false);
        agreed((engine) => engine.verifyEcdsa(flip(der, bit), msg, key));
        // Some changes keep the signature valid: the first byte may become that of the same key in hybrid form.
        agreed((engine) => engine.verifyEcdsa(der, msg, flip(key, bit)));
        agreed((engine) => engine.isValidPublicKey(flip(key, bit)));
      }),
      { numRuns: 60 },
    ));

  test('on Schnorr and taproot tweaks', () =>
    fc.assert(
      fc.property(secrets, bytes32, bytes32, fc.nat(511), (secret, msg, tweak, bit) => {
        const key = xOnlyOf(secret);
        const signature = signSchnorr(msg, secret);
        expect(agreed((engine) => engine.verifySchnorr(signature, msg, key))).toBe(true);
        expect(agreed((engine) => engine.verifySchnorr(flip(signature, bit), msg, key))).toBe(false);
        expect(agreed((engine) => engine.verifySchnorr(signature, flip(msg, bit), key))).toBe(false);
        expect(agreed((engine) => engine.verifySchnorr(signature, msg, flip(key, bit)))).toBe(false);
        const output = tapTweakPublicKey(key, tweak)!;
        expect(agreed((engine) => engine.checkTapTweak(output.key, key, tweak, output.parity))).toBe(true);
        expect(agreed((engine) => engine.checkTapTweak(output.key, key, tweak, 1 - output.parity))).toBe(false);
        expect(agreed((engine) => engine.checkTapTweak(flip(output.key, bit), key, tweak, output.parity))).toBe(false);
        expect(agreed((engine) => engine.checkTapTweak(output.key, flip(key, bit), tweak, output.parity))).toBe(false);
        expect(xOnlyOf(tapTweakSecret(secret, tweak))).toEqual(output.key);
      }),
      { numRuns: 40 },
    ));

  test('on hybrid keys, which are valid if the first byte has the parity of Y', () => {
    for (let i = 0; i < 8; i++) {
      const secret = randomSecret();
      const msg = sha256(secret);
      const der = signEcdsa(msg, secret);
      const key = publicKeyOf(secret, false);
      const odd = key[64]! & 1;
      for (const prefix of [6, 7]) {
        const hybrid = key.slice();
        hybrid[0] = prefix;
        expect(agreed((engine) => engine.verifyEcdsa(der, msg, hybrid))).toBe(prefix === 6 + odd);
        expect(agreed((engine) => engine.isValidPublicKey(hybrid))).toBe(prefix === 6 + odd);
      }
      for (const prefix of [0, 1, 2, 3, 5, 8]) {
        const wrong = key.slice();
        wrong[0] = prefix;
        expect(agreed((engine) => engine.verifyEcdsa(der, msg, wrong))).toBe(false);
        expect(agreed((engine) => engine.isValidPublicKey(wrong))).toBe(false);
      }
      expect(agreed((engine) => engine.isValidPublicKey(key.subarray(0, 64)))).toBe(false);
    }
    expect(agreed((engine) => engine.isValidPublicKey(new Uint8Array(0)))).toBe(false);
  });

  test('on boundary values', () => {
    const secret = to32(1n);
    const [msg, key] = [sha256(secret), publicKeyOf(secret)];
    const edges = [0n, 1n, 2n, N / 2n, N / 2n + 1n, N - 1n, N, N + 1n, BigInt(`0x${P_HEX}`), 2n ** 256n - 1n].map(to32);
    for (const r of edges)
      for (const s of edges) {
        expect(agreed((engine) => engine.verifyEcdsa(laxDer(r, s), msg, key))).toBe(false);
        expect(agreed((engine) => engine.verifySchnorr(concatBytes(r, s), msg, key.subarray(1)))).toBe(false);
      }
    for (const x of edges) {
      agreed((engine) => engine.isValidPublicKey(concatBytes(Uint8Array.of(2), x)));
      agreed((engine) => engine.verifySchnorr(signSchnorr(msg, secret), msg, x));
      agreed((engine) => engine.checkTapTweak(key.subarray(1), key.subarray(1), x, 0));
      agreed((engine) => engine.checkTapTweak(key.subarray(1), x, to32(1n), 0));
    }
    // A tweak of zero changes nothing; one of -1 for the key of 1 is infinity.
    expect(agreed((engine) => engine.checkTapTweak(key.subarray(1), key.subarray(1), to32(0n), 0))).toBe(true);
    expect(agreed((engine) => engine.checkTapTweak(key.subarray(1), key.subarray(1), to32(N - 1n), 0))).toBe(false);
    expect(agreed((engine) => engine.checkTapTweak(key.subarray(1), key.subarray(1), to32(N), 0))).toBe(false);
  });
});

/** `30 len 02 20 r 02 20 s`: numbers without their sign byte, which strict DER forbids. */
function laxDer(r: Uint8Array, s: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(0x30, 68, 2, 32), r, Uint8Array.of(2, 32), s);
}

describe('lax DER', () => {
  const out = new Uint8Array(64);
  const parse = (hex: string): string | null => (parseDerLax(hexToBytes(hex), out) ? bytesToHex(out) : null);
  const value = (r: string, s: string): string => r.padStart(64, '0') + s.padStart(64, '0');

  test('accepts the signatures of consensus', () => {
    expect(parse('3006020107020109')).toBe(value('07', '09'));
    // Trailing bytes, a wrong sequence length, a long form of every length, padding, empty numbers, a sign bit.
    expect(parse('3006020107020109ffff')).toBe(value('07', '09'));
    expect(parse('30ff'.slice(0, 2).concat('00020107020109'))).toBe(value('07', '09'));
    expect(parse('30820000020107020109')).toBe(value('07', '09'));
    expect(parse('300602810107028200010 9'.replace(' ', ''))).toBe(value('07', '09'));
    expect(parse(`3000028500000000010702860000000000010 9`.replace(' ', ''))).toBe(value('07', '09'));
    expect(parse(`30000228${'00'.repeat(39)}07020109`)).toBe(value('07', '09'));
    expect(parse('300002000200')).toBe(value('', ''));
    expect(parse('3000020180020181')).toBe(value('80', '81'));
    // Numbers of 33 bytes do not fit: both become zero, and parsing still succeeds.
    expect(parse(`30000221${'01'.repeat(33)}020109`)).toBe(value('', ''));
    expect(parse(`3000020107022101${'00'.repeat(32)}`)).toBe(value('', ''));
  });

  test('rejects signatures that cannot be parsed', () => {
    for (const hex of [
      '',
      '30',
      '3106020107020109',
      '3006',
      '3006030107020109',
      '300602',
      '30060201',
      '3006020107',
      '300602010703',
    ])
      expect(parse(hex)).toBeNull();
    expect(parse('3006020107020209')).toBeNull();
    expect(parse('3083020107020109')).toBeNull();
    expect(parse('30ff020107020109')).toBeNull();
    expect(parse('300002850100000001070201 09'.replace(' ', ''))).toBeNull();
    expect(parse('30000284000000')).toBeNull();
  });
});

test('keys and signatures', () => {
  const secret = to32(1n);
  expect(bytesToHex(publicKeyOf(secret))).toBe(`02${G_X}`);
  const msg = sha256(new TextEncoder().encode('Satoshi Nakamoto'));
  // A published RFC 6979 example for this curve.
  expect(bytesToHex(signEcdsaCompact(msg, secret).signature)).toBe(
    '934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8' +
      '2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5',
  );
  for (const invalid of [0n, N, N + 1n]) {
    expect(() => publicKeyOf(to32(invalid))).toThrow();
    expect(() => signEcdsa(msg, to32(invalid))).toThrow();
    expect(() => tapTweakSecret(to32(invalid), to32(1n))).toThrow();
  }
  expect(() => tapTweakSecret(secret, to32(N - 1n))).toThrow();
  expect(tapTweakPublicKey(hexToBytes(G_X), to32(N - 1n))).toBeNull();
  expect(tapTweakPublicKey(hexToBytes(P_HEX), to32(1n))).toBeNull();
  const { signature, recoveryId } = signEcdsaCompact(msg, secret);
  expect(recoverPublicKey(msg, signature, recoveryId)).toEqual(publicKeyOf(secret));
  expect(recoverPublicKey(msg, signature, recoveryId ^ 1)).not.toEqual(publicKeyOf(secret));
  expect(recoverPublicKey(msg, new Uint8Array(64), 0)).toBeNull();
});
