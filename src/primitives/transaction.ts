import { hash256 } from '../crypto/hash-functions.ts';
import { ByteReader, ByteWriter, DecodeError } from '../util/bytes.ts';
import type { Amount } from './amount.ts';
import { readVarBytes, readVector, writeVarBytes, writeVector } from './compact-size.ts';
import type { Txid, Wtxid } from './hash.ts';
import { decodeOutpoint, encodeOutpoint, isNullOutpoint, type Outpoint } from './outpoint.ts';

export interface TxInput {
  readonly prevout: Outpoint;
  readonly scriptSig: Uint8Array;
  readonly sequence: number;
  /** Stack items, bottom first; empty without a witness (BIP-144). */
  readonly witness: readonly Uint8Array[];
}

export interface TxOutput {
  readonly value: Amount;
  readonly scriptPubKey: Uint8Array;
}

export interface Transaction {
  /** The version as an unsigned 32-bit number; rules that compare it as signed say so. */
  readonly version: number;
  readonly inputs: readonly TxInput[];
  readonly outputs: readonly TxOutput[];
  readonly locktime: number;
}

const NO_WITNESS: readonly Uint8Array[] = [];

function decodeInput(r: ByteReader): TxInput {
  const prevout = decodeOutpoint(r);
  const scriptSig = readVarBytes(r);
  return { prevout, scriptSig, sequence: r.u32(), witness: NO_WITNESS };
}

function encodeInput(w: ByteWriter, input: TxInput): void {
  encodeOutpoint(w, input.prevout);
  writeVarBytes(w, input.scriptSig);
  w.u32(input.sequence);
}

export function decodeOutput(r: ByteReader): TxOutput {
  const value = r.i64();
  return { value, scriptPubKey: readVarBytes(r) };
}

export function encodeOutput(w: ByteWriter, output: TxOutput): void {
  w.i64(output.value);
  writeVarBytes(w, output.scriptPubKey);
}

export function decodeWitness(r: ByteReader): readonly Uint8Array[] {
  return readVector(r, readVarBytes);
}

export function encodeWitness(w: ByteWriter, witness: readonly Uint8Array[]): void {
  writeVector(w, witness, writeVarBytes);
}

export function hasWitness(input: TxInput): boolean {
  return input.witness.length > 0;
}

/** Offsets of the parts of an encoded transaction in the reader's buffer. */
export interface TxLayout {
  readonly start: number;
  /** Offset of the input count: after the version, or after marker and flags. */
  readonly body: number;
  /** Offset of the witnesses, or of the locktime without any. */
  readonly witness: number;
  readonly end: number;
}

/** Decodes a transaction with its layout, so that ids are computed without encoding it again. */
export function decodeTransactionWithLayout(r: ByteReader): { tx: Transaction; layout: TxLayout } {
  const start = r.pos;
  const version = r.u32();
  let body = r.pos;
  let inputs = readVector(r, decodeInput);
  // BIP-144: an empty input list is the segwit marker, and the next byte holds the flags.
  let flags = 0;
  let outputs: TxOutput[] = [];
  if (inputs.length === 0) {
    flags = r.u8();
    if (flags !== 0) {
      body = r.pos;
      inputs = readVector(r, decodeInput);
      outputs = readVector(r, decodeOutput);
    }
  } else outputs = readVector(r, decodeOutput);
  const witness = r.pos;
  if (flags & 1) {
    inputs = inputs.map((input) => ({
      prevout: input.prevout,
      scriptSig: input.scriptSig,
      sequence: input.sequence,
      witness: decodeWitness(r),
    }));
    if (!inputs.some(hasWitness)) throw new DecodeError('superfluous witness record');
  }
  if (flags & ~1) throw new DecodeError('unknown transaction flags');
  const locktime = r.u32();
  return { tx: { version, inputs, outputs, locktime }, layout: { start, body, witness, end: r.pos } };
}

export function decodeTransaction(r: ByteReader): Transaction {
  return decodeTransactionWithLayout(r).tx;
}

/** Decodes bytes that hold exactly one transaction. Throws DecodeError. */
export function transactionFromBytes(bytes: Uint8Array): Transaction {
  const r = new ByteReader(bytes);
  const tx = decodeTransaction(r);
  if (r.remaining > 0) throw new DecodeError('bytes after the transaction');
  return tx;
}

export function encodeTransaction(w: ByteWriter, tx: Transaction, { witness }: { witness: boolean }): void {
  const extended = witness && tx.inputs.some(hasWitness);
  w.u32(tx.version);
  if (extended) w.u16(0x0100); // marker 0x00, flags 0x01
  writeVector(w, tx.inputs, encodeInput);
  writeVector(w, tx.outputs, encodeOutput);
  if (extended) for (const input of tx.inputs) encodeWitness(w, input.witness);
  w.u32(tx.locktime);
}

export function transactionBytes(tx: Transaction, { witness = true } = {}): Uint8Array {
  const w = new ByteWriter();
  encodeTransaction(w, tx, { witness });
  return w.finish();
}

/** A larger buffer is not kept for the next transaction. */
const KEPT_BYTES = 1 << 20;
/** Transactions are encoded into the same memory, since fresh memory takes longer than the hashes of most of them. */
let hashed = new ByteWriter(1024);

function hashOf(tx: Transaction, witness: boolean): Uint8Array {
  hashed.reset();
  encodeTransaction(hashed, tx, { witness });
  const hash = hash256(hashed.finish());
  if (hashed.length > KEPT_BYTES) hashed = new ByteWriter(1024);
  return hash;
}

/** Returns the txid: the hash of the encoding without witness. */
export function txidOf(tx: Transaction): Txid {
  return hashOf(tx, false) as Txid;
}

/** Returns the wtxid (BIP-141): the hash of the encoding with witness; equals the txid without a witness. */
export function wtxidOf(tx: Transaction): Wtxid {
  return hashOf(tx, true) as Wtxid;
}

export function isCoinbase(tx: Transaction): boolean {
  return tx.inputs.length === 1 && isNullOutpoint(tx.inputs[0]!.prevout);
}

/** Returns the sum of the outputs, satoshis. */
export function sumOutputs(tx: Transaction): Amount {
  let sum = 0n;
  for (const { value } of tx.outputs) sum += value;
  return sum;
}
