import { readCompactSize, writeCompactSize } from '../../primitives/compact-size.ts';
import { assert } from '../../util/assert.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';

/**
 * What is done with the peer behind a message that does not decode: `disconnect` it, or hold it for `misbehaving`, so
 * that its address is avoided, too. Core lets most such messages pass.
 */
export type Verdict = 'disconnect' | 'misbehaving';

/** Thrown on a payload that is not of the form its type asks for. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
  readonly messageType: string;
  /** What is wrong, without the type's name. */
  readonly reason: string;
  readonly verdict: Verdict;

  constructor(messageType: string, reason: string, verdict: Verdict) {
    super(`${messageType}: ${reason}`);
    this.messageType = messageType;
    this.reason = reason;
    this.verdict = verdict;
  }
}

/** Thrown within a codec on what is well formed, and more than the protocol allows. */
export class ViolationError extends Error {
  readonly verdict: Verdict;

  constructor(reason: string, verdict: Verdict) {
    super(reason);
    this.verdict = verdict;
  }
}

/** A payload and its value. `decode` throws MessageError and lets bytes that follow pass, as Core does. */
export interface MessageCodec<In, Out = In> {
  encode(value: In): Uint8Array;
  decode(payload: Uint8Array): Out;
}

export function messageCodec<In, Out = In>(
  type: string,
  write: (w: ByteWriter, value: In) => void,
  read: (r: ByteReader) => Out,
): MessageCodec<In, Out> {
  return {
    encode: (value) => {
      const w = new ByteWriter();
      write(w, value);
      return w.finish();
    },
    decode: (payload) => {
      // Not through `decoding`: of small messages the closure would be the larger part.
      try {
        return read(new ByteReader(payload));
      } catch (error) {
        throw messageError(type, error);
      }
    },
  };
}

function messageError(type: string, error: unknown): unknown {
  if (error instanceof DecodeError) return new MessageError(type, error.message, 'disconnect');
  if (error instanceof ViolationError) return new MessageError(type, error.message, error.verdict);
  return error;
}

/** Runs what reads a payload, and says what its errors mean for the message. */
export function decoding<T>(type: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw messageError(type, error);
  }
}

/** A message that is its name alone. */
export function emptyCodec(type: string): MessageCodec<null> {
  return messageCodec(
    type,
    () => {},
    () => null,
  );
}

/** How long a list may be, and what a longer one says of the peer. */
export interface ListLimit {
  readonly max: number;
  readonly verdict: Verdict;
  readonly reason: (count: number) => string;
}

/**
 * A count and that many elements, each at least `leastSize` bytes long. A count that cannot be there is refused before
 * anything is read.
 */
export function readList<T>(r: ByteReader, leastSize: number, read: (r: ByteReader) => T, limit?: ListLimit): T[] {
  const count = readCount(r, leastSize, limit);
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(read(r));
  return items;
}

/** The count of such a list. */
export function readCount(r: ByteReader, leastSize: number, limit?: ListLimit): number {
  const count = readCompactSize(r);
  if (limit !== undefined && count > limit.max) throw new ViolationError(limit.reason(count), limit.verdict);
  if (count > r.remaining / leastSize) throw new DecodeError('unexpected end of data');
  return count;
}

export function writeList<T>(
  w: ByteWriter,
  items: readonly T[],
  write: (w: ByteWriter, item: T) => void,
  limit?: ListLimit,
): void {
  assert(limit === undefined || items.length <= limit.max, 'list within the limit of its message');
  writeCompactSize(w, items.length);
  for (const item of items) write(w, item);
}

/** Bytes with their length before them, at most `max`. */
export function readBytes(r: ByteReader, max: number, what: string): Uint8Array {
  const length = readCompactSize(r);
  if (length > max) throw new DecodeError(`${what} of ${length} bytes is too long`);
  return r.bytes(length);
}

export function writeBytes(w: ByteWriter, bytes: Uint8Array, max: number): void {
  assert(bytes.length <= max, 'bytes within the limit of their message');
  writeCompactSize(w, bytes.length);
  w.bytes(bytes);
}

/** A compact size over all 64 bits, as service bits are written. */
export function readCompactU64(r: ByteReader): bigint {
  const first = r.u8();
  if (first < 0xfd) return BigInt(first);
  const [value, least] =
    first === 0xfd
      ? [BigInt(r.u16()), 0xfdn]
      : first === 0xfe
        ? [BigInt(r.u32()), 0x1_0000n]
        : [r.u64(), 0x1_0000_0000n];
  if (value < least) throw new DecodeError('non-canonical compact size');
  return value;
}

export function writeCompactU64(w: ByteWriter, value: bigint): void {
  if (value <= 0xffff_ffffn) writeCompactSize(w, Number(value));
  else {
    w.u8(0xff);
    w.u64(value);
  }
}

/** Text of which each character is one byte: names and agents are no UTF-8 to the protocol. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('latin1');
}

export function bytesOfText(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, 'latin1'));
}

export const HASH_SIZE = 32;

export function readHash(r: ByteReader): Uint8Array {
  return r.bytes(HASH_SIZE);
}
