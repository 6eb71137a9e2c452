import { hash160, ripemd160 } from '../../crypto/hash-functions.ts';
import { STANDARD_SCRIPT_FLAGS } from '../../policy/standard-inputs.ts';
import { scriptOf } from '../../script/script-builder.ts';
import { p2pkh, type ScriptType, scriptType } from '../../script/templates.ts';
import { verifyScript } from '../../script/verify.ts';
import { bytesToHex, concatBytes, equalBytes } from '../../util/bytes.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import { findPublicKey, satisfyScript } from './satisfy-script.ts';
import { signTaproot } from './sign-taproot.ts';
import type { SignatureCreator } from './signature-creator.ts';
import type { SignatureData } from './signature-data.ts';

type Stack = readonly Uint8Array[];
type SigVersion = 'base' | 'witness_v0';

/** Result of one step: a stack that solves the script, or one with gaps for other signers. */
interface Step {
  readonly type: ScriptType;
  readonly solved: boolean;
  readonly stack: Stack;
}

interface Signing {
  readonly provider: SigningProvider;
  readonly creator: SignatureCreator;
  readonly data: SignatureData;
}

const EMPTY = new Uint8Array(0);
/** Script types that are not allowed within P2WSH. */
const NOT_IN_WITNESS_SCRIPT: ReadonlySet<ScriptType> = new Set([
  'scripthash',
  'witness_v0_scripthash',
  'witness_v0_keyhash',
]);

/**
 * Solves an output script with what `data` holds and the provider has, and puts into `data` all that was found on the
 * way: scriptSig and witness, be they whole or not, signatures, keys, scripts, and what is missing. Returns whether the
 * output can be spent so. Core's ProduceSignature.
 */
export function produceSignature(
  provider: SigningProvider,
  creator: SignatureCreator,
  scriptPubKey: Uint8Array,
  data: SignatureData,
): boolean {
  if (data.complete) return true;
  const signing: Signing = { provider, creator, data };
  let step = signStep(signing, scriptPubKey, 'base');
  let redeemScript: Uint8Array | null = null;
  if (step.solved && step.type === 'scripthash') {
    redeemScript = step.stack[0]!;
    data.redeemScript = redeemScript;
    const inner = signStep(signing, redeemScript, 'base');
    step = { ...inner, solved: inner.solved && inner.type !== 'scripthash' };
  }
  let solved = step.solved;
  let stack = step.stack;
  if (solved && step.type === 'witness_v0_keyhash') {
    // BIP-143 signs P2WPKH like P2PKH.
    const inner = signStep(signing, p2pkh(stack[0]!), 'witness_v0');
    solved = inner.solved;
    stack = setWitness(data, inner.stack);
  } else if (solved && step.type === 'witness_v0_scripthash') {
    const script = stack[0]!;
    data.witnessScript = script;
    const inner = signWitnessScript(signing, script);
    solved = inner.solved;
    stack = setWitness(data, [...inner.stack, script]);
  } else if (step.type === 'witness_v1_taproot' && redeemScript === null) {
    data.witness = true;
    if (solved) data.scriptWitness = stack;
    stack = [];
  }
  if (!data.witness) data.scriptWitness = [];
  data.scriptSig = concatBytes(scriptOf(...stack), redeemScript === null ? EMPTY : scriptOf(redeemScript));
  data.complete =
    solved &&
    verifyScript(data.scriptSig, scriptPubKey, data.scriptWitness, STANDARD_SCRIPT_FLAGS, creator.checker) === 'OK';
  return data.complete;
}

/** Signs a script by its template, or else as miniscript. An incomplete multisig keeps its signatures. */
function signWitnessScript(signing: Signing, script: Uint8Array): Omit<Step, 'type'> {
  const { type, solved, stack } = signStep(signing, script, 'witness_v0');
  if (solved || stack.length > 0) return { solved: solved && !NOT_IN_WITNESS_SCRIPT.has(type), stack };
  const sign = (key: Uint8Array) => keySignature(signing, key, script, 'witness_v0');
  const satisfied = satisfyScript(script, 'p2wsh', { ...signing, sign });
  return { solved: satisfied !== null, stack: satisfied ?? [] };
}

