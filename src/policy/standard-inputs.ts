import { MAX_BLOCK_SIGOPS_COST } from '../consensus/limits.ts';
import { reject, type TxRejection } from '../consensus/rejection.ts';
import { isCoinbase, type Transaction, type TxInput, type TxOutput } from '../primitives/transaction.ts';
import { SCRIPT_FLAGS, type ScriptFlags } from '../script/flags.ts';
import { evalScript } from '../script/interpreter.ts';
import { ANNEX_TAG, WITNESS_V0_SCRIPTHASH_SIZE, WITNESS_V1_TAPROOT_SIZE } from '../script/limits.ts';
import { type ScriptError, scriptErrorMessage } from '../script/script-error.ts';
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

/** No transaction may take more than this part of what a block may hold. */
export const MAX_STANDARD_TX_SIGOPS_COST = MAX_BLOCK_SIGOPS_COST / 5;

/** Rules that blocks have to follow today; a transaction against them can never be mined. */
export const MANDATORY_SCRIPT_FLAGS: ScriptFlags =
  SCRIPT_FLAGS.P2SH |
  SCRIPT_FLAGS.DERSIG |
  SCRIPT_FLAGS.NULLDUMMY |
  SCRIPT_FLAGS.CHECKLOCKTIMEVERIFY |
  SCRIPT_FLAGS.CHECKSEQUENCEVERIFY |
  SCRIPT_FLAGS.WITNESS |
  SCRIPT_FLAGS.TAPROOT;

/** The rules that scripts are run under before they are relayed: also against malleability, and for later forks. */
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

/** BIP-54: sigops outside of witnesses that one transaction can come to execute. */
const MAX_TX_LEGACY_SIGOPS = 2500;
const MAX_P2SH_SIGOPS = 15;
const MAX_P2WSH_SCRIPT_SIZE = 3600;
/** Without the script itself. */
const MAX_P2WSH_STACK_ITEMS = 100;
const MAX_P2WSH_STACK_ITEM_SIZE = 80;
const MAX_TAPSCRIPT_STACK_ITEM_SIZE = 80;

/**
 * Whether every output is of a known form and cheap to spend, leaving witnesses aside. `spentOutputs` in the order of
 * the inputs, here and below.
 */
export function checkStandardInputs(tx: Transaction, spentOutputs: readonly TxOutput[]): TxRejection | null {
  if (isCoinbase(tx)) return null;
  if (exceedsLegacySigops(tx, spentOutputs)) return nonstandardInput('non-witness sigops exceed bip54 limit');

  for (let i = 0; i < tx.inputs.length; i++) {
    const { type } = scriptType(spentOutputs[i]!.scriptPubKey);
    if (type === 'nonstandard') return nonstandardInput(`input ${i} script unknown`);
    // Running the script would find this too, at a higher price.
    if (type === 'witness_unknown') return nonstandardInput(`input ${i} witness program is undefined`);
    if (type !== 'scripthash') continue;
    const { error, redeemScript } = revealRedeemScript(tx.inputs[i]!.scriptSig);
    if (error !== 'OK') return nonstandardInput(`p2sh scriptsig malformed (input ${i}: ${scriptErrorMessage(error)})`);
    if (redeemScript === null) return nonstandardInput(`input ${i} P2SH redeemscript missing`);
    const sigops = countSigops(redeemScript, true);
    if (sigops > MAX_P2SH_SIGOPS)
      return nonstandardInput(`p2sh redeemscript sigops exceed limit (input ${i}: ${sigops} > ${MAX_P2SH_SIGOPS})`);
  }
  return null;
}

/** Whether no witness is larger than spends of its kind need, and none stands where none belongs. */
export function checkStandardWitness(tx: Transaction, spentOutputs: readonly TxOutput[]): TxRejection | null {
  if (isCoinbase(tx)) return null;
  for (let i = 0; i < tx.inputs.length; i++)
    if (!isStandardWitness(tx.inputs[i]!, spentOutputs[i]!.scriptPubKey))
      return reject('witness-mutated', 'bad-witness-nonstandard');
  return null;
}

/**
 * Whether an output that is spent is a witness program, of any version, or a P2SH that holds one; the output anyone may
 * spend needs no witness and does not count. What has no witness and spends such an output has been stripped of it.
 */
export function spendsNonAnchorWitnessProgram(tx: Transaction, spentOutputs: readonly TxOutput[]): boolean {
  if (isCoinbase(tx)) return false;
  return tx.inputs.some(({ scriptSig }, i) => {
    const { scriptPubKey } = spentOutputs[i]!;
    if (isWitnessProgram(scriptPubKey)) return !isAnchor(scriptPubKey);
    if (!isPayToScriptHash(scriptPubKey)) return false;
    const { error, redeemScript } = revealRedeemScript(scriptSig);
    return error === 'OK' && redeemScript !== null && isWitnessProgram(redeemScript);
  });
}

function nonstandardInput(debug: string): TxRejection {
  return reject('inputs-not-standard', 'bad-txns-nonstandard-inputs', debug);
}

/** BIP-54 counts where scripts are executed, which is where they are spent. */
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

/** What a scriptSig leaves on top of the stack; null for an empty stack. Its hash is not compared. */
function revealRedeemScript(scriptSig: Uint8Array): { error: ScriptError; redeemScript: Uint8Array | null } {
  const stack: Uint8Array[] = [];
  const error = evalScript(stack, scriptSig, 0, NO_SIGNATURES, 'base');
  return { error, redeemScript: stack.at(-1) ?? null };
}

function isAnchor(scriptPubKey: Uint8Array): boolean {
  return isPayToAnchor(witnessVersion(scriptPubKey), witnessProgram(scriptPubKey));
}

function isStandardWitness({ scriptSig, witness }: TxInput, scriptPubKey: Uint8Array): boolean {
  // An empty one is not bloated; whether it suffices is for the script to say.
  if (witness.length === 0) return true;
  if (isPayToScriptHash(scriptPubKey)) {
    const { error, redeemScript } = revealRedeemScript(scriptSig);
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
  // Inside P2SH taproot has no meaning.
  if (version === 1 && length === WITNESS_V1_TAPROOT_SIZE && !insideP2sh) return isStandardTaprootWitness(witness);
  return true;
}

function isStandardTaprootWitness(witness: readonly Uint8Array[]): boolean {
  if (witness.length < 2) return true;
  const last = witness.at(-1)!;
  // An annex means nothing yet, so nobody needs one; nor is an empty control block ever valid.
  if (last.length === 0 || last[0] === ANNEX_TAG) return false;
  if ((last[0]! & TAPROOT_LEAF_MASK) !== TAPROOT_LEAF_TAPSCRIPT) return true;
  return witness.slice(0, -2).every((item) => item.length <= MAX_TAPSCRIPT_STACK_ITEM_SIZE);
}
