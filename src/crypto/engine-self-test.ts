import { bytesToHex, concatBytes, hexToBytes } from '../util/bytes.ts';
import { derOfCompact } from './der.ts';
import type { KeyOperations } from './key-operations.ts';
import type { SignatureEngine } from './signature-engine.ts';

/** Multiples of the generator: 1, 2 and 3 times G, as X and Y. */
const G =
  '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8';
const G_X = G.slice(0, 64);
const G2_X = 'c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5';
const G3_X = 'f9308a019258c31049344f85f89d5229b531c845836f99b08601f113bce036f9';
const ORDER = 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141';
const MINUS_ONE = `${ORDER.slice(0, 62)}40`;
const FIELD = 'fffffffffffffffffffffffffffffffffffffffffffffffffffffffefffffc2f';
const ZERO = '00'.repeat(32);

// The RFC 6979 signature of SHA-256("Satoshi Nakamoto") by the key 1, which many libraries publish.
const MESSAGE = 'a0dc65ffca799873cbea0ac274015b9526505daaaed385155425f7337704883e';
const R = '934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d8';
const S = '2442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5';
const HIGH_S = 'dbbd3162d46e9f9bef7feb87c16dc13b4f6568a87f4e83f728e2443ba586675c';

/** Public key, message, signature and result of BIP-340's vectors 0, 4, 5, 6, 9, 11, 12 and 13. */
const BIP340_KEY = 'dff1d77f2a671c5f36183726db2341be58feae1da2deced843240f7b502ba659';
const BIP340_MESSAGE = '243f6a8885a308d313198a2e03707344a4093822299f31d0082efa98ec4e6c89';
const BIP340_R = '6cff5c3ba86c69ea4b7376f31a9bcb4f74c1976089b2d9963da2e5543e177769';
const BIP340_S = '69e89b4c5564d00349106b8497785dd7d1d713a8ae82b32fa79d5f7fc407d39b';
const SCHNORR: readonly (readonly [key: string, message: string, signature: string, valid: boolean])[] = [
  [
    G3_X,
    ZERO,
    'e907831f80848d1069a5371b402410364bdf1c5f8307b0084c55f1ce2dca821525f66a4a85ea8b71e482a74f382d2ce5ebeee8fdb2172f477df4900d310536c0',
    true,
  ],
  [
    'd69c3509bb99e412e68b0fe8544e72837dfa30746d8be2aa65975f29d22dc7b9',
    '4df3c3f68fcc83b27e9d42c90431a72499f17875c81a599b566c9889b9696703',
    '00000000000000000000003b78ce563f89a0ed9414f5aa28ad0d96d6795f9c6376afb1548af603b3eb45c9f8207dee1060cb71c04e80f593060b07d28308d7f4',
    true,
  ],
  ['eefdea4cdb677750a420fee807eacf21eb9898ae79b9768766e4faa04a2d4a34', BIP340_MESSAGE, BIP340_R + BIP340_S, false],
  [
    BIP340_KEY,
    BIP340_MESSAGE,
    'fff97bd5755eeea420453a14355235d382f6472f8568a18b2f057a14602975563cc27944640ac607cd107ae10923d9ef7a73c643e166be5ebeafa34b1ac553e2',
    false,
  ],
  [BIP340_KEY, BIP340_MESSAGE, `${ZERO}123dda8328af9c23a94c1feecfd123ba4fb73476f0d594dcb65c6425bd186051`, false],
  [BIP340_KEY, BIP340_MESSAGE, `4a298dacae57395a15d0795ddbfd1dcb564da82b0f269bc70a74f8220429ba1d${BIP340_S}`, false],
  [BIP340_KEY, BIP340_MESSAGE, FIELD + BIP340_S, false],
  [BIP340_KEY, BIP340_MESSAGE, BIP340_R + ORDER, false],
];

/** The second output of BIP-341's wallet vectors, whose control block states an odd Y. */
const BIP341_INTERNAL = '187791b6f712a8ea41c8ecdd0ee77fab3e85263b37e1ec18a3651926b3a6cf27';
const BIP341_TWEAK = 'cbd8679ba636c1110ea247542cfbd964131a6be84f873f7f3b62a777528ed001';
const BIP341_OUTPUT = '147c9c57132f6e7ecddba9800bb0c4449251c92a1e60371ee77557b6620f3ea3';

/**
 * Verifies known answers, about a millisecond of them. Returns the name of the first operation with a wrong answer, or
 * null: a library that computes wrongly must not be used, since the node would leave the chain of all others.
 */
export function selfTestFailure(engine: SignatureEngine, keys: KeyOperations): string | null {
  if (!verifiesEcdsa(engine)) return 'ECDSA verification';
  if (!verifiesSchnorr(engine)) return 'Schnorr verification';
  if (!checksTweaks(engine)) return 'taproot tweak';
  if (!checksKeys(engine)) return 'public key check';
  if (!changesKeys(keys)) return 'key operations';
  return signs(keys) ? null : 'ECDSA signing';
}

