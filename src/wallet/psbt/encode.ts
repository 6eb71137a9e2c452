import { writeCompactSize, writeVarBytes, writeVector } from '../../primitives/compact-size.ts';
import { encodeOutput, encodeTransaction, encodeWitness, type Transaction } from '../../primitives/transaction.ts';
import { type AsciiText, asciiBytes } from '../../util/ascii-text.ts';
import { assert } from '../../util/assert.ts';
import { ByteWriter, concatBytes } from '../../util/bytes.ts';
import { runSteps, type Steps } from '../../util/slices.ts';
import type { KeyOrigin } from '../keys/key-path.ts';
import type { MusigParticipants } from '../signing/musig-data.ts';
import { GLOBAL, INPUT, OUTPUT, PSBT_MAGIC } from './field-types.ts';
import {
  type Fields,
  type Preimage,
  type Psbt,
  type PsbtInput,
  type PsbtOutput,
  type PsbtVersion,
  sortedFields,
  type TapDerivation,
  type UnknownField,
} from './psbt.ts';
import { unsignedTx } from './unsigned-tx.ts';

const SEPARATOR = 0;
/** Bytes that are encoded as one piece of text. */
const BASE64_PIECE = 1_000_000;

export function encodePsbtBase64(psbt: Psbt): string {
  return encodePsbt(psbt).toBase64();
}

/** Encodes in steps of one input or output. The text may have a hundred megabytes, and is never joined. */
export function* encodePsbtBase64Steps(psbt: Psbt): Steps<AsciiText> {
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let w = new ByteWriter(1024);
  for (const _ of encodeInto(psbt, () => w)) {
    const bytes = w.finish();
    if (bytes.length >= BASE64_PIECE) {
      // Three bytes become four characters.
      const whole = bytes.length - (bytes.length % 3);
      pieces.push(asciiBytes(bytes.subarray(0, whole).toBase64()));
      w = new ByteWriter(BASE64_PIECE);
      w.bytes(bytes.subarray(whole));
    }
    yield;
  }
  pieces.push(asciiBytes(w.finish().toBase64()));
  return { pieces };
}

/** Returns the canonical bytes, with fields in Core's order. */
export function encodePsbt(psbt: Psbt): Uint8Array {
  const w = new ByteWriter(1024);
  runSteps(encodeInto(psbt, () => w));
  return w.finish();
}

/** Writes an input or output a step, each into the writer that there is then. */
function* encodeInto(psbt: Psbt, writer: () => ByteWriter): Steps<void> {
  const w = writer();
  w.bytes(PSBT_MAGIC);
  encodeGlobals(w, psbt);
  for (const input of psbt.inputs) {
    yield;
    encodeInput(writer(), input, psbt.version);
  }
  for (const output of psbt.outputs) {
    yield;
    encodeOutputFields(writer(), output, psbt.version);
  }
  yield;
}

/** Returns the bytes that `encode` writes. */
function bytesOf(encode: (w: ByteWriter) => void): Uint8Array {
  const w = new ByteWriter(64);
  encode(w);
  return w.finish();
}

/** Writes a field: the length, type and key data, then the length and value. */
function put(w: ByteWriter, type: number, keyData: readonly Uint8Array[], value: Uint8Array): void {
  writeVarBytes(w, concatBytes(Uint8Array.of(type), ...keyData));
  writeVarBytes(w, value);
}

const plain = (w: ByteWriter, type: number, value: Uint8Array | null) => {
  if (value !== null) put(w, type, [], value);
};
const u32 = (value: number) => bytesOf((w) => w.u32(value));
const number = (w: ByteWriter, type: number, value: number | null) =>
  plain(w, type, value === null ? null : u32(value));