/** Sets the witness and returns the empty stack of the scriptSig. */
function setWitness(data: SignatureData, witness: Stack): Stack {
  data.scriptWitness = witness;
  data.witness = true;
  return [];
}

function signStep(signing: Signing, script: Uint8Array, sigVersion: SigVersion): Step {
  const { type, solutions } = scriptType(script);
  const result = (stack: Stack | null): Step => ({ type, solved: stack !== null, stack: stack ?? [] });
  const [solution] = solutions;
  switch (type) {
    case 'pubkey': {
      const signature = keySignature(signing, solution!, script, sigVersion);
      return result(signature && [signature]);
    }
    case 'pubkeyhash': {
      const key = findPublicKey(signing, solution!);
      if (key === null) {
        signing.data.missingKeys.push(solution!);
        return result(null);
      }
      const signature = keySignature(signing, key, script, sigVersion);
      return result(signature && [signature, key]);
    }
    case 'multisig':
      return { type, ...multisigStack(signing, script, solutions, sigVersion) };
    case 'scripthash': {
      const redeemScript = findScript(signing, solution!);
      if (redeemScript === null) signing.data.missingRedeemScript = solution!;
      return result(redeemScript && [redeemScript]);
    }
    case 'witness_v0_scripthash': {
      const witnessScript = findScript(signing, ripemd160(solution!));
      if (witnessScript === null) signing.data.missingWitnessScript = solution!;
      return result(witnessScript && [witnessScript]);
    }
    case 'witness_v0_keyhash':
      return result([solution!]);
    case 'witness_v1_taproot':
      return result(signTaproot(signing.provider, signing.creator, solution!, signing.data));
    case 'anchor':
      return result([]);
    default:
      return result(null);
  }
}

/** Signs with every key, so that all possible signatures become known; the stack has the first ones that are needed. */
function multisigStack(
  signing: Signing,
  script: Uint8Array,
  solutions: Stack,
  sigVersion: SigVersion,
): { readonly solved: boolean; readonly stack: Stack } {
  const required = solutions[0]![0]!;
  const signatures: Uint8Array[] = [];
  for (const key of solutions.slice(1, -1)) {
    const signature = keySignature(signing, key, script, sigVersion);
    if (signature !== null && signatures.length < required) signatures.push(signature);
  }
  const missing = required - signatures.length;
  // Core leaves half of the missing items as gaps.
  const gaps = new Array<Uint8Array>(Math.ceil(missing / 2)).fill(EMPTY);
  // OP_CHECKMULTISIG pops one item too many, which must be empty (BIP-147).
  return { solved: missing === 0, stack: [EMPTY, ...signatures, ...gaps] };
}

/** Returns the existing signature, or a new one. */
function keySignature(
  { provider, creator, data }: Signing,
  publicKey: Uint8Array,
  scriptCode: Uint8Array,
  sigVersion: SigVersion,
): Uint8Array | null {
  const keyId = hash160(publicKey);
  const id = bytesToHex(keyId);
  const known = data.signatures.get(id);
  if (known) return known.signature;
  const origin = provider.keyOrigin(keyId);
  if (origin !== null && !data.keys.has(id)) data.keys.set(id, { publicKey, origin });
  const signature = creator.ecdsa(provider, keyId, scriptCode, sigVersion);
  if (signature === null) data.missingSignatures.push(keyId);
  else data.signatures.set(id, { publicKey, signature });
  return signature;
}

function findScript({ provider, data }: Signing, id: Uint8Array): Uint8Array | null {
  const found = provider.script(id);
  if (found !== null) return found;
  for (const script of [data.redeemScript, data.witnessScript])
    if (script !== null && equalBytes(hash160(script), id)) return script;
  return null;
}
