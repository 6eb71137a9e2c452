import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf, tapTweakPublicKey, xOnlyOf } from '../../src/crypto/keys.ts';
import { nobleEngine } from '../../src/crypto/secp256k1-noble.ts';
import { SystemEngine } from '../../src/crypto/secp256k1-system.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { openSystemLibrary, systemLibraryFiles } from '../../src/crypto/system-library.ts';
import { signEcdsa } from '../lib/sign-ecdsa.ts';

const [file] = systemLibraryFiles();
const reference = nobleEngine();
const message = sha256(Uint8Array.of(7));

/** Calls with one key in all its forms, with the key of the opposite Y, and with an X that is on no point. */
const calls = Array.from({ length: 6 }, (_, i) => {
  const secret = sha256(Uint8Array.of(i));
  const [ecdsa, schnorr] = [signEcdsa(message, secret), signSchnorr(message, secret)];
  const [key, long, xOnly] = [publicKeyOf(secret), publicKeyOf(secret, false), xOnlyOf(secret)];
  const opposite = key.with(0, key[0]! ^ 1);
  const output = tapTweakPublicKey(xOnly, message)!;
  // A change of the first byte of X keeps the set of slots.
  const none = xOnly.with(0, xOnly[0]! ^ 0x55);
  const noKey = Uint8Array.of(2, ...none);
  return [key, long, opposite, noKey]
    .flatMap((each) => [
      (engine: SignatureEngine) => engine.verifyEcdsa(ecdsa, message, each),
      (engine: SignatureEngine) => engine.isValidPublicKey(each),
    ])
    .concat(
      [xOnly, none].flatMap((each) => [
        (engine: SignatureEngine) => engine.verifySchnorr(schnorr, message, each),
        (engine: SignatureEngine) => engine.checkTapTweak(output.key, each, message, output.parity),
      ]),
    );
}).flat();
const expected = calls.map((call) => call(reference));

describe.skipIf(file === undefined)('the library of the system with few parsed keys', () => {
  const library = openSystemLibrary(file!);

  test.each([4, 8, 16_384])('%d keys: calls in any order give the results of a library without them', (keys) => {
    fc.assert(
      fc.property(fc.array(fc.nat(calls.length - 1), { minLength: 2, maxLength: 100 }), (order) => {
        const engine = new SystemEngine(library, keys);
        expect(order.map((at) => calls[at]!(engine))).toEqual(order.map((at) => expected[at]!));
      }),
      { numRuns: 50 },
    );
  });

  test('the calls of a key include valid and invalid ones', () => {
    // Both calls of its short and its long form succeed; the opposite key is valid and signed nothing; the last has no point.
    for (let i = 0; i < calls.length; i += 12) {
      const [key, long, opposite, noKey, xOnly, none] = [0, 2, 4, 6, 8, 10].map((at) =>
        expected.slice(i + at, i + at + 2),
      );
      expect([key, long, opposite, xOnly]).toEqual([
        [true, true],
        [true, true],
        [false, true],
        [true, true],
      ]);
      expect(noKey![0]).toBeFalse();
      expect(none).toEqual([false, false]);
    }
    expect(calls.filter((_, at) => at % 12 === 7 && !expected[at]).length).toBeGreaterThan(0);
  });

  test('the number of keys is four times a power of two', () => {
    for (const keys of [0, 1, 3, 12, -4]) expect(() => new SystemEngine(library, keys)).toThrow('power of two');
  });
});