function encodeGlobals(w: ByteWriter, psbt: Psbt): void {
  if (psbt.version === 0) {
    const tx = unsignedTx(psbt);
    assert(tx !== null, 'version 0 has one locktime');
    plain(w, GLOBAL.UNSIGNED_TX, transactionWithoutWitness(tx));
  }
  for (const { xpub, origin } of sortedFields(psbt.xpubs)) put(w, GLOBAL.XPUB, [xpub], originBytes(origin));
  if (psbt.version === 2) {
    number(w, GLOBAL.TX_VERSION, psbt.txVersion);
    number(w, GLOBAL.FALLBACK_LOCKTIME, psbt.fallbackLocktime);
    plain(
      w,
      GLOBAL.INPUT_COUNT,
      bytesOf((count) => writeCompactSize(count, psbt.inputs.length)),
    );
    plain(
      w,
      GLOBAL.OUTPUT_COUNT,
      bytesOf((count) => writeCompactSize(count, psbt.outputs.length)),
    );
    plain(w, GLOBAL.TX_MODIFIABLE, psbt.modifiable === null ? null : Uint8Array.of(psbt.modifiable));
    number(w, GLOBAL.VERSION, psbt.version);
  }
  unknownFields(w, psbt.proprietary);
  unknownFields(w, psbt.unknown);
  w.u8(SEPARATOR);
}

function encodeInput(w: ByteWriter, input: PsbtInput, version: PsbtVersion): void {
  const { nonWitnessUtxo, witnessUtxo } = input;
  if (nonWitnessUtxo !== null) plain(w, INPUT.NON_WITNESS_UTXO, transactionWithoutWitness(nonWitnessUtxo));
  if (witnessUtxo !== null)
    plain(
      w,
      INPUT.WITNESS_UTXO,
      bytesOf((value) => encodeOutput(value, witnessUtxo)),
    );
  const witness = input.finalScriptWitness;
  if (input.finalScriptSig === null && witness === null) encodeUnfinished(w, input);
  plain(w, INPUT.FINAL_SCRIPT_SIG, input.finalScriptSig);
  if (witness !== null)
    plain(
      w,
      INPUT.FINAL_SCRIPT_WITNESS,
      bytesOf((value) => encodeWitness(value, witness)),
    );
  if (version === 2) {
    plain(w, INPUT.PREVIOUS_TXID, input.prevout.txid);
    number(w, INPUT.OUTPUT_INDEX, input.prevout.vout);
    number(w, INPUT.SEQUENCE, input.sequence);
    number(w, INPUT.REQUIRED_TIME_LOCKTIME, input.requiredTimeLocktime);
    number(w, INPUT.REQUIRED_HEIGHT_LOCKTIME, input.requiredHeightLocktime);
  }
  unknownFields(w, input.proprietary);
  unknownFields(w, input.unknown);
  w.u8(SEPARATOR);
}

/** Writes the fields that only signers need. */
function encodeUnfinished(w: ByteWriter, input: PsbtInput): void {
  for (const { publicKey, signature } of sortedFields(input.partialSignatures))
    put(w, INPUT.PARTIAL_SIG, [publicKey], signature);
  // The four bytes are the same for signed and unsigned numbers.
  number(w, INPUT.SIGHASH, input.sighashType);
  plain(w, INPUT.REDEEM_SCRIPT, input.redeemScript);
  plain(w, INPUT.WITNESS_SCRIPT, input.witnessScript);
  for (const { publicKey, origin } of sortedFields(input.derivations))
    put(w, INPUT.BIP32_DERIVATION, [publicKey], originBytes(origin));
  preimages(w, INPUT.RIPEMD160, input.ripemd160Preimages);
  preimages(w, INPUT.SHA256, input.sha256Preimages);
  preimages(w, INPUT.HASH160, input.hash160Preimages);
  preimages(w, INPUT.HASH256, input.hash256Preimages);
  plain(w, INPUT.TAP_KEY_SIG, input.tapKeySignature);
  for (const { publicKey, leafHash, signature } of sortedFields(input.tapScriptSignatures))
    put(w, INPUT.TAP_SCRIPT_SIG, [publicKey, leafHash], signature);
  for (const { script, leafVersion, controlBlocks } of sortedFields(input.tapScripts))
    for (const controlBlock of controlBlocks)
      put(w, INPUT.TAP_LEAF_SCRIPT, [controlBlock], concatBytes(script, Uint8Array.of(leafVersion)));
  tapDerivations(w, INPUT.TAP_BIP32_DERIVATION, input.tapDerivations);
  plain(w, INPUT.TAP_INTERNAL_KEY, input.tapInternalKey);
  plain(w, INPUT.TAP_MERKLE_ROOT, input.tapMerkleRoot);
  musigParticipants(w, INPUT.MUSIG2_PARTICIPANTS, input.musigParticipants);
  for (const [type, contributions] of [
    [INPUT.MUSIG2_PUB_NONCE, input.musigNonces],
    [INPUT.MUSIG2_PARTIAL_SIG, input.musigPartialSignatures],
  ] as const)
    for (const { participant, aggregateKey, leafHash, value } of sortedFields(contributions))
      put(w, type, leafHash === null ? [participant, aggregateKey] : [participant, aggregateKey, leafHash], value);
}

