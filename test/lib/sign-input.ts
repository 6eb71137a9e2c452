import { tapTweakSecret } from '../../src/crypto/keys.ts';
import { signSchnorr } from '../../src/crypto/sign-schnorr.ts';
import type { Transaction, TxOutput } from '../../src/primitives/transaction.ts';
import { DecodedTxContext } from '../../src/script/decoded-tx-context.ts';
import { Op } from '../../src/script/opcodes.ts';
import { scriptOf } from '../../src/script/script-builder.ts';
import { legacySighash } from '../../src/script/sighash-legacy.ts';
import { taprootSighash } from '../../src/script/sighash-taproot.ts';
import { SIGHASH_ALL, SIGHASH_DEFAULT, SIGHASH_OUTPUT_BITS, SIGHASH_SINGLE } from '../../src/script/sighash-type.ts';
import { witnessV0Sighash } from '../../src/script/sighash-v0.ts';
import { newTaprootSpend } from '../../src/script/signature-checker.ts';
import { tapTweakHash } from '../../src/script/taproot.ts';
import { p2pkh, scriptType } from '../../src/script/templates.ts';
import { concatBytes } from '../../src/util/bytes.ts';
import type { KeyPair, KeyRing } from './key-ring.ts';
import { signEcdsa } from './sign-ecdsa.ts';

export interface SignOptions {
  /** Hash type of every signature; by default ALL, and DEFAULT in taproot inputs, which means the same. */
  readonly hashType?: number;
  /** BIP-340's 32 auxiliary bytes; random unless given. */
  readonly aux?: Uint8Array;
}

interface InputSolution {
  readonly scriptSig: Uint8Array;
  readonly witness: readonly Uint8Array[];
}

type Stack = readonly Uint8Array[];
type Sighash = typeof legacySighash;

interface Signing {
  readonly context: DecodedTxContext;
  readonly index: number;
  readonly ring: KeyRing;
  readonly options: SignOptions;
}

const EMPTY = new Uint8Array(0);
const COMPRESSED_KEY_SIZE = 33;

/**
 * Signs every input that the ring has keys for, and leaves the others as they are. `spentOutputs` are in the order of the
 * inputs. `complete`: whether all could be signed.
 */
export function signTransaction(
  tx: Transaction,
  spentOutputs: readonly TxOutput[],
  ring: KeyRing,
  options: SignOptions = {},
): { tx: Transaction; complete: boolean } {
  const context = new DecodedTxContext(tx, spentOutputs);
  let complete = true;
  const inputs = tx.inputs.map((input, index) => {
    const solution = signInput(context, index, ring, options);
    if (solution === null) complete = false;
    return solution === null ? input : { ...input, ...solution };
  });
  return { tx: { ...tx, inputs }, complete };
}

/**
 * Returns the witness and scriptSig with which one input spends its output: P2PK, P2PKH, P2WPKH, multisig, P2TR, and
 * P2SH or P2WSH around them. Null where the ring lacks a key or script, the output has another form, or SIGHASH_SINGLE
 * has no output of its own.
 */
function signInput(
  context: DecodedTxContext,
  index: number,
  ring: KeyRing,
  options: SignOptions = {},
): InputSolution | null {
  // Without an output of its own the signature would do for any transaction (before segwit), or for none (taproot).
  if (
    ((options.hashType ?? SIGHASH_ALL) & SIGHASH_OUTPUT_BITS) === SIGHASH_SINGLE &&
    index >= context.tx.outputs.length
  )
    return null;
  const signing: Signing = { context, index, ring, options };
  const { scriptPubKey } = context.spentOutputs[index]!;
  const { type, solutions } = scriptType(scriptPubKey);
  // In P2SH, taproot means nothing (BIP-341).
  if (type === 'witness_v1_taproot') return asWitness(signTaproot(signing, solutions[0]!));
  if (type !== 'scripthash') return signBare(signing, scriptPubKey);
  const redeemScript = ring.scriptOfHash160(solutions[0]!);
  if (redeemScript === null) return null;
  const inner = signBare(signing, redeemScript);
  return inner && { ...inner, scriptSig: concatBytes(inner.scriptSig, scriptOf(redeemScript)) };
}

