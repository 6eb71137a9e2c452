import { describe, expect, test } from 'bun:test';
import { inspect } from 'node:util';
import { HDKey } from '@scure/bip32';
import fc from 'fast-check';
import { keyOperations } from '../../../src/crypto/secp256k1.ts';
import { tweakAddPublicKey, tweakAddSecret } from '../../../src/crypto/tweak.ts';
import {
  derivePublicChild,
  derivePublicPath,
  ExtendedPrivateKey,
  encodeExtendedPublicKey,
  formatExtendedPublicKey,
  parseExtendedPublicKey,
  readExtendedPublicKey,
} from '../../../src/wallet/keys/extended-key.ts';
import { formatKeyPath, parseKeyPath, parseKeyPathStep } from '../../../src/wallet/keys/key-path.ts';
import { PrivateKey } from '../../../src/wallet/keys/private-key.ts';

const VERSIONS = { public: 0x0488b21e, private: 0x0488ade4 };
const HARDENED = 0x8000_0000;

// The test vectors of BIP-32, leading zeros (3 and 4) among them.
const CHAINS = [
  {
    seed: '000102030405060708090a0b0c0d0e0f',
    path: 'm/0h/1/2h/2/1000000000',
    xpub: 'xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXEYBVPamhGW6cFJodrTHy',
    xprv: 'xprvA41z7zogVVwxVSgdKUHDy1SKmdb533PjDz7J6N6mV6uS3ze1ai8FHa8kmHScGpWmj4WggLyQjgPie1rFSruoUihUZREPSL39UNdE3BBDu76',
  },
  {
    seed: 'fffcf9f6f3f0edeae7e4e1dedbd8d5d2cfccc9c6c3c0bdbab7b4b1aeaba8a5a29f9c999693908d8a8784817e7b7875726f6c696663605d5a5754514e4b484542',
    path: 'm/0/2147483647h/1/2147483646h/2',
    xpub: 'xpub6FnCn6nSzZAw5Tw7cgR9bi15UV96gLZhjDstkXXxvCLsUXBGXPdSnLFbdpq8p9HmGsApME5hQTZ3emM2rnY5agb9rXpVGyy3bdW6EEgAtqt',
    xprv: 'xprvA2nrNbFZABcdryreWet9Ea4LvTJcGsqrMzxHx98MMrotbir7yrKCEXw7nadnHM8Dq38EGfSh6dqA9QWTyefMLEcBYJUuekgW4BYPJcr9E7j',
  },
  {
    seed: '4b381541583be4423346c643850da4b320e46a87ae3d2a4e6da11eba819cd4acba45d239319ac14f863b8d5ab5a0d0c64d2e8a1e7d1457df2e5a3c51c73235be',
    path: 'm/0h',
    xpub: 'xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLPxSb7gwQN3ih19Zm4Y',
    xprv: 'xprv9uPDJpEQgRQfDcW7BkF7eTya6RPxXeJCqCJGHuCJ4GiRVLzkTXBAJMu2qaMWPrS7AANYqdq6vcBcBUdJCVVFceUvJFjaPdGZ2y9WACViL4L',
  },
  {
    seed: '3ddd5602285899a946114506157c7997e5444528f3003f6134712147db19b678',
    path: 'm/0h/1h',
    xpub: 'xpub6BJA1jSqiukeaesWfxe6sNK9CCGaujFFSJLomWHprUL9DePQ4JDkM5d88n49sMGJxrhpjazuXYWdMf17C9T5XnxkopaeS7jGk1GyyVziaMt',
    xprv: 'xprv9xJocDuwtYCMNAo3Zw76WENQeAS6WGXQ55RCy7tDJ8oALr4FWkuVoHJeHVAcAqiZLE7Je3vZJHxspZdFHfnBEjHqU5hG1Jaj32dVoS6XLT1',
  },
];

test.each(CHAINS)('$path of a seed has the key of BIP-32', ({ seed, path, xpub, xprv }) => {
  const key = ExtendedPrivateKey.fromSeed(Uint8Array.fromHex(seed)).derivePath(parseKeyPath(path)!)!;
  expect(key.revealText(VERSIONS)).toBe(xprv);
  expect(formatExtendedPublicKey(key.neuter(), VERSIONS)).toBe(xpub);
  expect(ExtendedPrivateKey.parse(xprv, VERSIONS)!.neuter()).toEqual(parseExtendedPublicKey(xpub, VERSIONS)!);
});

