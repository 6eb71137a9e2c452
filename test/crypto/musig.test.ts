import { describe, expect, test } from 'bun:test';
import { inspect } from 'node:util';
import { schnorr } from '@noble/secp256k1';
import * as fc from 'fast-check';
import { isValidSecret, publicKeyOf } from '../../src/crypto/keys.ts';
import { AggregateKey, type MusigTweak } from '../../src/crypto/musig.ts';
import { MusigSecretNonce, musigNonceOf, newMusigNonce } from '../../src/crypto/musig-nonce.ts';
import {
  aggregateNonces,
  aggregatePartials,
  type MusigSession,
  musigSession,
  signPartially,
  verifyPartial,
} from '../../src/crypto/musig-session.ts';
import { keyOperations } from '../../src/crypto/secp256k1.ts';
import { tweakMulSecret } from '../../src/crypto/tweak.ts';
import { compareBytes, concatBytes } from '../../src/util/bytes.ts';

const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';

const bytes = (hex: string) => Uint8Array.fromHex(hex);
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const secret = bytes32.filter(isValidSecret);
/** Some keys occur twice. */
const secrets = fc
  .tuple(
    fc.uniqueArray(secret, { minLength: 1, maxLength: 5, comparator: (a, b) => a.toHex() === b.toHex() }),
    fc.nat(),
  )
  .map(([keys, pick]) => (keys.length < 5 && pick % 3 === 0 ? [...keys, keys[pick % keys.length]!] : keys));
const tweaks: fc.Arbitrary<MusigTweak[]> = fc.array(
  fc.record({ tweak: bytes32.filter((tweak) => tweak[0] !== 255), xOnly: fc.boolean() }),
  { maxLength: 3 },
);

function tweakedKey(publicKeys: readonly Uint8Array[], all: readonly MusigTweak[]): AggregateKey | null {
  return all.reduce<AggregateKey | null>((key, tweak) => key?.tweaked(tweak) ?? null, AggregateKey.of(publicKeys));
}

/** The data of the signers of one message. */
function ceremony(keys: readonly Uint8Array[], all: readonly MusigTweak[], message: Uint8Array) {
  const publicKeys = keys.map((key) => publicKeyOf(key));
  const key = tweakedKey(publicKeys, all)!;
  const aggregateKey = AggregateKey.of(publicKeys)!.xOnly;
  const nonces = keys.map((own, i) =>
    newMusigNonce({ secret: own, publicKey: publicKeys[i]!, aggregateKey, message, extra: null }),
  );
  const publicNonces = nonces.map(({ publicNonce }) => publicNonce);
  const session = musigSession(key, aggregateNonces(publicNonces)!, message)!;
  return { key, publicKeys, nonces, publicNonces, session };
}

function signAll(session: MusigSession, nonces: ReturnType<typeof ceremony>['nonces'], keys: readonly Uint8Array[]) {
  return keys.map((key, i) => signPartially(session, nonces[i]!.secretNonce, key));
}

