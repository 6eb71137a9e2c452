import { derOfCompact, parseDerLax } from '../../src/crypto/der.ts';
import { sha256, taggedHasher } from '../../src/crypto/hash-functions.ts';
import { publicKeyOf, recoverPublicKey, signEcdsaCompact, tapTweakPublicKey, xOnlyOf } from '../../src/crypto/keys.ts';
import { nobleEngine } from '../../src/crypto/secp256k1-noble.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import type { SignatureEngine } from '../../src/crypto/signature-engine.ts';
import { bytesToHex, concatBytes } from '../../src/util/bytes.ts';
import { mutate } from '../fuzz/mutate.ts';
import type { Random } from '../fuzz/random.ts';

const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const P = 2n ** 256n - 2n ** 32n - 977n;

const noble = nobleEngine();

const to32 = (value: bigint) => Uint8Array.fromHex(value.toString(16).padStart(64, '0'));
const toNumber = (bytes: Uint8Array) => BigInt(`0x${bytesToHex(bytes)}`);
const modN = (value: bigint) => ((value % N) + N) % N;
const isScalar = (value: bigint) => value > 0n && value < N;

/** A case for all engines. */
export interface SignatureCase {
  readonly ask: (engine: SignatureEngine) => boolean;
  /** Expected result; null if only agreement is checked. */
  readonly expected: boolean | null;
  /** Whether points have to be computed, and no wrong form or number decides before. */
  readonly full: boolean;
  readonly parts: readonly Uint8Array[];
}

export interface Signer {
  readonly secret: bigint;
  readonly compressed: Uint8Array;
  readonly uncompressed: Uint8Array;
  readonly hybrid: Uint8Array;
  readonly xOnly: Uint8Array;
  readonly message: Uint8Array;
  readonly r: bigint;
  readonly s: bigint;
  readonly schnorr: Uint8Array;
}

export const SIGNERS: readonly Signer[] = Array.from({ length: 48 }, (_, i) => {
  const secret = sha256(Uint8Array.of(i, 1));
  const message = sha256(Uint8Array.of(i, 2));
  const uncompressed = publicKeyOf(secret, false);
  const hybrid = uncompressed.slice();
  hybrid[0] = 6 + (uncompressed[64]! & 1);
  const { signature } = signEcdsaCompact(message, secret);
  return {
    secret: toNumber(secret),
    compressed: publicKeyOf(secret),
    uncompressed,
    hybrid,
    xOnly: xOnlyOf(secret),
    message,
    r: toNumber(signature.subarray(0, 32)),
    s: toNumber(signature.subarray(32)),
    schnorr: signSchnorr(message, secret, new Uint8Array(32)),
  };
});

const EDGES = [0n, 1n, 2n, N / 2n, N / 2n + 1n, N - 1n, N, N + 1n, P - 1n, P, P + 1n, 2n ** 256n - 1n];
const BAD_EDGES = EDGES.filter((value) => !isScalar(value));

const keyOf = (signer: Signer, random: Random) =>
  random.pick([signer.compressed, signer.uncompressed, signer.hybrid] as const);

function ecdsa(der: Uint8Array, message: Uint8Array, key: Uint8Array, expected: boolean | null = null): SignatureCase {
  const compact = new Uint8Array(64);
  const full =
    parseDerLax(der, compact) &&
    isScalar(toNumber(compact.subarray(0, 32))) &&
    isScalar(toNumber(compact.subarray(32))) &&
    noble.isValidPublicKey(key);
  return { ask: (engine) => engine.verifyEcdsa(der, message, key), expected, full, parts: [der, message, key] };
}

function schnorr(
  signature: Uint8Array,
  message: Uint8Array,
  key: Uint8Array,
  expected: boolean | null = null,
): SignatureCase {
  const full = toNumber(signature.subarray(32)) < N && noble.isValidPublicKey(Uint8Array.of(2, ...key));
  const ask = (engine: SignatureEngine) => engine.verifySchnorr(signature, message, key);
  return { ask, expected, full, parts: [signature, message, key] };
}

const strictDer = (r: bigint, s: bigint) => derOfCompact(concatBytes(to32(r), to32(s)));

/** Returns the same two numbers in one of the many encodings that are accepted leniently. */
function laxDer(r: bigint, s: bigint, random: Random): Uint8Array {
  const body = concatBytes(laxInteger(r, random), laxInteger(s, random));
  const lengthBytes = random.int(5);
  const length = random.once(2) ? Uint8Array.of(0x80 + lengthBytes, ...random.bytes(lengthBytes)) : random.bytes(1);
  if (length.length === 1) length[0]! &= 0x7f;
  return concatBytes(Uint8Array.of(0x30), length, body, random.bytes(random.length(8)));
}

