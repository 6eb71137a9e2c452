import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { compactSizeLength } from '../../primitives/compact-size.ts';
import { encodeOutput, type TxOutput } from '../../primitives/transaction.ts';
import { isWitnessProgram } from '../../script/templates.ts';
import { ByteWriter } from '../../util/bytes.ts';

/** Maximum size of a signed input. */
export interface InputSize {
  /** Weight of scriptSig and witness, beyond those of an unsigned input. */
  readonly satisfactionWeight: number;
  /** Items on the witness stack. */
  readonly witnessElements: number;
  /** Whether it spends a witness program, inside P2SH or not. */
  readonly segwit: boolean;
}

/** The members of a descriptor that determine an input's size. */
export interface SizedDescriptor {
  readonly outputType: string | null;
  maxSatisfactionWeight(useMaxSignature: boolean): number | null;
  maxSatisfactionElements(): number | null;
}

/** Outpoint and sequence. */
const INPUT_BASE_SIZE = 32 + 4 + 4;

/**
 * Returns the size of an input of a descriptor; null if the descriptor is not solvable. `useMaxSignature` assumes
 * signatures of 72 bytes instead of 71, for signers that do not grind R.
 */
export function inputSizeOf(descriptor: SizedDescriptor, useMaxSignature: boolean): InputSize | null {
  const satisfactionWeight = descriptor.maxSatisfactionWeight(useMaxSignature);
  const witnessElements = descriptor.maxSatisfactionElements();
  if (satisfactionWeight === null || witnessElements === null) return null;
  const segwit = descriptor.outputType !== null && descriptor.outputType !== 'legacy';
  return { satisfactionWeight, witnessElements, segwit };
}

/**
 * Returns the weight of the signed input. In a segwit transaction every input has a count of witness items, even if it
 * is zero. The length of a scriptSig then takes one byte.
 */
function maxInputWeight(size: InputSize, txIsSegwit: boolean): number {
  const { satisfactionWeight, witnessElements, segwit } = size;
  const scriptSigLength = segwit ? 1 : compactSizeLength(Math.floor(satisfactionWeight / WITNESS_SCALE_FACTOR));
  const stackLength = segwit ? compactSizeLength(witnessElements) : txIsSegwit ? 1 : 0;
  return (INPUT_BASE_SIZE + scriptSigLength) * WITNESS_SCALE_FACTOR + stackLength + satisfactionWeight;
}

/** Returns the virtual bytes of the signed input in a segwit transaction, rounded up. */
export function maxInputVsize(size: InputSize): number {
  return vsizeOfWeight(maxInputWeight(size, true));
}

export function vsizeOfWeight(weight: number): number {
  return Math.ceil(weight / WITNESS_SCALE_FACTOR);
}

/** Returns the bytes of an output: value, script length and script. */
export function outputSize(output: Pick<TxOutput, 'scriptPubKey'>): number {
  const w = new ByteWriter(64);
  encodeOutput(w, { value: 0n, scriptPubKey: output.scriptPubKey });
  return w.length;
}

/** An input to be measured. A known weight takes precedence over the size. */
export interface MeasuredInput {
  readonly weight: number | null;
  readonly size: InputSize | null;
  /** Spent output. If the size is unknown, it determines whether the input has a witness. */
  readonly output?: Pick<TxOutput, 'scriptPubKey'> | null;
}

/** Returns the maximum weight of the signed transaction; null if the size of an input is unknown. */
export function maxTxWeight(inputs: readonly MeasuredInput[], outputs: readonly TxOutput[]): number | null {
  const segwit = inputs.some(
    ({ size, output }) => size?.segwit ?? (output ? isWitnessProgram(output.scriptPubKey) : false),
  );
  const counts = 4 + 4 + compactSizeLength(inputs.length) + compactSizeLength(outputs.length);
  let weight = counts * WITNESS_SCALE_FACTOR + (segwit ? 2 : 0);
  for (const output of outputs) weight += outputSize(output) * WITNESS_SCALE_FACTOR;
  for (const { weight: given, size } of inputs) {
    if (given === null && size === null) return null;
    weight += given ?? maxInputWeight(size!, segwit);
  }
  return weight;
}
