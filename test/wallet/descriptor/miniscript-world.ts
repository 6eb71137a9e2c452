import fc from 'fast-check';
import { hash160, hash256, ripemd160, sha256 } from '../../../src/crypto/hash-functions.ts';
import { publicKeyOf } from '../../../src/crypto/keys.ts';
import { signatureEngine } from '../../../src/crypto/secp256k1.ts';
import { signSchnorr } from '../../../src/crypto/sign-schnorr.ts';
import type { ScriptError } from '../../../src/script/script-error.ts';
import type { SignatureChecker } from '../../../src/script/signature-checker.ts';
import { p2tr, p2wshOf } from '../../../src/script/templates.ts';
import { verifyScript } from '../../../src/script/verify.ts';
import { concatBytes } from '../../../src/util/bytes.ts';
import type { HashFragment, MiniscriptContext } from '../../../src/wallet/descriptor/miniscript/fragment.ts';
import { type MiniscriptNode, markDuplicateKeys } from '../../../src/wallet/descriptor/miniscript/miniscript-node.ts';
import { parseMiniscript } from '../../../src/wallet/descriptor/miniscript/parse-miniscript.ts';
import type { MiniscriptSpender } from '../../../src/wallet/descriptor/miniscript/satisfy.ts';
import { buildTaproot } from '../../../src/wallet/descriptor/taproot-tree.ts';
import { ALL_SCRIPT_FLAGS } from '../../lib/script-flags.ts';
import { signEcdsa } from '../../lib/sign-ecdsa.ts';

/** The point without a known secret (BIP-341). */
const NUMS = Uint8Array.fromHex('50929b74c1a04954b78b4b6035e97a5e078a5a0f28ec96d547bfee9ace803ac0');
const MESSAGE = new Uint8Array(32).fill(7);
const HASHES = { sha256, hash256, ripemd160, hash160 };

/** Secret keys and preimages of the tests: 31 zeros and this number. */
function numbered(number: number): Uint8Array {
  const bytes = new Uint8Array(32);
  bytes[31] = number;
  return bytes;
}

export const KEYS = Array.from({ length: 255 }, (_, i) => publicKeyOf(numbered(i + 1)));
const numberOfKey = new Map(KEYS.map((key, i) => [key.toHex(), i + 1]));
const numberOfXOnly = new Map(KEYS.map((key, i) => [key.subarray(1).toHex(), i + 1]));
const preimages = new Map<string, Uint8Array>();
for (const [name, hash] of Object.entries(HASHES))
  for (let i = 1; i <= 255; i++) preimages.set(`${name}:${hash(numbered(i)).toHex()}`, numbered(i));

/** A text of a miniscript with its keys, which are those of the tests in hex. */
export interface World {
  readonly root: MiniscriptNode;
  readonly keys: readonly Uint8Array[];
}

/** Null for what is no miniscript. */
export function parseWorld(text: string, context: MiniscriptContext): World | null {
  const keys: Uint8Array[] = [];
  const root = parseMiniscript(text, context, (hex) => keys.push(Uint8Array.fromHex(hex)) - 1);
  if (root === null) return null;
  markDuplicateKeys(root, (key) => keys[key]!.toHex());
  return { root, keys };
}

/** Keys as a script has them. */
export function keyBytes({ root, keys }: World) {
  const key = (number: number) => (root.context === 'tapscript' ? keys[number]!.subarray(1) : keys[number]!);
  return { key, keyHash: (number: number) => hash160(key(number)) };
}

/** Challenges of a script: `key:0`, `older:5`, `sha256:…`. */
export function challengesOf(root: MiniscriptNode): string[] {
  const found = new Set<string>();
  const todo = [root];
  for (let node = todo.pop(); node; node = todo.pop()) {
    for (const key of node.keys) found.add(`key:${key}`);
    if (node.fragment === 'older' || node.fragment === 'after') found.add(`${node.fragment}:${node.k}`);
    if (node.data.length > 0) found.add(`${node.fragment}:${node.data.toHex()}`);
    todo.push(...node.subs);
  }
  return [...found];
}

const ecdsa = new Map<number, Uint8Array>();
const schnorr = new Map<number, Uint8Array>();

function ecdsaOf(number: number): Uint8Array {
  if (!ecdsa.has(number)) ecdsa.set(number, concatBytes(signEcdsa(MESSAGE, numbered(number)), Uint8Array.of(1)));
  return ecdsa.get(number)!;
}

function schnorrOf(number: number): Uint8Array {
  const aux = new Uint8Array(32);
  if (!schnorr.has(number))
    schnorr.set(number, concatBytes(signSchnorr(MESSAGE, numbered(number), aux), Uint8Array.of(1)));
  return schnorr.get(number)!;
}

/** Has what of the challenges is in `met`. */
export function spenderOf(world: World, met: ReadonlySet<string>): MiniscriptSpender {
  const { root, keys } = world;
  const bytes = keyBytes(world);
  return {
    keyBytes: bytes.key,
    sign(key) {
      if (!met.has(`key:${key}`)) return null;
      const number = numberOfKey.get(keys[key]!.toHex())!;
      return root.context === 'tapscript' ? schnorrOf(number) : ecdsaOf(number);
    },
    preimage(hash: HashFragment, image: Uint8Array) {
      const name = `${hash}:${image.toHex()}`;
      return met.has(name) ? (preimages.get(name) ?? null) : null;
    },
    isOlder: (lock) => met.has(`older:${lock}`),
    isAfter: (lock) => met.has(`after:${lock}`),
  };
}

