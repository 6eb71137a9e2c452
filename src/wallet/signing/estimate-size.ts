import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { compactSizeLength } from '../../primitives/compact-size.ts';
import { isWitnessProgram } from '../../script/templates.ts';
import type { InputSize } from '../coin-selection/input-size.ts';
import type { SigningProvider } from '../keys/signing-data.ts';
import { produceSignature } from './produce-signature.ts';
import { dummyCreator } from './signature-creator.ts';
import { newSignatureData } from './signature-data.ts';

/**
 * How large an input that spends the output gets once signed, from signing it with dummies; null where the provider
 * does not know its scripts and keys. Of taproot outputs the key path is taken. `maxSize`: for signers that may not
 * grind R.
 */
export function estimateInputSize(
  provider: SigningProvider,
  scriptPubKey: Uint8Array,
  maxSize: boolean,
): InputSize | null {
  const data = newSignatureData();
  if (!produceSignature(provider, dummyCreator(maxSize), scriptPubKey, data)) return null;
  const { scriptSig, scriptWitness, redeemScript } = data;
  const witnessSize = scriptWitness.reduce((sum, { length }) => sum + compactSizeLength(length) + length, 0);
  return {
    satisfactionWeight: scriptSig.length * WITNESS_SCALE_FACTOR + witnessSize,
    witnessElements: scriptWitness.length,
    segwit: isWitnessProgram(redeemScript ?? scriptPubKey),
  };
}
