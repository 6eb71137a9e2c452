import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { compactSizeLength } from '../../primitives/compact-size.ts';
import { encodeOutput, type TxOutput } from '../../primitives/transaction.ts';
import { isWitnessProgram } from '../../script/templates.ts';
import { ByteWriter } from '../../util/bytes.ts';

/** How large an input gets at most once it is signed. */
export interface InputSize {
  /** Weight units beyond the empty input: scriptSig and witness. */
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

/** Null where the descriptor does not say. `useMaxSignature`: for signers that may not grind R, 72 bytes instead of 71. */
export function inputSizeOf(descriptor: SizedDescriptor, useMaxSignature: boolean): InputSize | null {
  const satisfactionWeight = descriptor.maxSatisfactionWeight(useMaxSignature);
  const witnessElements = descriptor.maxSatisfactionElements();
  if (satisfactionWeight === null || witnessElements === null) return null;
  const segwit = descriptor.outputType !== null && descriptor.outputType !== 'legacy';
  return { satisfactionWeight, witnessElements, segwit };
}

/**
 * Weight of the whole signed input. In a transaction with witnesses every input has the number of its items, be it
 * zero; the length of a scriptSig is one byte wherever there is a witness.
 */
function maxInputWeight(size: InputSize, txIsSegwit: boolean): number {
  const { satisfactionWeight, witnessElements, segwit } = size;
  const scriptSigLength = segwit ? 1 : compactSizeLength(Math.floor(satisfactionWeight / WITNESS_SCALE_FACTOR));
  const stackLength = segwit ? compactSizeLength(witnessElements) : txIsSegwit ? 1 : 0;
  return (INPUT_BASE_SIZE + scriptSigLength) * WITNESS_SCALE_FACTOR + stackLength + satisfactionWeight;
}

/** Virtual bytes of the signed input among others with witnesses, rounded up. */
export function maxInputVsize(size: InputSize): number {
  return vsizeOfWeight(maxInputWeight(size, true));
}

export function vsizeOfWeight(weight: number): number {
  return Math.ceil(weight / WITNESS_SCALE_FACTOR);
}

/** Bytes of an output: value, length and script. */
export function outputSize(output: Pick<TxOutput, 'scriptPubKey'>): number {
  const w = new ByteWriter(64);
  encodeOutput(w, { value: 0n, scriptPubKey: output.scriptPubKey });
  return w.length;
}

/** An input of a transaction to be measured: a weight where one is known, else its size. */
export interface MeasuredInput {
  readonly weight: number | null;
  readonly size: InputSize | null;
  /** Spent output, which shows whether the input has a witness where its size is unknown. */
  readonly output?: Pick<TxOutput, 'scriptPubKey'> | null;
}

/** Weight of a signed transaction at most; null where an input's size is not known. */
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