function laxInteger(value: bigint, random: Random): Uint8Array {
  const bytes = to32(value);
  const zeros = bytes.findIndex((byte) => byte !== 0);
  const shortest = zeros < 0 ? bytes.subarray(32) : bytes.subarray(zeros);
  const content = concatBytes(new Uint8Array(random.length(40)), shortest);
  const { length } = content;
  const head = random.pick([
    [length],
    [0x81, length],
    [0x82, 0, length],
    [0x84, 0, 0, 0, length],
    [0x88, 0, 0, 0, 0, 0, 0, 0, length],
  ]);
  return concatBytes(Uint8Array.of(2, ...head), content);
}

/** Returns a DER signature with changed bytes in its head, where most changes make it undecodable. */
function brokenDer({ r, s }: Signer, random: Random): Uint8Array {
  const der = strictDer(r, s);
  const at = random.pick([0, 0, 2, 2, 3, 4 + der[3]!, 5 + der[3]!, der.length]);
  if (at === der.length) return der.subarray(0, random.int(der.length));
  der[at] = random.u32();
  return der;
}

function flipped(bytes: Uint8Array, random: Random): Uint8Array {
  const copy = bytes.slice();
  copy[random.int(copy.length)]! ^= 1 << random.int(8);
  return copy;
}

/** Returns a key of wrong length, with a wrong first byte, off the curve, too large, or infinity. */
function badKey(signer: Signer, random: Random): Uint8Array {
  const prefixed = (prefix: number, ...rest: readonly Uint8Array[]) => concatBytes(Uint8Array.of(prefix), ...rest);
  switch (random.int(8)) {
    case 0:
      return keyOf(signer, random).subarray(0, random.int(65));
    case 1:
      return prefixed(random.pick([0, 1, 5, 8, 0x42, 0xff]), keyOf(signer, random).subarray(1));
    case 2:
      return prefixed(random.pick([2, 3, 4, 6, 7]), random.bytes(random.pick([32, 64])));
    case 3:
      return prefixed(2 + random.int(2), to32(random.pick(EDGES)));
    case 4:
      return prefixed(4, signer.uncompressed.subarray(1, 33), flipped(signer.uncompressed.subarray(33), random));
    case 5:
      return prefixed(6 + ((signer.uncompressed[64]! & 1) ^ 1), signer.uncompressed.subarray(1));
    case 6:
      return new Uint8Array(random.pick([0, 1, 33, 65]));
    default:
      return prefixed(random.pick([4, 6, 7]), to32(random.pick(EDGES)), random.bytes(32));
  }
}

const challenge = taggedHasher('BIP0340/challenge');

/** Returns the secret whose public key has an even Y, as BIP-340 requires. */
function evenSecret({ secret, compressed }: Signer): bigint {
  return compressed[0] === 3 ? N - secret : secret;
}

/**
 * Returns the signature s = k + e*d for a chosen nonce. A nonce of 0 makes R infinity, and one with an odd Y makes it
 * invalid.
 */
function schnorrOfNonce(signer: Signer, r: Uint8Array, k: bigint): Uint8Array {
  const e = toNumber(challenge(r, signer.xOnly, signer.message)) % N;
  return concatBytes(r, to32(modN(k + e * evenSecret(signer))));
}

/** Returns a case whose X is at least n, so that the signature holds X - n, which a careless check misses. */
function overflowing(random: Random): SignatureCase {
  const message = random.bytes(32);
  const s = modN(toNumber(random.bytes(32)));
  for (let r = 1n + BigInt(random.int(50)); ; r++) {
    const key = recoverPublicKey(message, concatBytes(to32(r), to32(s)), 2 + random.int(2));
    if (key !== null) return ecdsa(strictDer(r, s), message, key, true);
  }
}

function tweakCase(signer: Signer, random: Random): SignatureCase {
  let tweak = random.pick([random.bytes(32), random.bytes(32), to32(random.pick(EDGES)), to32(N - evenSecret(signer))]);
  let internal = random.once(6) ? random.bytes(32) : random.once(12) ? to32(random.pick(EDGES)) : signer.xOnly;
  const tweaked = tapTweakPublicKey(internal, tweak);
  const output = tweaked?.key ?? signer.xOnly;
  const parity = random.once(4) ? random.int(2) : (tweaked?.parity ?? 0);
  const right = tweaked !== null && parity === tweaked.parity;
  let expected: boolean | null = right;
  if (random.once(3)) {
    expected = null;
    if (random.once(2)) tweak = flipped(tweak, random);
    else internal = flipped(internal, random);
  }
  return {
    ask: (engine) => engine.checkTapTweak(output, internal, tweak, parity),
    expected,
    full: toNumber(tweak) < N && noble.isValidPublicKey(Uint8Array.of(2, ...internal)),
    parts: [output, internal, tweak, Uint8Array.of(parity)],
  };
}