// BIP-32, test vector 5.
test.each([
  [
    'public version, private key',
    'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6LBpB85b3D2yc8sfvZU521AAwdZafEz7mnzBBsz4wKY5fTtTQBm',
  ],
  [
    'private version, public key',
    'xprv9s21ZrQH143K24Mfq5zL5MhWK9hUhhGbd45hLXo2Pq2oqzMMo63oStZzFGTQQD3dC4H2D5GBj7vWvSQaaBv5cxi9gafk7NF3pnBju6dwKvH',
  ],
  [
    'public key with prefix 04',
    'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6Txnt3siSujt9RCVYsx4qHZGc62TG4McvMGcAUjeuwZdduYEvFn',
  ],
  [
    'private key with prefix 04',
    'xprv9s21ZrQH143K24Mfq5zL5MhWK9hUhhGbd45hLXo2Pq2oqzMMo63oStZzFGpWnsj83BHtEy5Zt8CcDr1UiRXuWCmTQLxEK9vbz5gPstX92JQ',
  ],
  [
    'depth zero, with a parent',
    'xprv9s2SPatNQ9Vc6GTbVMFPFo7jsaZySyzk7L8n2uqKXJen3KUmvQNTuLh3fhZMBoG3G4ZW1N2kZuHEPY53qmbZzCHshoQnNf4GvELZfqTUrcv',
  ],
  [
    'depth zero, with an index',
    'xprv9s21ZrQH4r4TsiLvyLXqM9P7k1K3EYhA1kkD6xuquB5i39AU8KF42acDyL3qsDbU9NmZn6MsGSUYZEsuoePmjzsB3eFKSUEh3Gu1N3cqVUN',
  ],
  [
    'private key zero',
    'xprv9s21ZrQH143K24Mfq5zL5MhWK9hUhhGbd45hLXo2Pq2oqzMMo63oStZzF93Y5wvzdUayhgkkFoicQZcP3y52uPPxFnfoLZB21Teqt1VvEHx',
  ],
  [
    'private key n',
    'xprv9s21ZrQH143K24Mfq5zL5MhWK9hUhhGbd45hLXo2Pq2oqzMMo63oStZzFAzHGBP2UuGCqWLTAPLcMtD5SDKr24z3aiUvKr9bJpdrcLg1y3G',
  ],
  [
    'public key off the curve',
    'xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6Q5JXayek4PRsn35jii4veMimro1xefsM58PgBMrvdYre8QyULY',
  ],
  [
    'wrong checksum',
    'xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHL',
  ],
])('%s is rejected as an extended key', (_, text) => {
  expect(ExtendedPrivateKey.parse(text, VERSIONS)).toBeNull();
  expect(parseExtendedPublicKey(text, VERSIONS)).toBeNull();
});

const seeds = fc.uint8Array({ minLength: 16, maxLength: 64 });
const indexes = fc.oneof(fc.nat({ max: HARDENED - 1 }), fc.nat({ max: 5 }));

test('extended keys derive as in another library', () => {
  fc.assert(
    fc.property(seeds, fc.array(fc.tuple(indexes, fc.boolean()), { maxLength: 4 }), (seed, steps) => {
      const path = steps.map(([index, hardened]) => (hardened ? index + HARDENED : index));
      const ours = ExtendedPrivateKey.fromSeed(seed).derivePath(path)!;
      const theirs = path.reduce((key, child) => key.deriveChild(child), HDKey.fromMasterSeed(seed));
      expect(ours.revealText(VERSIONS)).toBe(theirs.privateExtendedKey);
      expect(formatExtendedPublicKey(ours.neuter(), VERSIONS)).toBe(theirs.publicExtendedKey);
    }),
    { numRuns: 60 },
  );
});

test('public children match those of the private key', () => {
  fc.assert(
    fc.property(seeds, fc.array(indexes, { maxLength: 3 }), (seed, path) => {
      const key = ExtendedPrivateKey.fromSeed(seed);
      const child = derivePublicPath(key.neuter(), path)!;
      expect(child).toEqual(key.derivePath(path)!.neuter());
      expect(readExtendedPublicKey(encodeExtendedPublicKey(child))).toEqual(child);
      expect(parseExtendedPublicKey(formatExtendedPublicKey(child, VERSIONS), VERSIONS)).toEqual(child);
    }),
    { numRuns: 60 },
  );
});

