import { hash256 } from '../../crypto/hash.ts';
import { assert } from '../../util/assert.ts';
import { bytesToHex, equalBytes } from '../../util/bytes.ts';
import { Gather } from './gather.ts';
import { MAX_PAYLOAD, type NetMessage, type Transport, type TransportEvent, TYPE_SIZE } from './transport.ts';

const MAGIC_SIZE = 4;
const SIZE_AT = MAGIC_SIZE + TYPE_SIZE;
const CHECKSUM_AT = SIZE_AT + 4;
const CHECKSUM_SIZE = 4;
/** Magic, name, size of the payload and checksum. */
export const V1_HEADER_SIZE = CHECKSUM_AT + CHECKSUM_SIZE;

/** The plain framing: a header with magic, name, size and checksum, then the payload. Writable from the start. */
export class V1Transport implements Transport {
  readonly protocol = 'v1';
  readonly sessionId = null;
  readonly writable = true;
  readonly #magic: Uint8Array;
  readonly #header = new Gather();
  readonly #payload = new Gather();
  #inPayload = false;
  #failed = false;

  /** `magic` are the four bytes of the network, in wire order. */
  constructor(magic: Uint8Array) {
    this.#magic = magic;
    this.#header.expect(V1_HEADER_SIZE);
  }

  start(): Uint8Array {
    return new Uint8Array(0);
  }

  receive(bytes: Uint8Array): TransportEvent[] {
    const events: TransportEvent[] = [];
    let at = 0;
    while (at < bytes.length && !this.#failed) {
      at = (this.#inPayload ? this.#payload : this.#header).take(bytes, at);
      if (!this.#inPayload && this.#header.isComplete) {
        const reason = this.#startPayload();
        if (reason !== null) {
          this.#failed = true;
          events.push({ kind: 'failed', reason });
        }
      }
      // A payload of no bytes is complete at once.
      if (this.#inPayload && this.#payload.isComplete) events.push(this.#finishMessage());
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

  /** What is wrong with the header, or null. */
  #startPayload(): string | null {
    const header = this.#header.bytes;
    const magic = header.subarray(0, MAGIC_SIZE);
    if (!equalBytes(magic, this.#magic)) return `wrong network magic ${bytesToHex(magic)}`;
    const size = new DataView(header.buffer, header.byteOffset).getUint32(SIZE_AT, true);
    if (size > MAX_PAYLOAD) return `message of ${size} bytes is too large`;
    this.#payload.expect(size);
    this.#inPayload = true;
    return null;
  }

  #finishMessage(): TransportEvent {
    const header = this.#header.bytes;
    const payload = this.#payload.bytes;
    const wireSize = V1_HEADER_SIZE + payload.length;
    this.#header.expect(V1_HEADER_SIZE);
    this.#payload.expect(0);
    this.#inPayload = false;
    const checksum = hash256(payload).subarray(0, CHECKSUM_SIZE);
    if (!equalBytes(checksum, header.subarray(CHECKSUM_AT)))
      return { kind: 'dropped', reason: 'wrong checksum', wireSize };
    const type = readType(header.subarray(MAGIC_SIZE, SIZE_AT), 0x7e);
    if (type === null) return { kind: 'dropped', reason: 'invalid message type', wireSize };
    const message: NetMessage = { type, payload, wireSize };
    return { kind: 'message', message };
  }
}

/** The name within 12 bytes: printable up to `last`, then zeros only; null where it is not of that form. */
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

/** Writes the name into bytes that are zero. */
export function writeType(type: string, out: Uint8Array): void {
  assert(type.length <= TYPE_SIZE, 'name of a message fits 12 bytes');
  for (let i = 0; i < type.length; i++) out[i] = type.charCodeAt(i);
}
