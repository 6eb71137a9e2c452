import { hash256 } from '../../crypto/hash-functions.ts';
import { assert } from '../../util/assert.ts';
import { bytesToHex } from '../../util/bytes.ts';
import type { LogFields } from '../../util/log-levels.ts';
import { MESSAGES } from '../messages/messages.ts';
import { ByteAccumulator } from './byte-accumulator.ts';
import { MAX_PAYLOAD, type Transport, type TransportEvent, TYPE_SIZE } from './transport.ts';

const MAGIC_SIZE = 4;
const SIZE_AT = MAGIC_SIZE + TYPE_SIZE;
const CHECKSUM_AT = SIZE_AT + 4;
const CHECKSUM_SIZE = 4;
/** Size of the v1 header: magic, message type, payload size and checksum. */
export const V1_HEADER_SIZE = CHECKSUM_AT + CHECKSUM_SIZE;
/** Scratch space of one call. */
const digest = new Uint8Array(32);

/**
 * The v1 protocol: a header with magic, message type, size and checksum, followed by the payload in plain text.
 * Writable from the start.
 */
export class V1Transport implements Transport {
  readonly protocol = 'v1';
  readonly sessionId = null;
  readonly writable = true;
  readonly #magic: Uint8Array;
  readonly #header = new ByteAccumulator();
  readonly #payload = new ByteAccumulator();
  /** Message type in the header of the current payload; null if invalid. */
  #type: string | null = null;
  /** The printable characters of the type where it is invalid, for the log. */
  #invalidType = '';
  readonly #checksum = new Uint8Array(CHECKSUM_SIZE);
  #inPayload = false;
  #failed = false;

  /** `magic` is the network magic, 4 bytes in wire order. */
  constructor(magic: Uint8Array) {
    this.#magic = magic;
    this.#header.expect(V1_HEADER_SIZE);
  }

  get held(): number {
    return this.#header.length + this.#payload.size;
  }

  start(): Uint8Array {
    return new Uint8Array(0);
  }

