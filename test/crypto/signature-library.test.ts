import { describe, expect, test } from 'bun:test';
import { selfTestFailure } from '../../src/crypto/engine-self-test.ts';
import { sha256 } from '../../src/crypto/hash-functions.ts';
import type { KeyOperations } from '../../src/crypto/key-operations.ts';
import { chooseLibrary, type LibraryCandidate, signatureLibrary, systemLibrary } from '../../src/crypto/secp256k1.ts';
import { openAddon } from '../../src/crypto/secp256k1-addon.ts';
import { nobleEngine } from '../../src/crypto/secp256k1-noble.ts';
import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { systemLibraryFiles } from '../../src/crypto/system-library.ts';
import { bytesToHex } from '../../src/util/bytes.ts';
import { OperatorError } from '../../src/util/operator-error.ts';

const ORDER = Uint8Array.fromHex('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');
const [file] = systemLibraryFiles();
const addon = openAddon();
const noble: LibraryCandidate = { name: 'noble', source: 'noble', open: () => ({ engine: nobleEngine(), keys: null }) };

function candidate(source: string, engine: SignatureEngine, keys: KeyOperations): LibraryCandidate {
  return { name: 'system', source, open: () => ({ engine, keys }) };
}

/** Returns an object that passes all calls on but one. */
function withWrong<T extends object>(target: T, name: keyof T, wrong: unknown): T {
  return new Proxy(target, {
    get: (_, property) => {
      if (property === name) return wrong;
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

// On other systems the library has another name or none. `.ci/install-programs` installs it on Debian.
test.if(process.platform === 'linux')('libsecp256k1 is installed, which tests of this file need', () => {
  expect(file).toBeString();
});

test.skipIf(file === undefined)('the library of the system is preferred', () => {
  expect(signatureLibrary()).toMatchObject({ source: file!, engine: { name: 'system' }, refused: [] });
});

describe.skipIf(addon === null)('a library with a wrong answer is refused and the next one is used:', () => {
  const { engine, keys } = addon!;
  const accepts = () => true;
  const rejects = () => false;
  const engines: readonly [string, SignatureEngine][] = [
    ['ECDSA verification', withWrong(engine, 'verifyEcdsa', accepts)],
    ['ECDSA verification', withWrong(engine, 'verifyEcdsa', rejects)],
    ['Schnorr verification', withWrong(engine, 'verifySchnorr', accepts)],
    ['Schnorr verification', withWrong(engine, 'verifySchnorr', rejects)],
    ['taproot tweak', withWrong(engine, 'checkTapTweak', accepts)],
    ['taproot tweak', withWrong(engine, 'checkTapTweak', rejects)],
    ['public key check', withWrong(engine, 'isValidPublicKey', accepts)],
    ['public key check', withWrong(engine, 'isValidPublicKey', rejects)],
  ];
  const succeeds = () => 0;
  const operations: readonly [string, KeyOperations][] = [
    ...(
      ['privateKeyNegate', 'privateKeyTweakAdd', 'privateKeyTweakMul', 'publicKeyCreate', 'publicKeyTweakAdd'] as const
    ).map((name): [string, KeyOperations] => ['key operations', withWrong(keys, name, succeeds)]),
    ['ECDSA signing', withWrong(keys, 'ecdsaSign', succeeds)],
    ['ECDSA signing', withWrong(keys, 'ecdsaRecover', succeeds)],
  ];

  test('none is refused without a wrong answer', () => {
    expect(selfTestFailure(engine, keys)).toBeNull();
    expect(chooseLibrary([candidate('right', engine, keys), noble])).toMatchObject({ source: 'right', refused: [] });
  });

  test.each([
    ...engines.map(([name, wrong]) => [name, wrong, keys] as const),
    ...operations.map(([name, wrong]) => [name, engine, wrong] as const),
  ])('%s', (name, wrongEngine, wrongKeys) => {
    expect(chooseLibrary([candidate('wrong', wrongEngine, wrongKeys), noble])).toMatchObject({
      source: 'noble',
      refused: [{ source: 'wrong', reason: `its self-test failed: ${name}` }],
    });
  });
});

test.skipIf(process.platform !== 'linux')('a file that is no libsecp256k1 is refused', () => {
  const other = ['/usr/lib/x86_64-linux-gnu/libz.so.1', '/usr/lib/x86_64-linux-gnu/libm.so.6', '/etc/passwd'];
  const { source, refused } = chooseLibrary([...other.map(systemLibrary), systemLibrary('/nonexistent'), noble]);
  expect(source).toBe('noble');
  expect(refused.map((library) => library.source)).toEqual([...other, '/nonexistent']);
  for (const { reason } of refused) expect(reason).not.toBe('');
});

describe('the environment', () => {
  test('names the only library that may be used', () => {
    const broken: LibraryCandidate = {
      name: 'system',
      source: 'broken',
      open: () => {
        throw new Error('not loaded');
      },
    };
    expect(chooseLibrary([broken, noble], 'noble')).toMatchObject({ source: 'noble', refused: [] });
    expect(() => chooseLibrary([broken, noble], 'system')).toThrow(
      new OperatorError('no signature library can be used: broken: not loaded'),
    );
    expect(() => chooseLibrary([noble], 'system')).toThrow(/no libsecp256k1 of the system was found$/);
    expect(() => chooseLibrary([noble], 'openssl')).toThrow(/must be system, addon or noble$/);
  });

  test('a changed file ends the choice', () => {
    const changed: LibraryCandidate = {
      name: 'addon',
      source: 'changed',
      open: () => {
        throw new OperatorError('it was changed');
      },
    };
    expect(() => chooseLibrary([changed, noble])).toThrow(new OperatorError('it was changed'));
  });
});

describe.skipIf(file === undefined)('the library of the system', () => {
  const { engine, keys } = systemLibrary(file!).open();
  const hash = (text: string) => sha256(new TextEncoder().encode(text));
  const [secret, message] = [hash('secret'), hash('message')];

  test('receives no input of a wrong length', () => {
    const [short, long] = [new Uint8Array(31), new Uint8Array(33)];
    for (const wrong of [short, long]) {
      expect(() => engine.verifySchnorr(new Uint8Array(64), wrong, message)).toThrow(RangeError);
      expect(() => engine.verifySchnorr(new Uint8Array(64), message, wrong)).toThrow(RangeError);
      expect(() => engine.checkTapTweak(message, wrong, message, 0)).toThrow(RangeError);
      expect(() => keys!.publicKeyCreate(new Uint8Array(33), wrong)).toThrow(RangeError);
      expect(() => keys!.publicKeyCreate(wrong.subarray(0, 32), secret)).toThrow('33 or 65');
      expect(() => keys!.privateKeyTweakAdd(secret.slice(), wrong)).toThrow(RangeError);
      expect(() => keys!.ecdsaSign({ signature: new Uint8Array(64), recid: 0 }, message, secret, wrong)).toThrow(
        RangeError,
      );
    }
    for (const recoveryId of [-1, 4, 0.5, Number.NaN])
      expect(() => keys!.ecdsaRecover(new Uint8Array(33), new Uint8Array(64), recoveryId, message)).toThrow(
        'recovery id',
      );
  });

  test.skipIf(addon === null)('computes on keys as the addon does', () => {
    const results = (operations: KeyOperations, i: number) => {
      const [a, b] = [hash(`a${i}`), i % 8 === 0 ? ORDER : hash(`b${i}`)];
      const texts: string[] = [];
      const note = (failed: number, bytes: Uint8Array) => texts.push(failed ? 'failed' : bytesToHex(bytes));
      for (const name of ['privateKeyTweakAdd', 'privateKeyTweakMul'] as const) {
        const copy = a.slice();
        note(operations[name](copy, b), copy);
      }
      const negated = a.slice();
      note(operations.privateKeyNegate(negated), negated);
      const key = new Uint8Array(i % 2 === 0 ? 33 : 65);
      note(operations.publicKeyCreate(key, a), key);
      const tweaked = new Uint8Array(33);
      note(operations.publicKeyTweakAdd(tweaked, key, b), tweaked);
      const out = { signature: new Uint8Array(64), recid: 0 };
      const digest = hash(`digest${i}`);
      note(i % 3 === 0 ? operations.ecdsaSign(out, digest, a, b) : operations.ecdsaSign(out, digest, a), out.signature);
      texts.push(String(out.recid));
      for (let id = 0; id < 4; id++) {
        const recovered = new Uint8Array(id % 2 === 0 ? 33 : 65);
        note(operations.ecdsaRecover(recovered, out.signature, id, digest), recovered);
      }
      return texts;
    };
    for (let i = 0; i < 64; i++) expect(results(keys!, i)).toEqual(results(addon!.keys, i));
  });
});
