import { hash160 } from '../../crypto/hash-functions.ts';
import { STANDARD_SCRIPT_FLAGS } from '../../policy/standard-inputs.ts';
import type { DecodedTxContext } from '../../script/decoded-tx-context.ts';
import { SCRIPT_FLAGS } from '../../script/flags.ts';
import { evalScript } from '../../script/interpreter.ts';
import { NO_SIGNATURES, type SignatureChecker } from '../../script/signature-checker.ts';
import { scriptType } from '../../script/templates.ts';
import { verifyScript } from '../../script/verify.ts';
import { bytesToHex } from '../../util/bytes.ts';
import { inputChecker } from './signature-creator.ts';
import { newSignatureData, type SignatureData } from './signature-data.ts';

type SigVersion = 'base' | 'witness_v0';

/**
 * Returns the signatures and scripts of an input of a transaction, complete or not. Core's DataFromTransaction. Taproot
 * inputs are never complete here, since they sign what other inputs spend.
 */
export function signatureDataOf(context: DecodedTxContext, index: number): SignatureData {
  const input = context.tx.inputs[index]!;
  const { scriptPubKey } = context.spentOutputs[index]!;
  const data = newSignatureData();
  data.scriptSig = input.scriptSig;
  data.scriptWitness = input.witness;
  const checker = collectingChecker(inputChecker(context, index, false), data);
  if (verifyScript(input.scriptSig, scriptPubKey, input.witness, STANDARD_SCRIPT_FLAGS, checker) === 'OK') {
    data.complete = true;
    return data;
  }
  let script = scriptPubKey;
  let template = scriptType(script);
  let stack: Uint8Array[] = [];
  // Items that were pushed before a failure count as well.
  evalScript(stack, input.scriptSig, SCRIPT_FLAGS.STRICTENC, NO_SIGNATURES, 'base');
  let sigVersion: SigVersion = 'base';
  if (template.type === 'scripthash' && stack.at(-1)?.length) {
    script = stack.pop()!;
    data.redeemScript = script;
    template = scriptType(script);
  }
  if (template.type === 'witness_v0_scripthash' && input.witness.at(-1)?.length) {
    stack = [...input.witness];
    script = stack.pop()!;
    data.witnessScript = script;
    template = scriptType(script);
    sigVersion = 'witness_v0';
  }
  if (template.type === 'multisig')
    matchSignatures(stack, template.solutions.slice(1, -1), script, sigVersion, checker, data);
  return data;
}

/** Finds for each signature the key it is of; both are in the same order. */
function matchSignatures(
  stack: readonly Uint8Array[],
  keys: readonly Uint8Array[],
  script: Uint8Array,
  sigVersion: SigVersion,
  checker: SignatureChecker,
  data: SignatureData,
): void {
  let next = 0;
  for (const signature of stack)
    for (let i = next; i < keys.length; i++) {
      const known = data.signatures.has(bytesToHex(hash160(keys[i]!)));
      if (!known && !checker.checkEcdsa(signature, keys[i]!, script, sigVersion)) continue;
      next = i + 1;
      break;
    }
}

/** Collects every valid signature. */
function collectingChecker(checker: SignatureChecker, data: SignatureData): SignatureChecker {
  return {
    checkEcdsa(signature, publicKey, scriptCode, sigVersion) {
      if (!checker.checkEcdsa(signature, publicKey, scriptCode, sigVersion)) return false;
      const id = bytesToHex(hash160(publicKey));
      if (!data.signatures.has(id)) data.signatures.set(id, { publicKey, signature });
      return true;
    },
    checkSchnorr: (signature, key, spend) => checker.checkSchnorr(signature, key, spend),
    checkTapTweak: (outputKey, internalKey, tweak, parity) =>
      checker.checkTapTweak(outputKey, internalKey, tweak, parity),
    checkLockTime: (lockTime) => checker.checkLockTime(lockTime),
    checkSequence: (sequence) => checker.checkSequence(sequence),
  };
}
