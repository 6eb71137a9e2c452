import { readCompactSize, writeCompactSize } from '../../primitives/compact-size.ts';
import { assert } from '../../util/assert.ts';
import { ByteReader, ByteWriter, DecodeError } from '../../util/bytes.ts';

/**
 * Consequence for a peer that sent an invalid message: the message is ignored, as in Core where it cannot be decoded, or
 * the peer is disconnected, or treated as `misbehaving`, which discourages its address as well.
 */
export type Verdict = 'ignore' | 'disconnect' | 'misbehaving';

/** Thrown for a payload that does not have the format of its message type. */
export class MessageError extends Error {
  override readonly name = 'MessageError';
  readonly messageType: string;
  /** The reason without the message type. */
  readonly reason: string;
  readonly verdict: Verdict;

  constructor(messageType: string, reason: string, verdict: Verdict) {
    super(`${messageType}: ${reason}`);
    this.messageType = messageType;
    this.reason = reason;
    this.verdict = verdict;
  }
}

/** Thrown by a codec for a well-formed value that exceeds a protocol limit. */
export class ViolationError extends Error {
  readonly verdict: Verdict;

  constructor(reason: string, verdict: Verdict) {
    super(reason);
    this.verdict = verdict;
  }
}

/** Encoder and decoder of one payload type. `decode` throws MessageError and ignores trailing bytes, as Core does. */
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
      // `decoding` is not used here: for small messages its closure would cost more than the decoding.
      try {
        return read(new ByteReader(payload));
      } catch (error) {
        throw messageError(type, error);
      }
    },
  };
}

function messageError(type: string, error: unknown): unknown {
  if (error instanceof DecodeError) return new MessageError(type, error.message, 'ignore');
  if (error instanceof ViolationError) return new MessageError(type, error.message, error.verdict);
  return error;
}

/** Calls `read` and converts its errors to MessageError. */
export function decoding<T>(type: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw messageError(type, error);
  }
}

/** Returns the codec of a message without payload. */
export function emptyCodec(type: string): MessageCodec<null> {
  return messageCodec(
    type,
    () => {},
    () => null,
  );
}

/** Maximum number of elements of a list, and the consequence of a longer one. */
export interface ListLimit {
  readonly max: number;
  readonly verdict: Verdict;
  readonly reason: (count: number) => string;
}

/**
 * Reads a count and that many elements of at least `leastSize` bytes each. A count that exceeds the remaining bytes is
 * rejected before any element is read.
 */
export function readList<T>(r: ByteReader, leastSize: number, read: (r: ByteReader) => T, limit?: ListLimit): T[] {
  const count = readCount(r, leastSize, limit);
  const items: T[] = [];
  for (let i = 0; i < count; i++) items.push(read(r));
  return items;
}

/** Reads the element count of a list with the checks of `readList`. */
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

/** Reads a length and that many bytes, at most `max`. */
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

/** Reads a compact size with the full range of 64 bits, as BIP-155 encodes service bits. */
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

/** Decodes one character per byte: message types and user agents are not UTF-8. */
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
