import { findAndDelete } from './find-and-delete.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from './flags.ts';
import type { ScriptError } from './script-error.ts';
import { MAX_OPS_PER_SCRIPT, MAX_PUBKEYS_PER_MULTISIG } from './script-limits.ts';
import { readScriptNum } from './script-num.ts';
import type { SignatureChecker, SigVersion, TaprootSpend } from './signature-checker.ts';
import { checkPublicKeyEncoding, checkSignatureEncoding } from './signature-encoding.ts';

const { CONST_SCRIPTCODE, DISCOURAGE_UPGRADABLE_PUBKEYTYPE, MINIMALDATA, NULLDUMMY, NULLFAIL } = SCRIPT_FLAGS;

/** BIP-342: cost of a signature check in the validation weight budget. */
const VALIDATION_WEIGHT_PER_CHECK = 50;

/** State of a running script that the signature opcodes use. */
export class Execution {
  readonly stack: Uint8Array[];
  readonly script: Uint8Array;
  readonly flags: ScriptFlags;
  readonly checker: SignatureChecker;
  readonly sigVersion: SigVersion;
  readonly spend: TaprootSpend | null;
  /** The script from the last executed OP_CODESEPARATOR on, which signatures commit to. */
  scriptCode: Uint8Array;
  opCount = 0;

  constructor(
    stack: Uint8Array[],
    script: Uint8Array,
    flags: ScriptFlags,
    checker: SignatureChecker,
    sigVersion: SigVersion,
    spend: TaprootSpend | null,
  ) {
    this.stack = stack;
    this.script = script;
    this.flags = flags;
    this.checker = checker;
    this.sigVersion = sigVersion;
    this.spend = spend;
    this.scriptCode = script;
  }
}

/** Returns whether a signature is valid, or the error that fails the script. */
export function checkSig(x: Execution, signature: Uint8Array, publicKey: Uint8Array): boolean | ScriptError {
  return x.sigVersion === 'tapscript' ? checkTapscript(x, signature, publicKey) : checkEcdsa(x, signature, publicKey);
}

function checkEcdsa(x: Execution, signature: Uint8Array, publicKey: Uint8Array): boolean | ScriptError {
  const { flags } = x;
  const sigVersion = x.sigVersion === 'base' ? 'base' : 'witness_v0';
  let scriptCode = x.scriptCode;
  if (sigVersion === 'base') {
    scriptCode = findAndDelete(scriptCode, signature);
    if (scriptCode !== x.scriptCode && flags & CONST_SCRIPTCODE) return 'SIG_FINDANDDELETE';
  }
  const encoding = checkEncodings(signature, publicKey, flags, sigVersion);
  if (encoding !== 'OK') return encoding;
  const valid = x.checker.checkEcdsa(signature, publicKey, scriptCode, sigVersion);
  return !valid && flags & NULLFAIL && signature.length > 0 ? 'NULLFAIL' : valid;
}

function checkEncodings(
  signature: Uint8Array,
  publicKey: Uint8Array,
  flags: ScriptFlags,
  sigVersion: SigVersion,
): ScriptError {
  const error = checkSignatureEncoding(signature, flags);
  return error === 'OK' ? checkPublicKeyEncoding(publicKey, flags, sigVersion) : error;
}

/**
 * The order of these steps is consensus (BIP-342): the budget is charged first, and unknown key types succeed before
 * any signature rule.
 */
function checkTapscript(x: Execution, signature: Uint8Array, publicKey: Uint8Array): boolean | ScriptError {
  const spend = x.spend!;
  const signed = signature.length > 0;
  if (signed) {
    spend.validationWeightLeft -= VALIDATION_WEIGHT_PER_CHECK;
    if (spend.validationWeightLeft < 0) return 'TAPSCRIPT_VALIDATION_WEIGHT';
  }
  if (publicKey.length === 0) return 'TAPSCRIPT_EMPTY_PUBKEY';
  if (publicKey.length === 32) {
    if (!signed) return false;
    const error = x.checker.checkSchnorr(signature, publicKey, spend);
    return error === 'OK' ? true : error;
  }
  return x.flags & DISCOURAGE_UPGRADABLE_PUBKEYTYPE ? 'DISCOURAGE_UPGRADABLE_PUBKEYTYPE' : signed;
}

/**
 * Executes OP_CHECKMULTISIG: pops `dummy signatures… count keys… count`. Returns whether every signature matches a key,
 * in order, or the error that fails the script.
 */
