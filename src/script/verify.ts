import { sha256 } from '../crypto/hash-functions.ts';
import { compactSizeLength, writeVarBytes } from '../primitives/compact-size.ts';
import { assert } from '../util/assert.ts';
import { ByteWriter, equalBytes } from '../util/bytes.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from './flags.ts';
import { evalScript } from './interpreter.ts';
import { isOpSuccess } from './opcodes.ts';
import { pushData } from './script-builder.ts';
import type { ScriptError } from './script-error.ts';
import {
  ANNEX_TAG,
  MAX_SCRIPT_ELEMENT_SIZE,
  MAX_STACK_SIZE,
  WITNESS_V0_KEYHASH_SIZE,
  WITNESS_V0_SCRIPTHASH_SIZE,
  WITNESS_V1_TAPROOT_SIZE,
} from './script-limits.ts';
import { isPushOnly, operationEnd } from './script-reader.ts';
import { newTaprootSpend, type SignatureChecker, type SigVersion, type TaprootSpend } from './signature-checker.ts';
import { isTrue } from './stack-opcodes.ts';
import {
  controlInternalKey,
  controlMerkleRoot,
  isControlBlockSize,
  TAPROOT_LEAF_MASK,
  TAPROOT_LEAF_TAPSCRIPT,
  tapLeafHash,
  tapTweakHash,
} from './taproot.ts';
import { isPayToAnchor, isPayToScriptHash, p2pkh, witnessProgram, witnessVersion } from './templates.ts';

const {
  CLEANSTACK,
  DISCOURAGE_OP_SUCCESS,
  DISCOURAGE_UPGRADABLE_TAPROOT_VERSION,
  DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM,
  P2SH,
  SIGPUSHONLY,
  TAPROOT,
  WITNESS,
} = SCRIPT_FLAGS;

/** BIP-342: the validation weight budget is this plus the size of the witness. */
const VALIDATION_WEIGHT_OFFSET = 50;

/** Verifies `scriptSig` and `witness` against `scriptPubKey`; returns `OK` or the error (Core's VerifyScript). */
export function verifyScript(
  scriptSig: Uint8Array,
  scriptPubKey: Uint8Array,
  witness: readonly Uint8Array[],
  flags: ScriptFlags,
  checker: SignatureChecker,
): ScriptError {
  // Otherwise adding the missing flag later would not be a soft fork.
  assert(!(flags & WITNESS) || flags & P2SH, 'WITNESS implies P2SH');
  assert(!(flags & CLEANSTACK) || flags & WITNESS, 'CLEANSTACK implies WITNESS');

  if (flags & WITNESS && scriptSig.length === 0 && witnessVersion(scriptPubKey) >= 0) {
    // Short cut: the scriptSig is empty, and the scriptPubKey pushes version and program.
    const program = witnessProgram(scriptPubKey);
    if (!isTrue(program)) return 'EVAL_FALSE';
    return verifyWitnessProgram(witness, witnessVersion(scriptPubKey), program, flags, checker, false);
  }

  if (flags & SIGPUSHONLY && !isPushOnly(scriptSig)) return 'SIG_PUSHONLY';
  const payToScriptHash = (flags & P2SH) !== 0 && isPayToScriptHash(scriptPubKey);
  // The scripts run one after the other on one stack, and are never concatenated (CVE-2010-5141).
  let stack: Uint8Array[] = [];
  let error = evalScript(stack, scriptSig, flags, checker, 'base');
  if (error !== 'OK') return error;
  const pushed = payToScriptHash ? stack.slice() : null;
  error = evalScript(stack, scriptPubKey, flags, checker, 'base');
  if (error !== 'OK') return error;
  if (!endsTrue(stack)) return 'EVAL_FALSE';

  let hadWitness = false;
  if (flags & WITNESS && witnessVersion(scriptPubKey) >= 0) return 'WITNESS_MALLEATED';

  if (pushed !== null) {
    if (!isPushOnly(scriptSig)) return 'SIG_PUSHONLY';
    stack = pushed;
    // The stack has an item, or HASH160 would have failed.
    const redeemScript = stack.pop()!;
    error = evalScript(stack, redeemScript, flags, checker, 'base');
    if (error !== 'OK') return error;
    if (!endsTrue(stack)) return 'EVAL_FALSE';
    if (flags & WITNESS && witnessVersion(redeemScript) >= 0) {
      hadWitness = true;
      if (!equalBytes(scriptSig, pushData(redeemScript))) return 'WITNESS_MALLEATED_P2SH';
      const program = witnessProgram(redeemScript);
      error = verifyWitnessProgram(witness, witnessVersion(redeemScript), program, flags, checker, true);
      if (error !== 'OK') return error;
      // The stack holds version and program now; the witness has its own clean-stack rule.
      stack.length = 1;
    }
  }

  if (flags & CLEANSTACK && stack.length !== 1) return 'CLEANSTACK';
  if (flags & WITNESS && !hadWitness && witness.length > 0) return 'WITNESS_UNEXPECTED';
  return 'OK';
}

function endsTrue(stack: readonly Uint8Array[]): boolean {
  return stack.length > 0 && isTrue(stack[stack.length - 1]!);
}