/** An output script, or the script behind a P2SH one. */
function signBare(signing: Signing, script: Uint8Array): InputSolution | null {
  const { type, solutions } = scriptType(script);
  // BIP-143: signs as if for P2PKH.
  if (type === 'witness_v0_keyhash') return asWitness(signScript(signing, p2pkh(solutions[0]!), witnessV0Sighash));
  if (type === 'witness_v0_scripthash') return asWitness(signScriptHash(signing, solutions[0]!));
  const stack = signScript(signing, script, legacySighash);
  return stack && { scriptSig: scriptOf(...stack), witness: [] };
}

function asWitness(witness: Stack | null): InputSolution | null {
  return witness && { scriptSig: EMPTY, witness };
}

function signScriptHash(signing: Signing, scriptHash: Uint8Array): Stack | null {
  const script = signing.ring.scriptOfSha256(scriptHash);
  const stack = script && signScript(signing, script, witnessV0Sighash);
  return stack && [...stack, script];
}

/** Returns the stack items that satisfy a script without further scripts in it. */
function signScript(signing: Signing, script: Uint8Array, sighash: Sighash): Stack | null {
  const { ring } = signing;
  const { type, solutions } = scriptType(script);
  const sign = (key: KeyPair) => ecdsaSignature(signing, key, script, sighash);
  if (type === 'pubkey') {
    const key = ring.keyOf(solutions[0]!);
    const signature = key && sign(key);
    return signature && [signature];
  }
  if (type === 'pubkeyhash') {
    const key = ring.keyOfHash(solutions[0]!);
    const signature = key && sign(key);
    return signature && [signature, key.publicKey];
  }
  if (type === 'multisig') return multisigStack(signing, solutions, sign);
  return null;
}

function multisigStack({ ring }: Signing, solutions: Stack, sign: (key: KeyPair) => Uint8Array | null): Stack | null {
  const required = solutions[0]![0]!;
  const signatures: Uint8Array[] = [];
  // In the order of the keys, as the check walks both lists once.
  for (const publicKey of solutions.slice(1, -1)) {
    if (signatures.length === required) break;
    const key = ring.keyOf(publicKey);
    const signature = key && sign(key);
    if (signature) signatures.push(signature);
  }
  // BIP-147: the extra item that OP_CHECKMULTISIG consumes is empty.
  return signatures.length === required ? [EMPTY, ...signatures] : null;
}

/** Returns the DER signature and hash type. Null for an uncompressed key in a witness, which nodes do not relay. */
function ecdsaSignature(
  { context, index, options }: Signing,
  { secret, publicKey }: KeyPair,
  scriptCode: Uint8Array,
  sighash: Sighash,
): Uint8Array | null {
  if (sighash === witnessV0Sighash && publicKey.length !== COMPRESSED_KEY_SIZE) return null;
  const hashType = options.hashType || SIGHASH_ALL;
  const hash = sighash(context, index, scriptCode, hashType);
  return concatBytes(signEcdsa(hash, secret), Uint8Array.of(hashType));
}

/** By the internal key where the ring has it, else by the script where that asks for one key of the ring. */
function signTaproot(signing: Signing, outputKey: Uint8Array): Stack | null {
  const { ring } = signing;
  const output = ring.taprootOf(outputKey);
  if (output === null) return null;
  const internal = ring.keyOfXOnly(output.internalKey);
  if (internal !== null) {
    const tweaked = tapTweakSecret(internal.secret, tapTweakHash(output.internalKey, output.merkleRoot));
    const signature = schnorrSignature(signing, tweaked, null);
    return signature && [signature];
  }
  const { leaf } = output;
  const leafKey = leaf && singleKeyOf(leaf.script);
  const key = leafKey && ring.keyOfXOnly(leafKey);
  const signature = key && schnorrSignature(signing, key.secret, leaf!.hash);
  return signature && [signature, leaf!.script, leaf!.controlBlock];
}

/** The key of a script `<32 bytes> OP_CHECKSIG`, null for others. */
function singleKeyOf(script: Uint8Array): Uint8Array | null {
  return script.length === 34 && script[0] === 32 && script[33] === Op.OP_CHECKSIG ? script.subarray(1, 33) : null;
}

function schnorrSignature(
  { context, index, options }: Signing,
  secret: Uint8Array,
  tapleafHash: Uint8Array | null,
): Uint8Array | null {
  const hashType = options.hashType ?? SIGHASH_DEFAULT;
  const hash = taprootSighash(context, index, hashType, { ...newTaprootSpend(), tapleafHash });
  if (hash === null) return null;
  const signature = signSchnorr(hash, secret, options.aux);
  return hashType === SIGHASH_DEFAULT ? signature : concatBytes(signature, Uint8Array.of(hashType));
}
