import { sha256 } from '../crypto/hash-functions.ts';
import { writeVarBytes } from '../primitives/compact-size.ts';
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
  const outputType = hashType === SIGHASH_DEFAULT ? SIGHASH_ALL : hashType & 3;
  const anyoneCanPay = (hashType & SIGHASH_ANYONECANPAY) !== 0;
  if (outputType === SIGHASH_SINGLE && index >= context.outputCount) return null;
  const w = writer;
  w.reset();
  w.bytes(SIGHASH);
  w.u8(EPOCH);
  w.u8(hashType);
  w.u32(context.version);
  w.u32(context.locktime);
  if (!anyoneCanPay) {
    w.bytes(context.prevoutsHash);
    w.bytes(context.spentAmountsHash);
    w.bytes(context.spentScriptsHash);
    w.bytes(context.sequencesHash);
  }
  if (outputType === SIGHASH_ALL) w.bytes(context.outputsHash);
  w.u8((spend.tapleafHash === null ? 0 : 2) + (spend.annexHash === null ? 0 : 1));
  if (anyoneCanPay) {
    context.writePrevout(w, index);
    context.writeSpentValue(w, index);
    writeVarBytes(w, context.spentScriptOf(index));
    w.u32(context.sequenceOf(index));
  } else w.u32(index);
  if (spend.annexHash !== null) w.bytes(spend.annexHash);
  if (outputType === SIGHASH_SINGLE) {
    spend.outputHash ??= hashOutput(context, index);
    w.bytes(spend.outputHash);
  }
  if (spend.tapleafHash !== null) {
    w.bytes(spend.tapleafHash);
    w.u8(KEY_VERSION);
    w.u32(spend.codeSeparatorPosition);
  }
  return sha256(w.finish());
}

function hashOutput(context: TxContext, index: number): Uint8Array {
  singleOutput.reset();
  context.writeOutput(singleOutput, index);
  return sha256(singleOutput.finish());
}
