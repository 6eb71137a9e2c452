import { signatureEngine } from '../../crypto/secp256k1.ts';
import { readCompactSize, readVarBytes, readVector } from '../../primitives/compact-size.ts';
import { decodeOutpoint } from '../../primitives/outpoint.ts';
import { decodeOutput, type Transaction } from '../../primitives/transaction.ts';
import { ByteReader, bytesToHex, DecodeError } from '../../util/bytes.ts';
import type { KeyOrigin } from '../keys/key-path.ts';
import type { MusigContribution, MusigParticipants } from '../signing/musig-data.ts';
import type { KeyDerivation, Preimage, ProprietaryField, TapDerivation, UnknownField } from './psbt.ts';

export const COMPRESSED_KEY_SIZE = 33;
const UNCOMPRESSED_KEY_SIZE = 65;
const HASH_SIZE = 32;

/** A type whose fields and maps can be changed, for decoding. */
export type Writable<T> = {
  -readonly [K in keyof T]: T[K] extends ReadonlyMap<infer A, infer B> ? Map<A, B> : T[K];
};

/** A field whose key was read, and whose value follows. */
export interface OpenField {
  readonly type: number;
  /** The whole key, its type included. */
  readonly key: Uint8Array;
  /** Bytes of the key behind the type. */
  readonly keyData: ByteReader;
}

export function refuse(message: string): never {
  throw new DecodeError(message);
}

/** Reads a map up to its separator. `onField` reads the value; `name` and `article` are for messages. */
export function readFields(r: ByteReader, name: string, article: string, onField: (field: OpenField) => void): void {
  const seen = new Set<string>();
  while (r.remaining > 0) {
    const key = readVarBytes(r);
    if (key.length === 0) return;
    const hex = bytesToHex(key);
    if (seen.has(hex)) refuse(`Duplicate Key, ${name} key "${hex}" already provided`);
    seen.add(hex);
    const keyData = new ByteReader(key);
    onField({ type: readCompactSize(keyData), key, keyData });
  }
  refuse(`Separator is missing at the end of ${article} ${name} map`);
}

export function expectKeySize({ key }: OpenField, size: number, name: string): void {
  if (key.length !== size) refuse(`Size of key was not ${size} for the type ${name}`);
}

/** Reads a value. Throws unless it is exactly as long as its length says. */
export function readSized<T>(r: ByteReader, decode: (r: ByteReader) => T): T {
  const size = readCompactSize(r);
  const start = r.pos;
  const value = decode(r);
  if (r.pos - start !== size) refuse('Size of value was not the stated size');
  return value;
}

const u8 = (r: ByteReader) => r.u8();
const u32 = (r: ByteReader) => r.u32();
const i32 = (r: ByteReader) => r.i32();
const i64 = (r: ByteReader) => r.i64();
const hash = (r: ByteReader) => r.bytes(HASH_SIZE);

export const readU8 = (r: ByteReader) => readSized(r, u8);
export const readU32 = (r: ByteReader) => readSized(r, u32);
export const readI32 = (r: ByteReader) => readSized(r, i32);
export const readI64 = (r: ByteReader) => readSized(r, i64);
export const readSizedHash = (r: ByteReader) => readSized(r, hash);
export const readSizedCount = (r: ByteReader) => readSized(r, readCompactSize);

/** Reads a key; null for all zeros. */
export function readKeyOrNull(r: ByteReader): Uint8Array | null {
  const bytes = readSizedHash(r);
  return bytes.some((byte) => byte !== 0) ? bytes : null;
}

/** Reads a script; null if it is empty. */
export function readScriptOrNull(r: ByteReader): Uint8Array | null {
  const script = readVarBytes(r);
  return script.length === 0 ? null : script;
}

/** Reads a transaction without marker and witnesses, even if it has no inputs. */
export function decodeUnsignedTx(r: ByteReader): Transaction {
  const version = r.u32();
  const inputs = readVector(r, (reader) => {
    const prevout = decodeOutpoint(reader);
    const scriptSig = readVarBytes(reader);
    return { prevout, scriptSig, sequence: reader.u32(), witness: [] };
  });
  const outputs = readVector(r, decodeOutput);
  return { version, inputs, outputs, locktime: r.u32() };
}

export function isFullyValidKey(key: Uint8Array): boolean {
  return signatureEngine().isValidPublicKey(key);
}