function verifiesEcdsa(engine: SignatureEngine): boolean {
  const verify = (r: string, s: string, key = `02${G_X}`, message = MESSAGE) =>
    engine.verifyEcdsa(derOfCompact(hexToBytes(r + s)), hexToBytes(message), hexToBytes(key));
  // The same numbers without their sign bytes, with a wrong length of the sequence.
  const lax = concatBytes(hexToBytes(`30000220${R}0220${HIGH_S}`));
  return (
    verify(R, S) &&
    verify(R, HIGH_S) &&
    verify(R, S, `04${G}`) &&
    verify(R, S, `06${G}`) &&
    engine.verifyEcdsa(lax, hexToBytes(MESSAGE), hexToBytes(`02${G_X}`)) &&
    !verify(R, S, `07${G}`) &&
    !verify(R, S, `03${G_X}`) &&
    !verify(R, S, `02${G2_X}`) &&
    !verify(R, S, undefined, ORDER) &&
    !verify(S, R) &&
    !verify(ZERO, S) &&
    !verify(R, ZERO) &&
    !verify(ORDER, S) &&
    !verify(R, ORDER)
  );
}

function verifiesSchnorr(engine: SignatureEngine): boolean {
  return SCHNORR.every(
    ([key, message, signature, valid]) =>
      engine.verifySchnorr(hexToBytes(signature), hexToBytes(message), hexToBytes(key)) === valid,
  );
}

function checksTweaks(engine: SignatureEngine): boolean {
  const check = (output: string, internal: string, tweak: string, parity: number) =>
    engine.checkTapTweak(hexToBytes(output), hexToBytes(internal), hexToBytes(tweak), parity);
  return (
    check(BIP341_OUTPUT, BIP341_INTERNAL, BIP341_TWEAK, 1) &&
    !check(BIP341_OUTPUT, BIP341_INTERNAL, BIP341_TWEAK, 0) &&
    !check(BIP341_INTERNAL, BIP341_INTERNAL, BIP341_TWEAK, 1) &&
    check(G_X, G_X, ZERO, 0) &&
    // A sum that is infinity, a tweak of n, and an X that is not below p.
    !check(G_X, G_X, MINUS_ONE, 0) &&
    !check(G_X, G_X, ORDER, 0) &&
    !check(G_X, FIELD, ZERO, 0)
  );
}

function checksKeys(engine: SignatureEngine): boolean {
  const valid = [`02${G_X}`, `03${G_X}`, `04${G}`, `06${G}`];
  const invalid = ['', `02${FIELD}`, `02${'00'.repeat(31)}05`, `04${G.slice(0, -1)}9`, `07${G}`, `05${G}`, `00${G_X}`];
  return (
    valid.every((key) => engine.isValidPublicKey(hexToBytes(key))) &&
    !invalid.some((key) => engine.isValidPublicKey(hexToBytes(key)))
  );
}

function changesKeys(keys: KeyOperations): boolean {
  const [one, two] = [`${ZERO.slice(0, 62)}01`, `${ZERO.slice(0, 62)}02`];
  const results: string[] = [];
  const compressed = new Uint8Array(33);
  const uncompressed = new Uint8Array(65);
  const note = (failed: number, bytes: Uint8Array) => results.push(failed === 0 ? bytesToHex(bytes) : 'failed');
  const changed = (secret: string, change: (bytes: Uint8Array) => number) => {
    const bytes = hexToBytes(secret);
    note(change(bytes), bytes);
  };
  changed(one, (bytes) => keys.privateKeyNegate(bytes));
  changed(one, (bytes) => keys.privateKeyTweakAdd(bytes, hexToBytes(one)));
  changed(one, (bytes) => keys.privateKeyTweakAdd(bytes, hexToBytes(MINUS_ONE)));
  changed(MINUS_ONE, (bytes) => keys.privateKeyTweakMul(bytes, hexToBytes(MINUS_ONE)));
  changed(one, (bytes) => keys.privateKeyTweakMul(bytes, hexToBytes(ORDER)));
  note(keys.publicKeyCreate(compressed, hexToBytes(two)), compressed);
  note(keys.publicKeyCreate(uncompressed, hexToBytes(one)), uncompressed);
  note(keys.publicKeyCreate(compressed, hexToBytes(ORDER)), compressed);
  note(keys.publicKeyTweakAdd(compressed, hexToBytes(`02${G_X}`), hexToBytes(two)), compressed);
  note(keys.publicKeyTweakAdd(compressed, hexToBytes(`02${G_X}`), hexToBytes(MINUS_ONE)), compressed);
  return (
    results.join() ===
    [MINUS_ONE, two, 'failed', one, 'failed', `02${G2_X}`, `04${G}`, 'failed', `02${G3_X}`, 'failed'].join()
  );
}

function signs(keys: KeyOperations): boolean {
  const out = { signature: new Uint8Array(64), recid: 0 };
  const key = new Uint8Array(33);
  return (
    keys.ecdsaSign(out, hexToBytes(MESSAGE), hexToBytes(`${ZERO.slice(0, 62)}01`)) === 0 &&
    bytesToHex(out.signature) === R + S &&
    keys.ecdsaRecover(key, out.signature, out.recid, hexToBytes(MESSAGE)) === 0 &&
    bytesToHex(key) === `02${G_X}` &&
    keys.ecdsaSign(out, hexToBytes(MESSAGE), hexToBytes(ORDER)) !== 0
  );
}