test('no key is derived beyond depth 255, and no hardened one without the private key', () => {
  const key = ExtendedPrivateKey.fromSeed(new Uint8Array(16));
  const deepest = key.derivePath(new Array<number>(255).fill(0))!;
  expect(deepest.depth).toBe(255);
  expect(deepest.derive(0)).toBeNull();
  expect(derivePublicChild(deepest.neuter(), 0)).toBeNull();
  expect(() => derivePublicChild(key.neuter(), HARDENED)).toThrow();
});

describe.each([
  ['libsecp256k1', keyOperations()],
  ['noble', null],
])('key tweaks with %s', (_, keys) => {
  const order = Uint8Array.fromHex('fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141');
  const zero = new Uint8Array(32);
  const one = zero.with(31, 1);
  const minusOne = order.with(31, 0x40);
  const { publicKey } = new PrivateKey(one);

  test('a tweak without a valid result gives null', () => {
    expect(tweakAddSecret(one, order, keys)).toBeNull();
    expect(tweakAddSecret(one, minusOne, keys)).toBeNull();
    expect(tweakAddPublicKey(publicKey, order, keys)).toBeNull();
    expect(tweakAddPublicKey(publicKey, minusOne, keys)).toBeNull();
    expect(tweakAddPublicKey(new Uint8Array(33).fill(2, 0, 1).fill(5, 1), one, keys)).toBeNull();
  });

  test('a tweak of zero changes nothing', () => {
    expect(tweakAddSecret(one, zero, keys)).toEqual(one);
    expect(tweakAddPublicKey(publicKey, zero, keys)).toEqual(publicKey);
  });

  test('a tweaked secret belongs to the tweaked public key', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (tweak) => {
        const secret = tweakAddSecret(one, tweak, keys);
        const tweaked = tweakAddPublicKey(publicKey, tweak, keys);
        expect(tweaked).toEqual(secret && new PrivateKey(secret).publicKey);
      }),
      { numRuns: 40 },
    );
  });
});

describe('key paths', () => {
  test.each([
    ['', []],
    ['m', []],
    ["m/0'/1h/2", [HARDENED, HARDENED + 1, 2]],
    ['0/2147483647h', [0, 0xffff_ffff]],
    ['1/', [1]],
  ])('%j', (text, path) => expect(parseKeyPath(text)).toEqual(path));

  test.each(['m/m', '0/m', '//', 'm/2147483648', 'm/-1', 'm/+1', 'm/1hh', 'm/a', "m/'", 'm/ 1'])('%j is none', (text) =>
    expect(parseKeyPath(text)).toBeNull(),
  );

  test('an invalid step is rejected with the text of Bitcoin Core', () => {
    const errorOf = (text: string) => {
      const step = parseKeyPathStep(text);
      return step.ok ? null : step.error;
    };
    expect(errorOf('')).toBe("Key path value '' is not valid");
    expect(errorOf('1a')).toBe("Key path value '1a' is not a valid uint32");
    expect(errorOf("4294967296'")).toBe("Key path value '4294967296'' is not a valid uint32");
    expect(errorOf('2147483648h')).toBe('Key path value 2147483648 is out of range');
  });

  test('a path is formatted with h or with an apostrophe', () => {
    expect(formatKeyPath([HARDENED + 84, 0])).toBe('/84h/0');
    expect(formatKeyPath([HARDENED + 84, 0], true)).toBe("/84'/0");
  });
});

describe('no log, error or JSON shows a secret key', () => {
  const key = ExtendedPrivateKey.fromSeed(new Uint8Array(16).fill(9));
  const hex = key.key.reveal().toHex();
  test.each([
    ['inspect', inspect({ key, secret: key.key }, { depth: 9, showHidden: true })],
    ['JSON', JSON.stringify({ key, secret: key.key })],
    ['text', `${key} ${key.key}`],
    ['Bun.inspect', Bun.inspect({ key, secret: key.key })],
    ['keys', Object.keys(key.key).join()],
  ])('%s', (_, shown) => {
    expect(shown).not.toContain(hex);
    expect(shown).not.toContain('prv');
    expect(shown).not.toMatch(
      /\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+,\s*\d+/,
    );
  });

  test('a wiped key consists of zeros', () => {
    const wiped = new PrivateKey(new Uint8Array(32).fill(3));
    wiped.wipe();
    expect(wiped.reveal()).toEqual(new Uint8Array(32));
  });
});
