import { sha256 } from '../crypto/hash-functions.ts';
import { encodeOutpoint } from '../primitives/outpoint.ts';
import { encodeOutput, type TxOutput } from '../primitives/transaction.ts';
import { ByteWriter } from '../util/bytes.ts';
import { SIGHASH_ALL, SIGHASH_ANYONECANPAY, SIGHASH_DEFAULT, SIGHASH_SINGLE } from './sighash-type.ts';
import type { TaprootSpend } from './signature-checker.ts';
import { tagPrefix } from './taproot.ts';
import type { TxContext } from './tx-context.ts';

const SIGHASH = tagPrefix('TapSighash');
const EPOCH = 0;
/** BIP-342: key_version of 32-byte keys. */
const KEY_VERSION = 0;

/** Scratch space of one call. */
const writer = new ByteWriter(512);
const singleOutput = new ByteWriter(256);

/**
 * Returns the signature hash of a taproot input (BIP-341), with the extension of BIP-342 if `spend` has a leaf. Null
 * for an undefined hash type, and for SIGHASH_SINGLE without a matching output.
 */
export function taprootSighash(
  context: TxContext,
  index: number,
  hashType: number,
  spend: TaprootSpend,
): Uint8Array | null {
  if (!(hashType <= 0x03 || (hashType >= 0x81 && hashType <= 0x83))) return null;
  const { tx } = context;
  const input = tx.inputs[index]!;
  const outputType = hashType === SIGHASH_DEFAULT ? SIGHASH_ALL : hashType & 3;
  const anyoneCanPay = (hashType & SIGHASH_ANYONECANPAY) !== 0;
  if (outputType === SIGHASH_SINGLE && index >= tx.outputs.length) return null;
  const w = writer;
  w.reset();
  w.bytes(SIGHASH);
  w.u8(EPOCH);
  w.u8(hashType);
  w.u32(tx.version);
  w.u32(tx.locktime);
  if (!anyoneCanPay) {
    w.bytes(context.prevoutsHash);
    w.bytes(context.spentAmountsHash);
    w.bytes(context.spentScriptsHash);
    w.bytes(context.sequencesHash);
  }
  if (outputType === SIGHASH_ALL) w.bytes(context.outputsHash);
  w.u8((spend.tapleafHash === null ? 0 : 2) + (spend.annexHash === null ? 0 : 1));
  if (anyoneCanPay) {
    encodeOutpoint(w, input.prevout);
    encodeOutput(w, context.spentOutputs[index]!);
    w.u32(input.sequence);
  } else w.u32(index);
  if (spend.annexHash !== null) w.bytes(spend.annexHash);
  if (outputType === SIGHASH_SINGLE) {
    spend.outputHash ??= hashOutput(tx.outputs[index]!);
    w.bytes(spend.outputHash);
  }
  if (spend.tapleafHash !== null) {
    w.bytes(spend.tapleafHash);
    w.u8(KEY_VERSION);
    w.u32(spend.codeSeparatorPosition);
  }
  return sha256(w.finish());
}

function hashOutput(output: TxOutput): Uint8Array {
  singleOutput.reset();
  encodeOutput(singleOutput, output);
  return sha256(singleOutput.finish());
}
