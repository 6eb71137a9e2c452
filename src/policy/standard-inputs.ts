import { MAX_BLOCK_SIGOPS_COST } from '../consensus/limits.ts';
import { reject, type TxRejection } from '../consensus/rejection.ts';
import { isCoinbase, type Transaction, type TxInput, type TxOutput } from '../primitives/transaction.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from '../script/flags.ts';
import { evalScript } from '../script/interpreter.ts';
import { type ScriptError, scriptErrorMessage } from '../script/script-error.ts';
import { ANNEX_TAG, WITNESS_V0_SCRIPTHASH_SIZE, WITNESS_V1_TAPROOT_SIZE } from '../script/script-limits.ts';
import { NO_SIGNATURES } from '../script/signature-checker.ts';
import { TAPROOT_LEAF_MASK, TAPROOT_LEAF_TAPSCRIPT } from '../script/taproot.ts';
import {
  countP2shSigops,
  countSigops,
  isPayToAnchor,
  isPayToScriptHash,
  isWitnessProgram,
  scriptType,
  witnessProgram,
  witnessVersion,
} from '../script/templates.ts';

/** Maximum sigop cost of a standard transaction: a fifth of a block's. */
export const MAX_STANDARD_TX_SIGOPS_COST = MAX_BLOCK_SIGOPS_COST / 5;

/** Script flags of the consensus rules of today; a transaction that violates them can never be mined. */
export const MANDATORY_SCRIPT_FLAGS: ScriptFlags =
  SCRIPT_FLAGS.P2SH |
  SCRIPT_FLAGS.DERSIG |
  SCRIPT_FLAGS.NULLDUMMY |
  SCRIPT_FLAGS.CHECKLOCKTIMEVERIFY |
  SCRIPT_FLAGS.CHECKSEQUENCEVERIFY |
  SCRIPT_FLAGS.WITNESS |
  SCRIPT_FLAGS.TAPROOT;

/** Script flags of relayed transactions: also against malleability, and for later soft forks. */
export const STANDARD_SCRIPT_FLAGS: ScriptFlags =
  MANDATORY_SCRIPT_FLAGS |
  SCRIPT_FLAGS.STRICTENC |
  SCRIPT_FLAGS.MINIMALDATA |
  SCRIPT_FLAGS.DISCOURAGE_UPGRADABLE_NOPS |
  SCRIPT_FLAGS.CLEANSTACK |
  SCRIPT_FLAGS.MINIMALIF |
  SCRIPT_FLAGS.NULLFAIL |
  SCRIPT_FLAGS.LOW_S |
  SCRIPT_FLAGS.DISCOURAGE_UPGRADABLE_WITNESS_PROGRAM |
  SCRIPT_FLAGS.WITNESS_PUBKEYTYPE |
  SCRIPT_FLAGS.CONST_SCRIPTCODE |
  SCRIPT_FLAGS.DISCOURAGE_UPGRADABLE_TAPROOT_VERSION |
  SCRIPT_FLAGS.DISCOURAGE_OP_SUCCESS |
  SCRIPT_FLAGS.DISCOURAGE_UPGRADABLE_PUBKEYTYPE;

/** BIP-54: maximum number of potentially executed sigops outside of witnesses in a transaction. */
const MAX_TX_LEGACY_SIGOPS = 2500;
const MAX_P2SH_SIGOPS = 15;
const MAX_P2WSH_SCRIPT_SIZE = 3600;
/** Maximum number of stack items, without the witness script. */
const MAX_P2WSH_STACK_ITEMS = 100;
const MAX_P2WSH_STACK_ITEM_SIZE = 80;
const MAX_TAPSCRIPT_STACK_ITEM_SIZE = 80;

/**
 * Checks that the spent outputs have standard forms and are cheap to spend, apart from witnesses (Core's
 * ValidateInputsStandardness). `spentOutputs` are in input order, here and below.
 */
export function checkStandardInputs(tx: Transaction, spentOutputs: readonly TxOutput[]): TxRejection | null {
  if (isCoinbase(tx)) return null;
  if (exceedsLegacySigops(tx, spentOutputs)) return nonstandardInput('non-witness sigops exceed bip54 limit');

  for (let i = 0; i < tx.inputs.length; i++) {
    const { type } = scriptType(spentOutputs[i]!.scriptPubKey);
    if (type === 'nonstandard') return nonstandardInput(`input ${i} script unknown`);
    // Checked here, since running the script would find the same at a higher cost.
    if (type === 'witness_unknown') return nonstandardInput(`input ${i} witness program is undefined`);
    if (type !== 'scripthash') continue;
    const { error, redeemScript } = redeemScriptOf(tx.inputs[i]!.scriptSig);
    if (error !== 'OK') return nonstandardInput(`p2sh scriptsig malformed (input ${i}: ${scriptErrorMessage(error)})`);
    if (redeemScript === null) return nonstandardInput(`input ${i} P2SH redeemscript missing`);
    const sigops = countSigops(redeemScript, true);
    if (sigops > MAX_P2SH_SIGOPS)
      return nonstandardInput(`p2sh redeemscript sigops exceed limit (input ${i}: ${sigops} > ${MAX_P2SH_SIGOPS})`);
  }
  return null;
}