/** Reads the public key in the key of a field. */
export function readPublicKey({ key, keyData }: OpenField, wrongSize: string): Uint8Array {
  const size = key.length - 1;
  if (size !== COMPRESSED_KEY_SIZE && size !== UNCOMPRESSED_KEY_SIZE) refuse(wrongSize);
  const publicKey = keyData.buf.subarray(1);
  if (!isFullyValidKey(publicKey)) refuse('Invalid pubkey');
  return publicKey;
}

export function readOrigin(r: ByteReader, length: number): KeyOrigin {
  if (length % 4 !== 0 || length <= 0) refuse('Invalid length for HD key path');
  const fingerprint = r.bytes(4);
  const path: number[] = [];
  for (let at = 4; at < length; at += 4) path.push(r.u32());
  return { fingerprint, path };
}

export function readDerivation(r: ByteReader, field: OpenField): KeyDerivation {
  const publicKey = readPublicKey(field, 'Size of key was not the expected size for the type BIP32 keypath');
  return { publicKey, origin: readOrigin(r, readCompactSize(r)) };
}

export function readTapDerivation(r: ByteReader, field: OpenField, side: 'Input' | 'Output'): TapDerivation {
  expectKeySize(field, HASH_SIZE + 1, `${side} Taproot BIP32 Keypath`);
  const publicKey = field.keyData.bytes(HASH_SIZE);
  const length = readCompactSize(r);
  const start = r.pos;
  const unique = new Map(readVector(r, hash).map((leaf) => [bytesToHex(leaf), leaf]));
  const hashesLength = r.pos - start;
  if (hashesLength > length) refuse(`${side} Taproot BIP32 keypath has an invalid length`);
  const leafHashes = [...unique].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, leaf]) => leaf);
  return { publicKey, leafHashes, origin: readOrigin(r, length - hashesLength) };
}

export function readPreimage(r: ByteReader, field: OpenField, size: number, name: string): Preimage {
  expectKeySize(field, size + 1, `Input ${name} Preimage`);
  return { hash: field.keyData.bytes(size), preimage: readVarBytes(r) };
}

export function readMusigParticipants(r: ByteReader, field: OpenField, side: 'Input' | 'Output'): MusigParticipants {
  expectKeySize(field, COMPRESSED_KEY_SIZE + 1, `${side} MuSig2 Participants Pubkeys`);
  const aggregateKey = field.keyData.bytes(COMPRESSED_KEY_SIZE);
  if (!isFullyValidKey(aggregateKey)) refuse(`${side} musig2 aggregate pubkey is invalid`);
  const value = new ByteReader(readVarBytes(r));
  const participants: Uint8Array[] = [];
  while (value.remaining >= COMPRESSED_KEY_SIZE) {
    const participant = value.bytes(COMPRESSED_KEY_SIZE);
    if (!isFullyValidKey(participant)) refuse(`${side} musig2 participant pubkey is invalid`);
    participants.push(participant);
  }
  if (value.remaining > 0) refuse(`${side} musig2 participants pubkeys value size is not a multiple of 33`);
  return { aggregateKey, participants };
}

/** Reads the key of a nonce or partial signature. `name` is for messages. */
export function readMusigContributor(field: OpenField, name: string): Omit<MusigContribution, 'value'> {
  const { key, keyData } = field;
  const size = 2 * COMPRESSED_KEY_SIZE + 1;
  if (key.length !== size && key.length !== size + HASH_SIZE)
    refuse(`Input musig2 ${name} key is not expected size of 67 or 99 bytes`);
  const participant = keyData.bytes(COMPRESSED_KEY_SIZE);
  const aggregateKey = keyData.bytes(COMPRESSED_KEY_SIZE);
  if (!isFullyValidKey(aggregateKey)) refuse('musig2 aggregate pubkey is invalid');
  if (!isFullyValidKey(participant)) refuse('musig2 participant pubkey is invalid');
  return { participant, aggregateKey, leafHash: keyData.remaining > 0 ? keyData.bytes(HASH_SIZE) : null };
}

export function readProprietary(r: ByteReader, { key, keyData }: OpenField): ProprietaryField {
  const identifier = readVarBytes(keyData);
  const subtype = readCompactSize(keyData);
  return { key, identifier, subtype, value: readVarBytes(r) };
}

export function readUnknown(r: ByteReader, { key }: OpenField): UnknownField {
  return { key, value: readVarBytes(r) };
}
