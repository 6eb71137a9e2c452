import { findAndDelete } from './find-and-delete.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from './flags.ts';
import { MAX_OPS_PER_SCRIPT, MAX_PUBKEYS_PER_MULTISIG } from './limits.ts';
import type { ScriptError } from './script-error.ts';
import { readScriptNum } from './script-num.ts';
import type { SignatureChecker, SigVersion, TaprootSpend } from './signature-checker.ts';
import { checkPublicKeyEncoding, checkSignatureEncoding } from './signature-encoding.ts';

const { CONST_SCRIPTCODE, DISCOURAGE_UPGRADABLE_PUBKEYTYPE, MINIMALDATA, NULLDUMMY, NULLFAIL } = SCRIPT_FLAGS;

/** BIP-342: what one signature check costs of the budget. */
const VALIDATION_WEIGHT_PER_CHECK = 50;

/** One running script, as far as its signature opcodes look at it. */
export class Execution {
  readonly stack: Uint8Array[];
  readonly script: Uint8Array;
  readonly flags: ScriptFlags;
  readonly checker: SignatureChecker;
  readonly sigVersion: SigVersion;
  readonly spend: TaprootSpend | null;
  /** What signatures sign of the script: from the last OP_CODESEPARATOR that was executed. */
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

/** Whether a signature is good; an error where it fails the whole script. */
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
  const good = x.checker.checkEcdsa(signature, publicKey, scriptCode, sigVersion);
  return !good && flags & NULLFAIL && signature.length > 0 ? 'NULLFAIL' : good;
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

/** The order of these steps is consensus: the budget counts first, unknown key types pass before any signature rule. */
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
 * OP_CHECKMULTISIG: `dummy signatures… count keys… count`, all taken from the stack. Whether every signature belongs to
 * a key, in order; an error where it fails the whole script.
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
  // One item more than there are arguments is taken, a bug that everyone has to keep.
  const dummyAt = countAt - 1 - signatures;
  if (dummyAt < 0) return 'INVALID_STACK_OPERATION';

  let scriptCode = x.scriptCode;
  if (sigVersion === 'base') {
    for (let at = countAt - 1; at > dummyAt; at--) scriptCode = findAndDelete(scriptCode, stack[at]!);
    if (scriptCode !== x.scriptCode && flags & CONST_SCRIPTCODE) return 'SIG_FINDANDDELETE';
  }

  const good = matchSignatures(x, scriptCode, sigVersion, {
    firstKey: countAt + 1,
    keys,
    firstSignature: dummyAt + 1,
    signatures,
  });
  if (typeof good === 'string') return good;

  if (!good && flags & NULLFAIL)
    for (let at = countAt - 1; at > dummyAt; at--) if (stack[at]!.length > 0) return 'NULLFAIL';
  if (flags & NULLDUMMY && stack[dummyAt]!.length > 0) return 'SIG_NULLDUMMY';
  stack.length = dummyAt;
  return good;
}

/** Where the arguments of an OP_CHECKMULTISIG stand in the stack. */
interface MultisigArguments {
  readonly firstKey: number;
  readonly keys: number;
  readonly firstSignature: number;
  readonly signatures: number;
}

/**
 * Whether every signature belongs to a key, in order; an error where an encoding fails the script. Taking each
 * signature's first match is right from either end, so where no encoding can fail, the end that pays is taken: the
 * front, as the spare key usually comes last. Otherwise the errors show which pairs were looked at, from the last one.
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