/**
 * Checks that no witness is larger than its output type needs, and that no other input has one (Core's
 * IsWitnessStandard).
 */
export function checkStandardWitness(tx: Transaction, spentOutputs: readonly TxOutput[]): TxRejection | null {
  if (isCoinbase(tx)) return null;
  for (let i = 0; i < tx.inputs.length; i++)
    if (!isStandardWitness(tx.inputs[i]!, spentOutputs[i]!.scriptPubKey))
      return reject('witness-mutated', 'bad-witness-nonstandard');
  return null;
}

/**
 * Whether a spent output is a witness program of any version, or a P2SH output that holds one; pay-to-anchor does not
 * count, since it needs no witness. A transaction without witness that spends such an output was stripped of it.
 */
export function spendsNonAnchorWitnessProgram(tx: Transaction, spentOutputs: readonly TxOutput[]): boolean {
  if (isCoinbase(tx)) return false;
  return tx.inputs.some(({ scriptSig }, i) => {
    const { scriptPubKey } = spentOutputs[i]!;
    if (isWitnessProgram(scriptPubKey)) return !isAnchor(scriptPubKey);
    if (!isPayToScriptHash(scriptPubKey)) return false;
    const { error, redeemScript } = redeemScriptOf(scriptSig);
    return error === 'OK' && redeemScript !== null && isWitnessProgram(redeemScript);
  });
}

function nonstandardInput(debug: string): TxRejection {
  return reject('inputs-not-standard', 'bad-txns-nonstandard-inputs', debug);
}

/** BIP-54 counts the sigops of the scripts that the inputs execute. */
function exceedsLegacySigops({ inputs }: Transaction, spentOutputs: readonly TxOutput[]): boolean {
  let sigops = 0;
  for (let i = 0; i < inputs.length; i++) {
    const { scriptSig } = inputs[i]!;
    const { scriptPubKey } = spentOutputs[i]!;
    sigops += countSigops(scriptSig, true);
    sigops += isPayToScriptHash(scriptPubKey)
      ? countP2shSigops(scriptSig, scriptPubKey)
      : countSigops(scriptPubKey, true);
    if (sigops > MAX_TX_LEGACY_SIGOPS) return true;
  }
  return false;
}

/**
 * Returns the top stack item after the scriptSig, which is the redeem script; null for an empty stack. Its hash is not
 * compared.
 */
function redeemScriptOf(scriptSig: Uint8Array): { error: ScriptError; redeemScript: Uint8Array | null } {
  const stack: Uint8Array[] = [];
  const error = evalScript(stack, scriptSig, 0, NO_SIGNATURES, 'base');
  return { error, redeemScript: stack.at(-1) ?? null };
}

function isAnchor(scriptPubKey: Uint8Array): boolean {
  return isPayToAnchor(witnessVersion(scriptPubKey), witnessProgram(scriptPubKey));
}

function isStandardWitness({ scriptSig, witness }: TxInput, scriptPubKey: Uint8Array): boolean {
  // Verifying the script decides whether an empty witness suffices.
  if (witness.length === 0) return true;
  if (isPayToScriptHash(scriptPubKey)) {
    const { error, redeemScript } = redeemScriptOf(scriptSig);
    return error === 'OK' && redeemScript !== null && isStandardProgramWitness(redeemScript, witness, true);
  }
  return !isAnchor(scriptPubKey) && isStandardProgramWitness(scriptPubKey, witness, false);
}

function isStandardProgramWitness(script: Uint8Array, witness: readonly Uint8Array[], insideP2sh: boolean): boolean {
  const version = witnessVersion(script);
  if (version < 0) return false;
  const { length } = witnessProgram(script);
  if (version === 0 && length === WITNESS_V0_SCRIPTHASH_SIZE)
    return (
      witness.at(-1)!.length <= MAX_P2WSH_SCRIPT_SIZE &&
      witness.length - 1 <= MAX_P2WSH_STACK_ITEMS &&
      witness.slice(0, -1).every((item) => item.length <= MAX_P2WSH_STACK_ITEM_SIZE)
    );
  // Taproot is not defined inside P2SH.
  if (version === 1 && length === WITNESS_V1_TAPROOT_SIZE && !insideP2sh) return isStandardTaprootWitness(witness);
  return true;
}

function isStandardTaprootWitness(witness: readonly Uint8Array[]): boolean {
  if (witness.length < 2) return true;
  const last = witness.at(-1)!;
  // The annex has no meaning yet, and an empty control block is never valid.
  if (last.length === 0 || last[0] === ANNEX_TAG) return false;
  if ((last[0]! & TAPROOT_LEAF_MASK) !== TAPROOT_LEAF_TAPSCRIPT) return true;
  return witness.slice(0, -2).every((item) => item.length <= MAX_TAPSCRIPT_STACK_ITEM_SIZE);
}