describe('signatures of several signers', () => {
  test('are valid for the aggregate key, for any signers and tweaks', () => {
    fc.assert(
      fc.property(secrets, tweaks, bytes32, (keys, all, message) => {
        const { key, publicKeys, nonces, publicNonces, session } = ceremony(keys, all, message);
        const partials = signAll(session, nonces, keys);
        for (const [i, partial] of partials.entries())
          expect(verifyPartial(session, partial, publicNonces[i]!, publicKeys[i]!)).toBe(true);
        expect(schnorr.verify(aggregatePartials(session, partials)!, message, key.xOnly)).toBe(true);
      }),
      { numRuns: 12 },
    );
  });

  test('fail with any flipped bit of a partial signature, which verifyPartial identifies', () => {
    fc.assert(
      fc.property(secrets, bytes32, fc.nat(255), fc.nat(), (keys, message, bit, pick) => {
        const { key, publicKeys, nonces, publicNonces, session } = ceremony(keys, [], message);
        const partials = signAll(session, nonces, keys);
        const at = pick % keys.length;
        partials[at]![bit >> 3]! ^= 1 << (bit & 7);
        expect(verifyPartial(session, partials[at]!, publicNonces[at]!, publicKeys[at]!)).toBe(false);
        const signature = aggregatePartials(session, partials);
        expect(signature !== null && schnorr.verify(signature, message, key.xOnly)).toBe(false);
      }),
      { numRuns: 8 },
    );
  });

  test('a partial signature is valid for one signer, message, nonce and key', () => {
    fc.assert(
      fc.property(fc.tuple(secret, secret), bytes32, bytes32, bytes32, (keys, message, other, tweak) => {
        fc.pre(compareBytes(message, other) !== 0 && compareBytes(...keys) !== 0);
        const { publicKeys, nonces, publicNonces, session } = ceremony(keys, [], message);
        const [partial] = signAll(session, nonces, keys);
        const nonce = aggregateNonces(publicNonces)!;
        const accepts = (of: MusigSession | null, publicNonce: Uint8Array, publicKey: Uint8Array) =>
          of !== null && verifyPartial(of, partial!, publicNonce, publicKey);
        const [own, theirs] = publicNonces;
        expect(accepts(session, own!, publicKeys[0]!)).toBe(true);
        expect(accepts(session, own!, publicKeys[1]!)).toBe(false);
        expect(accepts(session, theirs!, publicKeys[0]!)).toBe(false);
        expect(accepts(musigSession(session.key, nonce, other), own!, publicKeys[0]!)).toBe(false);
        const tweaked = session.key.tweaked({ tweak, xOnly: false });
        expect(accepts(tweaked && musigSession(tweaked, nonce, message), own!, publicKeys[0]!)).toBe(false);
      }),
      { numRuns: 4 },
    );
  });
});

describe('a nonce', () => {
  const key = bytes('7fb9e0e687ada1eebf7ecfe2f21e73ebdb51a7d450948dfe8d76d7f2d1007671');
  const message = bytes('11'.repeat(32));

  test('cannot be used a second time, nor after a failure', () => {
    const { nonces, session } = ceremony([key], [], message);
    signAll(session, nonces, [key]);
    expect(() => signAll(session, nonces, [key])).toThrow('a secret nonce is used once');

    const fresh = ceremony([key], [], message);
    const stranger = bytes('22'.repeat(32));
    expect(() => signPartially(fresh.session, fresh.nonces[0]!.secretNonce, stranger)).toThrow(
      'signer it was made for',
    );
    expect(() => signAll(fresh.session, fresh.nonces, [key])).toThrow('a secret nonce is used once');

    const foreign = ceremony([stranger], [], message);
    const own = ceremony([key], [], message);
    expect(() => signPartially(foreign.session, own.nonces[0]!.secretNonce, key)).toThrow('one of the participants');
    expect(() => signAll(own.session, own.nonces, [key])).toThrow('a secret nonce is used once');
  });

  test('differs each time', () => {
    const seen = new Set<string>();
    for (let i = 0; i < 20; i++) seen.add(ceremony([key], [], message).publicNonces[0]!.toHex());
    expect(seen.size).toBe(20);
  });

  test('is not shown in strings, JSON or inspection', () => {
    const nonce = new MusigSecretNonce(concatBytes(bytes('5a'.repeat(64)), publicKeyOf(key)));
    for (const text of [`${nonce}`, JSON.stringify({ nonce }), inspect({ nonce }, { showHidden: true })]) {
      expect(text).toContain('[secret nonce]');
      expect(text).not.toMatch(/5a|90, ?90/);
    }
  });

  test('that is not a point is rejected', () => {
    const good = ceremony([key], [], message).publicNonces[0]!;
    const wrongTag = concatBytes(Uint8Array.of(4), good.subarray(1));
    const noX = bytes(`${good.subarray(0, 33).toHex()}02${'00'.repeat(31)}07`);
    for (const bad of [wrongTag, noX, good.subarray(0, 65), concatBytes(good, Uint8Array.of(0))])
      expect(aggregateNonces([good, bad])).toBeNull();
  });
});