function encodeOutputFields(w: ByteWriter, output: PsbtOutput, version: PsbtVersion): void {
  plain(w, OUTPUT.REDEEM_SCRIPT, output.redeemScript);
  plain(w, OUTPUT.WITNESS_SCRIPT, output.witnessScript);
  for (const { publicKey, origin } of sortedFields(output.derivations))
    put(w, OUTPUT.BIP32_DERIVATION, [publicKey], originBytes(origin));
  if (version === 2) {
    plain(
      w,
      OUTPUT.AMOUNT,
      bytesOf((value) => value.i64(output.value)),
    );
    plain(w, OUTPUT.SCRIPT, output.scriptPubKey);
  }
  unknownFields(w, output.proprietary);
  plain(w, OUTPUT.TAP_INTERNAL_KEY, output.tapInternalKey);
  if (output.tapTree.length > 0) {
    const tree = bytesOf((value) => {
      for (const { depth, leafVersion, script } of output.tapTree) {
        value.u8(depth);
        value.u8(leafVersion);
        writeVarBytes(value, script);
      }
    });
    plain(w, OUTPUT.TAP_TREE, tree);
  }
  tapDerivations(w, OUTPUT.TAP_BIP32_DERIVATION, output.tapDerivations);
  musigParticipants(w, OUTPUT.MUSIG2_PARTICIPANTS, output.musigParticipants);
  unknownFields(w, output.unknown);
  w.u8(SEPARATOR);
}

function transactionWithoutWitness(tx: Transaction): Uint8Array {
  return bytesOf((w) => encodeTransaction(w, tx, { witness: false }));
}

function originBytes({ fingerprint, path }: KeyOrigin): Uint8Array {
  return bytesOf((w) => {
    w.bytes(fingerprint);
    for (const step of path) w.u32(step);
  });
}

function preimages(w: ByteWriter, type: number, fields: Fields<Preimage>): void {
  for (const { hash, preimage } of sortedFields(fields)) put(w, type, [hash], preimage);
}

function tapDerivations(w: ByteWriter, type: number, fields: Fields<TapDerivation>): void {
  for (const { publicKey, leafHashes, origin } of sortedFields(fields)) {
    const leaves = bytesOf((value) => writeVector(value, leafHashes, (inner, hash) => inner.bytes(hash)));
    put(w, type, [publicKey], concatBytes(leaves, originBytes(origin)));
  }
}

function musigParticipants(w: ByteWriter, type: number, fields: Fields<MusigParticipants>): void {
  for (const { aggregateKey, participants } of sortedFields(fields))
    put(
      w,
      type,
      [aggregateKey],
      bytesOf((value) => {
        for (const participant of participants) value.bytes(participant);
      }),
    );
}

function unknownFields(w: ByteWriter, fields: Fields<UnknownField>): void {
  for (const { key, value } of sortedFields(fields)) {
    writeVarBytes(w, key);
    writeVarBytes(w, value);
  }
}