  receive(bytes: Uint8Array): TransportEvent[] {
    const events: TransportEvent[] = [];
    let at = 0;
    while (at < bytes.length && !this.#failed) {
      if (this.#inPayload) {
        at = this.#payload.append(bytes, at);
        if (this.#payload.isComplete) events.push(this.#finishMessage(this.#payload.bytes));
      } else if (this.#header.length === 0 && bytes.length - at >= V1_HEADER_SIZE) {
        // Usual case: the header is complete in the input. Copying it to the accumulator would dominate the cost of
        // small messages.
        const size = this.#readHeader(bytes, at, events);
        at += V1_HEADER_SIZE;
        if (this.#failed || size > bytes.length - at) continue;
        events.push(this.#finishMessage(bytes.slice(at, at + size)));
        at += size;
      } else {
        at = this.#header.append(bytes, at);
        if (!this.#header.isComplete) break;
        const size = this.#readHeader(this.#header.bytes, 0, events);
        this.#header.expect(V1_HEADER_SIZE);
        if (size === 0 && !this.#failed) events.push(this.#finishMessage(new Uint8Array(0)));
      }
    }
    return events;
  }

  encode(type: string, payload: Uint8Array): Uint8Array {
    assert(payload.length <= MAX_PAYLOAD, 'payload within the limit of the protocol');
    const out = new Uint8Array(V1_HEADER_SIZE + payload.length);
    out.set(this.#magic);
    writeType(type, out.subarray(MAGIC_SIZE));
    new DataView(out.buffer).setUint32(SIZE_AT, payload.length, true);
    out.set(hash256(payload).subarray(0, CHECKSUM_SIZE), CHECKSUM_AT);
    out.set(payload, V1_HEADER_SIZE);
    return out;
  }

  /** Parses a header and starts its payload; returns the payload size. */
  #readHeader(bytes: Uint8Array, at: number, events: TransportEvent[]): number {
    for (let i = 0; i < MAGIC_SIZE; i++)
      if (bytes[at + i] !== this.#magic[i])
        return this.#fail('wrong network magic', events, { magic: bytesToHex(bytes.subarray(at, at + MAGIC_SIZE)) });
    const sizeAt = at + SIZE_AT;
    this.#type = knownType(bytes, at + MAGIC_SIZE) ?? readType(bytes.subarray(at + MAGIC_SIZE, sizeAt), 0x7e);
    if (this.#type === null) this.#invalidType = printableType(bytes.subarray(at + MAGIC_SIZE, sizeAt));
    const size =
      (bytes[sizeAt]! | (bytes[sizeAt + 1]! << 8) | (bytes[sizeAt + 2]! << 16) | (bytes[sizeAt + 3]! << 24)) >>> 0;
    if (size > MAX_PAYLOAD)
      return this.#fail('message is too large', events, { type: this.#type ?? this.#invalidType, bytes: size });
    for (let i = 0; i < CHECKSUM_SIZE; i++) this.#checksum[i] = bytes[at + CHECKSUM_AT + i]!;
    this.#payload.expect(size);
    this.#inPayload = true;
    return size;
  }

  #fail(reason: string, events: TransportEvent[], facts: LogFields = {}): number {
    this.#failed = true;
    events.push({ kind: 'failed', reason, facts });
    return 0;
  }

  #finishMessage(payload: Uint8Array): TransportEvent {
    const type = this.#type;
    const wireSize = V1_HEADER_SIZE + payload.length;
    this.#payload.expect(0);
    this.#inPayload = false;
    hash256(payload, digest);
    for (let i = 0; i < CHECKSUM_SIZE; i++)
      if (digest[i] !== this.#checksum[i])
        return { kind: 'dropped', reason: 'wrong checksum', wireSize, facts: this.#checksumFacts(payload.length) };
    if (type === null)
      return {
        kind: 'dropped',
        reason: 'invalid message type',
        wireSize,
        facts: { type: this.#invalidType, bytes: payload.length },
      };
    return { kind: 'message', message: { type, payload, wireSize } };
  }

  /** Facts of a wrong checksum, for the log; `digest` begins with the right one. */
  #checksumFacts(bytes: number): LogFields {
    const expected = bytesToHex(digest.subarray(0, CHECKSUM_SIZE));
    return { type: this.#type ?? this.#invalidType, bytes, expected, received: bytesToHex(this.#checksum) };
  }
}

/** Known message types by their first four bytes, which distinguish most of them. */
const KNOWN_TYPES = new Map<number, { readonly name: string; readonly bytes: Uint8Array }[]>();
for (const name of Object.keys(MESSAGES)) {
  const bytes = new Uint8Array(TYPE_SIZE);
  writeType(name, bytes);
  const start = startOf(bytes, 0);
  KNOWN_TYPES.set(start, [...(KNOWN_TYPES.get(start) ?? []), { name, bytes }]);
}

function startOf(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
}

/** Returns the known message type at an offset without allocating a string, or null if it is unknown. */
function knownType(from: Uint8Array, at: number): string | null {
  for (const { name, bytes } of KNOWN_TYPES.get(startOf(from, at)) ?? []) {
    let i = 4;
    while (i < TYPE_SIZE && bytes[i] === from[at + i]) i++;
    if (i === TYPE_SIZE) return name;
  }
  return null;
}

/**
 * Returns the message type in 12 bytes: characters from space to `last`, padded with zeros. Returns null for any other
 * content.
 */
export function readType(bytes: Uint8Array, last: number): string | null {
  let type = '';
  for (let i = 0; i < TYPE_SIZE; i++) {
    const byte = bytes[i]!;
    if (byte === 0) {
      for (let rest = i; rest < TYPE_SIZE; rest++) if (bytes[rest] !== 0) return null;
      break;
    }
    if (byte < 0x20 || byte > last) return null;
    type += String.fromCharCode(byte);
  }
  return type;
}

function printableType(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) if (byte > 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
  return text;
}

/** Writes a message type into zeroed bytes. */
export function writeType(type: string, out: Uint8Array): void {
  assert(type.length <= TYPE_SIZE, 'name of a message fits 12 bytes');
  for (let i = 0; i < type.length; i++) out[i] = type.charCodeAt(i);
}
