import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import { STANDARD_SCRIPT_FLAGS } from '../../policy/standard-inputs.ts';
import { compactSizeLength } from '../../primitives/compact-size.ts';
import type { TxInput } from '../../primitives/transaction.ts';
import type { DecodedTxContext } from '../../script/decoded-tx-context.ts';
import type { SignatureChecker } from '../../script/signature-checker.ts';
import { TxChecker } from '../../script/tx-checker.ts';
import { verifyScript } from '../../script/verify.ts';

/** DER and hash type of an ECDSA signature with a high R. */
const MAX_SIGNATURE_SIZE = 72;
/** Outpoint and sequence. */
const INPUT_BASE_SIZE = 40;

/** Returns the weight of an input with its scripts. */
export function inputWeight({ scriptSig, witness }: TxInput): number {
  const base = INPUT_BASE_SIZE + compactSizeLength(scriptSig.length) + scriptSig.length;
  let stack = compactSizeLength(witness.length);
  for (const item of witness) stack += compactSizeLength(item.length) + item.length;
  return base * WITNESS_SCALE_FACTOR + stack;
}

/**
 * Returns the maximum weight of a signed input if its signatures are replaced by the longest possible ones. It is for
 * inputs of others, whose descriptors are unknown.
 */
export function maxSignedInputWeight(context: DecodedTxContext, index: number): number {
  const input = context.tx.inputs[index]!;
  const { scriptPubKey } = context.spentOutputs[index]!;
  const checker = new TxChecker(context, index, signatureEngine());
  let growth = 0;
  const measuring: SignatureChecker = {
    checkEcdsa(signature, publicKey, scriptCode, sigVersion) {
      const valid = checker.checkEcdsa(signature, publicKey, scriptCode, sigVersion);
      const scale = sigVersion === 'base' ? WITNESS_SCALE_FACTOR : 1;
      if (valid) growth += (MAX_SIGNATURE_SIZE - signature.length) * scale;
      return valid;
    },
    checkSchnorr: (signature, key, spend) => checker.checkSchnorr(signature, key, spend),
    checkTapTweak: (outputKey, internalKey, tweak, parity) =>
      checker.checkTapTweak(outputKey, internalKey, tweak, parity),
    checkLockTime: (lockTime) => checker.checkLockTime(lockTime),
    checkSequence: (sequence) => checker.checkSequence(sequence),
  };
  verifyScript(input.scriptSig, scriptPubKey, input.witness, STANDARD_SCRIPT_FLAGS, measuring);
  return inputWeight(input) + growth;
}