export function checkMultisig(x: Execution): boolean | ScriptError {
  const { stack, flags } = x;
  if (x.sigVersion === 'tapscript') return 'TAPSCRIPT_CHECKMULTISIG';
  const sigVersion = x.sigVersion === 'base' ? 'base' : 'witness_v0';
  const requireMinimal = (flags & MINIMALDATA) !== 0;
  const size = stack.length;
  if (size < 1) return 'INVALID_STACK_OPERATION';

  const keys = readScriptNum(stack[size - 1]!, requireMinimal);
  if (keys === null) return 'SCRIPTNUM';
  if (keys < 0 || keys > MAX_PUBKEYS_PER_MULTISIG) return 'PUBKEY_COUNT';
  x.opCount += keys;
  if (x.opCount > MAX_OPS_PER_SCRIPT) return 'OP_COUNT';
  const countAt = size - 2 - keys;
  if (countAt < 0) return 'INVALID_STACK_OPERATION';

  const signatures = readScriptNum(stack[countAt]!, requireMinimal);
  if (signatures === null) return 'SCRIPTNUM';
  if (signatures < 0 || signatures > keys) return 'SIG_COUNT';
  // The opcode pops one item too many, a bug that consensus preserves (BIP-147).
  const dummyAt = countAt - 1 - signatures;
  if (dummyAt < 0) return 'INVALID_STACK_OPERATION';

  let scriptCode = x.scriptCode;
  if (sigVersion === 'base') {
    for (let at = countAt - 1; at > dummyAt; at--) scriptCode = findAndDelete(scriptCode, stack[at]!);
    if (scriptCode !== x.scriptCode && flags & CONST_SCRIPTCODE) return 'SIG_FINDANDDELETE';
  }

  const valid = matchSignatures(x, scriptCode, sigVersion, {
    firstKey: countAt + 1,
    keys,
    firstSignature: dummyAt + 1,
    signatures,
  });
  if (typeof valid === 'string') return valid;

  if (!valid && flags & NULLFAIL)
    for (let at = countAt - 1; at > dummyAt; at--) if (stack[at]!.length > 0) return 'NULLFAIL';
  if (flags & NULLDUMMY && stack[dummyAt]!.length > 0) return 'SIG_NULLDUMMY';
  stack.length = dummyAt;
  return valid;
}

/** Stack indexes of the arguments of OP_CHECKMULTISIG. */
interface MultisigArguments {
  readonly firstKey: number;
  readonly keys: number;
  readonly firstSignature: number;
  readonly signatures: number;
}

/**
 * Returns whether every signature matches a key, in order, or the error of an encoding that fails the script. Matching
 * greedily is correct from either end. Without encoding errors it starts at the front, since the spare key usually
 * comes last. Otherwise it starts at the end, as Core does: the error depends on which pairs are checked first.
 */
function matchSignatures(
  x: Execution,
  scriptCode: Uint8Array,
  sigVersion: 'base' | 'witness_v0',
  { firstKey, keys, firstSignature, signatures }: MultisigArguments,
): boolean | ScriptError {
  const { stack, flags, checker } = x;
  const forwards = areAllWellEncoded(x, sigVersion, { firstKey, keys, firstSignature, signatures });
  const step = forwards ? 1 : -1;
  let key = forwards ? firstKey : firstKey + keys - 1;
  let signature = forwards ? firstSignature : firstSignature + signatures - 1;
  let keysLeft = keys;
  let signaturesLeft = signatures;
  while (signaturesLeft > 0) {
    if (signaturesLeft > keysLeft) return false;
    if (!forwards) {
      const encoding = checkEncodings(stack[signature]!, stack[key]!, flags, sigVersion);
      if (encoding !== 'OK') return encoding;
    }
    if (checker.checkEcdsa(stack[signature]!, stack[key]!, scriptCode, sigVersion)) {
      signature += step;
      signaturesLeft--;
    }
    key += step;
    keysLeft--;
  }
  return true;
}

function areAllWellEncoded(x: Execution, sigVersion: 'base' | 'witness_v0', args: MultisigArguments): boolean {
  const { stack, flags } = x;
  for (let i = 0; i < args.keys; i++)
    if (checkPublicKeyEncoding(stack[args.firstKey + i]!, flags, sigVersion) !== 'OK') return false;
  for (let i = 0; i < args.signatures; i++)
    if (checkSignatureEncoding(stack[args.firstSignature + i]!, flags) !== 'OK') return false;
  return true;
}