function verifyWitnessProgram(
  witness: readonly Uint8Array[],
  version: number,
  program: Uint8Array,
  flags: ScriptFlags,
  checker: SignatureChecker,
  isP2sh: boolean,
): ScriptError {
  if (version === 0) {
    if (program.length === WITNESS_V0_KEYHASH_SIZE) {
      if (witness.length !== 2) return 'WITNESS_PROGRAM_MISMATCH';
      return runWitnessScript(witness.slice(), keyHashScript(program), flags, checker, 'witness_v0', null);
    }
    if (program.length !== WITNESS_V0_SCRIPTHASH_SIZE) return 'WITNESS_PROGRAM_WRONG_LENGTH';
    if (witness.length === 0) return 'WITNESS_PROGRAM_WITNESS_EMPTY';
    const stack = witness.slice();
    const script = stack.pop()!;
    if (!equalBytes(sha256(script), program)) return 'WITNESS_PROGRAM_MISMATCH';
    return runWitnessScript(stack, script, flags, checker, 'witness_v0', null);
  }
  if (version === 1 && program.length === WITNESS_V1_TAPROOT_SIZE && !isP2sh)
    return flags & TAPROOT ? verifyTaproot(witness, program, flags, checker) : 'OK';
  if (!isP2sh && isPayToAnchor(version, program)) return 'OK';
  return flags & DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM ? 'DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM' : 'OK';
}

/** A P2PKH script. It has a buffer, since views of an array without one are slow to create. */
const P2PKH = new Uint8Array(new ArrayBuffer(25));
P2PKH.set(p2pkh(new Uint8Array(20)));

/** Returns the script that a version 0 program of 20 bytes stands for (BIP-143). Valid until the next call. */
function keyHashScript(hash20: Uint8Array): Uint8Array {
  P2PKH.set(hash20, 3);
  return P2PKH;
}

/**
 * Verifies a taproot spend (BIP-341, script validation rules): `outputKey` is q, `control` c, `internalKey` p, `tweak`
 * t.
 */
function verifyTaproot(
  witness: readonly Uint8Array[],
  outputKey: Uint8Array,
  flags: ScriptFlags,
  checker: SignatureChecker,
): ScriptError {
  if (witness.length === 0) return 'WITNESS_PROGRAM_WITNESS_EMPTY';
  const stack = witness.slice();
  const spend = newTaprootSpend();
  if (stack.length >= 2 && stack[stack.length - 1]![0] === ANNEX_TAG) spend.annexHash = annexHash(stack.pop()!);
  if (stack.length === 1) return checker.checkSchnorr(stack[0]!, outputKey, spend);

  const control = stack.pop()!;
  const script = stack.pop()!;
  if (!isControlBlockSize(control.length)) return 'TAPROOT_WRONG_CONTROL_SIZE';
  const leafVersion = control[0]! & TAPROOT_LEAF_MASK;
  spend.tapleafHash = tapLeafHash(leafVersion, script);
  const internalKey = controlInternalKey(control);
  const tweak = tapTweakHash(internalKey, controlMerkleRoot(control, spend.tapleafHash));
  if (!checker.checkTapTweak(outputKey, internalKey, tweak, control[0]! & 1)) return 'WITNESS_PROGRAM_MISMATCH';
  if (leafVersion !== TAPROOT_LEAF_TAPSCRIPT)
    return flags & DISCOURAGE_UPGRADABLE_TAPROOT_VERSION ? 'DISCOURAGE_UPGRADABLE_TAPROOT_VERSION' : 'OK';
  spend.validationWeightLeft = witnessSize(witness) + VALIDATION_WEIGHT_OFFSET;
  return runWitnessScript(stack, script, flags, checker, 'tapscript', spend);
}

/** Scratch space of one call. */
const annexWriter = new ByteWriter(256);

function annexHash(annex: Uint8Array): Uint8Array {
  annexWriter.reset();
  writeVarBytes(annexWriter, annex);
  return sha256(annexWriter.finish());
}

/** Returns the size of the encoded witness with its count, bytes. */
function witnessSize(witness: readonly Uint8Array[]): number {
  let size = compactSizeLength(witness.length);
  for (const { length } of witness) size += compactSizeLength(length) + length;
  return size;
}

function runWitnessScript(
  stack: Uint8Array[],
  script: Uint8Array,
  flags: ScriptFlags,
  checker: SignatureChecker,
  sigVersion: SigVersion,
  spend: TaprootSpend | null,
): ScriptError {
  if (sigVersion === 'tapscript') {
    // OP_SUCCESSx takes precedence over later errors and over the limits below (BIP-342).
    for (let pos = 0; pos < script.length; ) {
      const next = operationEnd(script, pos);
      if (next < 0) return 'BAD_OPCODE';
      if (isOpSuccess(script[pos]!)) return flags & DISCOURAGE_OP_SUCCESS ? 'DISCOURAGE_OP_SUCCESS' : 'OK';
      pos = next;
    }
    if (stack.length > MAX_STACK_SIZE) return 'STACK_SIZE';
  }
  for (const item of stack) if (item.length > MAX_SCRIPT_ELEMENT_SIZE) return 'PUSH_SIZE';
  const error = evalScript(stack, script, flags, checker, sigVersion, spend);
  if (error !== 'OK') return error;
  // A witness script must leave a clean stack, whatever the flags.
  if (stack.length !== 1) return 'CLEANSTACK';
  return isTrue(stack[0]!) ? 'OK' : 'EVAL_FALSE';
}