test('a tweak of n or more, and one to infinity, is rejected', () => {
  const one = bytes(`${'00'.repeat(31)}01`);
  const key = AggregateKey.of([publicKeyOf(one)])!;
  expect(key.tweaked({ tweak: bytes(ORDER), xOnly: false })).toBeNull();
  const coefficient = bytes(key.coefficient(publicKeyOf(one)).toString(16).padStart(64, '0'));
  const negative = bytes((BigInt(`0x${ORDER}`) - BigInt(`0x${coefficient.toHex()}`)).toString(16).padStart(64, '0'));
  expect(key.tweaked({ tweak: negative, xOnly: false })).toBeNull();
});

test('both libraries multiply secrets alike', () => {
  const libraries = [keyOperations(), null];
  for (const keys of libraries) {
    expect(tweakMulSecret(bytes('01'.repeat(32)), bytes(ORDER), keys)).toBeNull();
    expect(tweakMulSecret(bytes('01'.repeat(32)), new Uint8Array(32), keys)).toBeNull();
  }
  fc.assert(
    fc.property(secret, secret, (a, b) => {
      const [first, second] = libraries.map((keys) => tweakMulSecret(a, b, keys));
      expect(first).toEqual(second!);
    }),
    { numRuns: 20 },
  );
});

/** From the test vectors of BIP-327: sign_verify, tweak, nonce_gen, nonce_agg and sig_agg. */
describe('test vectors of BIP-327', () => {
  const secretKey = bytes('7fb9e0e687ada1eebf7ecfe2f21e73ebdb51a7d450948dfe8d76d7f2d1007671');
  const keys = [
    '03935f972da013f80ae011890fa89b67a27b7be6ccb24d3274d18b2d4067f261a9',
    '02f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9',
    '02dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659',
  ].map(bytes);
  const nonces = [
    '0337c87821afd50a8644d820a8f3e02e499c931865c2360fb43d0a0d20dafe07ea0287bf891d2a6deaebadc909352aa9405d1428c15f4b75f04dae642a95c2548480',
    '0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f817980279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    '032de2662628c90b03f5e720284eb52ff7d71f4284f627b68a853d78c78e1ffe9303e4c5524e83ffe1493b9077cf1ca6beb2090c93d930321071ad40b2f44e599046',
  ].map(bytes);
  const secretNonce = () =>
    new MusigSecretNonce(
      concatBytes(
        bytes('508b81a611f100a6b2b6b29656590898af488bcf2e1f55cf22e5cfb84421fe61'),
        bytes('fa27fd49b1d50085b481285e1ca205d55c82cc1b31ff5cd54a489829355901f7'),
        keys[0]!,
      ),
    );
  const message = bytes('f95466d086770e689964664219266fe5ed215c92ae20bab5c9d79addddf3c0cf');
  const allTweaks = [
    'e8f791ff9225a2af0102afff4a9a723d9612a682a25ebe79802b263cdfcd83bb',
    'ae2ea797cc0fe72ac5b97b97f3c6957d7e4199a167a58eb08bcaffda70ac0455',
    'f52ecbc565b3d8bea2dfd5b75a4f457e54369809322e4120831626f290fa87e0',
    '1969ad73cc177fa0b4fced6df1f7bf9907e665fde9ba196a74fed0a3cf5aef9d',
  ].map(bytes);

  test.each([
    ['x', 'e28a5c66e61e178c2ba19db77b6cf9f7e2f0f56c17918cd13135e60cc848fe91'],
    ['p', '38b0767798252f21bf5702c48028b095428320f73a4b14db1e25de58543d2d2d'],
    ['px', '408a0a21c4a0f5dacaf9646ad6eb6fecd7f7a11f03ed1f48dfff2185bc2c2408'],
    ['ppxx', '45abd206e61e3df2ec9e264a6fec8292141a633c28586388235541f9ade75435'],
    ['xpxp', 'b255fdcac27b40c7ce7848e2d3b7bf5ea0ed756da81565ac804ccca3e1d5d239'],
  ])('a part for a key with tweaks %s (p: plain, x: of X alone)', (kinds, expected) => {
    const tweaked = tweakedKey(
      [keys[1]!, keys[2]!, keys[0]!],
      [...kinds].map((kind, i) => ({ tweak: allTweaks[i]!, xOnly: kind === 'x' })),
    );
    const session = musigSession(tweaked!, aggregateNonces(nonces)!, message)!;
    const partial = signPartially(session, secretNonce(), secretKey);
    expect(partial.toHex()).toBe(expected);
    expect(verifyPartial(session, partial, nonces[0]!, keys[0]!)).toBe(true);
  });

  test('a partial signature with an infinite sum of nonces', () => {
    const negated = nonces[0]!.slice();
    negated[0]! ^= 1;
    negated[33]! ^= 1;
    const aggregate = aggregateNonces([nonces[0]!, negated])!;
    expect(aggregate).toEqual(new Uint8Array(66));
    const session = musigSession(AggregateKey.of(keys.slice(0, 2))!, aggregate, message)!;
    const partial = signPartially(session, secretNonce(), secretKey);
    expect(partial.toHex()).toBe('ae386064b26105404798f75de2eb9af5eda5387b064b83d049cb7c5e08879531');
  });

  test('nonces from all inputs and from randomness alone', () => {
    const random = bytes('0f'.repeat(32));
    const whole = musigNonceOf(random, {
      secret: bytes('02'.repeat(32)),
      publicKey: bytes('024d4b6cd1361032ca9bd2aeb9d900aa4d45d9ead80ac9423374c451a7254d0766'),
      aggregateKey: bytes('07'.repeat(32)),
      message: bytes('01'.repeat(32)),
      extra: bytes('08'.repeat(32)),
    });
    expect(whole.publicNonce.toHex()).toBe(
      '02f7be7089e8376eb355272368766b17e88e7db72047d05e56aa881ea52b3b35df02c29c8046fdd0ded4c7e55869137200fbdbfe2eb654267b6d7013602caed3115a',
    );
    const nothing = { secret: null, aggregateKey: null, message: null, extra: null };
    expect(musigNonceOf(random, { ...nothing, publicKey: keys[1]! }).publicNonce.toHex()).toBe(
      '02c96e7cb1e8aa5dac64d872947914198f607d90ecde5200de52978ad5ded63c000299ec5117c2d29edee8a2092587c3909be694d5cff0667d6c02ea4059f7cd9786',
    );
  });

  test('an aggregate signature', () => {
    const participants = [keys[0]!, bytes('02d2dc6f5df7c56acf38c7fa0ae7a759ae30e19b37359dfde015872324c7ef6e05')];
    const publicNonces = [
      '036e5ee6e28824029fea3e8a9ddd2c8483f5af98f7177c3af3cb6f47caf8d94ae902dba67e4a1f3680826172da15afb1a8ca85c7c5cc88900905c8dc8c328511b53e',
      '03e4f798da48a76eec1c9cc5ab7a880ffba201a5f064e627ec9cb0031d1d58fc5103e06180315c5a522b7ec7c08b69dcd721c313c940819296d0a7ab8e8795ac1f00',
    ].map(bytes);
    const partials = [
      'b15d2cd3c3d22b04dae438ce653f6b4ecf042f42cfded7c41b64aaf9b4af53fb',
      '6193d6ac61b354e9105bbdc8937a3454a6d705b6d57322a5a472a02ce99fcb64',
    ].map(bytes);
    const signed = bytes('599c67ea410d005b9da90817cf03ed3b1c868e4da4edf00a5880b0082c237869');
    const session = musigSession(AggregateKey.of(participants)!, aggregateNonces(publicNonces)!, signed)!;
    expect(aggregatePartials(session, partials)!.toHex()).toBe(
      '041da22223ce65c92c9a0d6c2cac828aaf1eee56304fec371ddf91ebb2b9ef0912f1038025857fedeb3ff696f8b99fa4bb2c5812f6095a2e0004ec99ce18de1e',
    );
    expect(aggregatePartials(session, [partials[0]!, bytes(ORDER)])).toBeNull();
  });
});