function checkerOf(met: ReadonlySet<string>): SignatureChecker {
  const same = (a: Uint8Array, b: Uint8Array) => a.toHex() === b.toHex();
  return {
    checkEcdsa(signature, publicKey) {
      const number = numberOfKey.get(publicKey.toHex());
      return number !== undefined && same(signature, ecdsaOf(number));
    },
    checkSchnorr(signature, xOnlyKey) {
      const number = numberOfXOnly.get(xOnlyKey.toHex());
      return number !== undefined && same(signature, schnorrOf(number)) ? 'OK' : 'SCHNORR_SIG';
    },
    checkTapTweak: (output, internal, tweak, parity) =>
      signatureEngine().checkTapTweak(output, internal, tweak, parity),
    checkLockTime: (lock) => met.has(`after:${lock}`),
    checkSequence: (lock) => met.has(`older:${lock}`),
  };
}

/** Runs a script with what satisfies it, under all rules of relay. */
export function runScript(
  script: Uint8Array,
  context: MiniscriptContext,
  stack: readonly Uint8Array[],
  met: ReadonlySet<string>,
): ScriptError {
  const none = new Uint8Array(0);
  if (context === 'p2wsh')
    return verifyScript(none, p2wshOf(script), [...stack, script], ALL_SCRIPT_FLAGS, checkerOf(met));
  const output = buildTaproot(NUMS, [{ depth: 0, leafVersion: 0xc0, script }])!;
  const witness = [...stack, script, output.leaves[0]!.controlBlock];
  return verifyScript(none, p2tr(output.outputKey), witness, ALL_SCRIPT_FLAGS, checkerOf(met));
}

function wrap(wrapper: string, text: string): string {
  return /^[a-z]+:/.test(text) ? wrapper + text : `${wrapper}:${text}`;
}

/** Texts in which expressions have the base types that are asked for; many but not all are valid. */
export function miniscriptTexts(context: MiniscriptContext): fc.Arbitrary<string> {
  const key = fc.integer({ min: 0, max: 60 }).map((i) => KEYS[i]!.toHex());
  const lock = fc.constantFrom(1, 15, 16, 17, 144, 65_535, 4_194_305, 499_999_999, 500_000_000, 2_147_483_647);
  const hash = fc
    .tuple(fc.constantFrom('sha256', 'hash256', 'ripemd160', 'hash160'), fc.integer({ min: 1, max: 40 }))
    .map(([name, i]) => `${name}(${HASHES[name as HashFragment](numbered(i)).toHex()})`);
  const multi = fc
    .tuple(fc.array(key, { minLength: 1, maxLength: 4 }), fc.nat())
    .map(([keys, k]) => `${context === 'p2wsh' ? 'multi' : 'multi_a'}(${1 + (k % keys.length)},${keys.join(',')})`);
  const { base } = fc.letrec<{ base: string; verify: string; key: string; wrapped: string }>((tie) => {
    const call = (name: string, ...args: (keyof Parameters<typeof tie>[0] | string)[]) =>
      fc.tuple(...args.map((arg) => tie(arg as 'base'))).map((texts) => `${name}(${texts.join(',')})`);
    const wrapped = (wrapper: string, arg: 'base' | 'verify' | 'key') =>
      tie(arg).map((text) => wrap(wrapper, text as string));
    return {
      base: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        key.map((hex) => `pk(${hex})`),
        key.map((hex) => `pkh(${hex})`),
        hash,
        multi,
        lock.map((k) => `older(${k})`),
        lock.map((k) => `after(${k})`),
        fc.constantFrom('0', '1'),
        call('and_v', 'verify', 'base'),
        call('and_b', 'base', 'wrapped'),
        call('or_b', 'base', 'wrapped'),
        call('or_d', 'base', 'base'),
        call('or_i', 'base', 'base'),
        call('andor', 'base', 'base', 'base'),
        call('and_n', 'base', 'base'),
        fc
          .tuple(tie('base'), fc.array(tie('wrapped'), { maxLength: 3 }), fc.nat())
          .map(([first, rest, k]) => `thresh(${1 + (k % (rest.length + 1))},${[first, ...rest].join(',')})`),
        wrapped('c', 'key'),
        ...['j', 'n', 'l', 'u'].map((wrapper) => wrapped(wrapper, 'base')),
        ...['d', 't'].map((wrapper) => wrapped(wrapper, 'verify')),
      ),
      verify: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        key.map((hex) => `v:pk(${hex})`),
        wrapped('v', 'base'),
        call('and_v', 'verify', 'verify'),
        call('or_c', 'base', 'verify'),
        call('or_i', 'verify', 'verify'),
        call('andor', 'base', 'verify', 'verify'),
      ),
      key: fc.oneof(
        { maxDepth: 5, withCrossShrink: true },
        key.map((hex) => `pk_k(${hex})`),
        key.map((hex) => `pk_h(${hex})`),
        call('and_v', 'verify', 'key'),
        call('or_i', 'key', 'key'),
        call('andor', 'base', 'key', 'key'),
      ),
      wrapped: fc.oneof(wrapped('a', 'base'), wrapped('s', 'base')),
    };
  });
  return base;
}