type Kind = (signer: Signer, random: Random) => SignatureCase;

/** Shares in percent. */
export const KINDS: Readonly<Record<string, readonly [share: number, make: Kind]>> = {
  'DER that is broken': [38, (x, random) => ecdsa(brokenDer(x, random), x.message, keyOf(x, random))],
  'DER that is changed anywhere': [
    5,
    (x, random) => ecdsa(mutate(strictDer(x.r, x.s), random.bytes(40), random), x.message, keyOf(x, random)),
  ],
  'DER that is lax': [
    5,
    (x, random) => ecdsa(laxDer(x.r, random.once(2) ? x.s : N - x.s, random), x.message, keyOf(x, random), true),
  ],
  'high S': [1, (x, random) => ecdsa(strictDer(x.r, N - x.s), x.message, keyOf(x, random), true)],
  'r or s out of range': [
    16,
    (x, random) => {
      const [bad, other] = [random.pick(BAD_EDGES), random.pick([...EDGES, x.r, x.s])];
      const [r, s] = random.once(2) ? [bad, other] : [other, bad];
      return ecdsa(random.once(2) ? laxDer(r, s, random) : strictDer(r, s), x.message, keyOf(x, random), false);
    },
  ],
  'r and s at the edges': [
    2,
    (x, random) => {
      const edges = EDGES.filter(isScalar);
      return ecdsa(laxDer(random.pick([x.r, ...edges]), random.pick([x.s, ...edges]), random), x.message, x.hybrid);
    },
  ],
  'a wrong message or key': [
    2,
    (x, random) =>
      random.once(2)
        ? ecdsa(strictDer(x.r, x.s), flipped(x.message, random), keyOf(x, random), false)
        : ecdsa(strictDer(x.r, x.s), x.message, keyOf(random.pick(SIGNERS.filter((y) => y !== x)), random), false),
  ],
  'a key that may be none': [12, (x, random) => ecdsa(strictDer(x.r, x.s), x.message, badKey(x, random))],
  'whether a key is one': [
    6,
    (x, random) => {
      const key = random.once(8) ? keyOf(x, random) : badKey(x, random);
      return { ask: (engine) => engine.isValidPublicKey(key), expected: null, full: false, parts: [key] };
    },
  ],
  'an ECDSA sum that is infinity': [
    1,
    (x, random) => {
      const r = random.once(2) ? x.r : random.pick(EDGES.filter(isScalar));
      return ecdsa(strictDer(r, x.s), to32(modN(-r * x.secret)), keyOf(x, random), false);
    },
  ],
  'a point with X above n': [1, (_, random) => overflowing(random)],
  'Schnorr that is good': [1, (x) => schnorr(x.schnorr, x.message, x.xOnly, true)],
  'Schnorr with a bit wrong': [
    3,
    (x, random) => {
      const part = random.int(3);
      return schnorr(
        part === 0 ? flipped(x.schnorr, random) : x.schnorr,
        part === 1 ? flipped(x.message, random) : x.message,
        part === 2 ? flipped(x.xOnly, random) : x.xOnly,
        false,
      );
    },
  ],
  'Schnorr at the edges': [
    4,
    (x, random) => {
      const r = random.once(2) ? to32(random.pick(EDGES)) : x.schnorr.subarray(0, 32);
      const s = random.once(2) ? to32(random.pick(EDGES)) : x.schnorr.subarray(32);
      const key = random.once(2) ? to32(random.pick([...EDGES, N + BigInt(random.int(100))])) : x.xOnly;
      return schnorr(concatBytes(r, s), x.message, key);
    },
  ],
  'Schnorr with R at infinity, or with an odd Y': [
    1,
    (x, random) => {
      const k = modN(toNumber(random.bytes(32)));
      const point = publicKeyOf(to32(k));
      const odd = point[0] === 3 ? k : N - k;
      const r = point.subarray(1);
      const kind = random.int(3);
      return schnorr(
        schnorrOfNonce(x, r, kind === 0 ? 0n : kind === 1 ? odd : N - odd),
        x.message,
        x.xOnly,
        kind === 2,
      );
    },
  ],
  'taproot tweaks': [2, tweakCase],
};
