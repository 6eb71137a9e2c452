import { ELLSWIFT_SIZE, ellswiftCreate, type RandomBytes } from '../../crypto/ellswift.ts';
import { randomSecret } from '../../crypto/keys.ts';
import { assert } from '../../util/assert.ts';
import { bytesToHex, concatBytes, equalBytes } from '../../util/bytes.ts';
import type { LogFields } from '../../util/log-levels.ts';
import { Bip324Cipher, GARBAGE_TERMINATOR_SIZE, LENGTH_SIZE, PACKET_EXPANSION } from './bip324-cipher.ts';
import { ByteAccumulator } from './byte-accumulator.ts';
import { shortIdOf, typeOfShortId } from './short-ids.ts';
import { MAX_PAYLOAD, type Protocol, type Transport, type TransportEvent, TYPE_SIZE } from './transport.ts';
import { readType, V1_HEADER_SIZE, V1Transport, writeType } from './v1-transport.ts';

const MAX_GARBAGE = 4095;
/** Maximum contents of a packet: a zero byte, the full message type and the payload. */
const MAX_CONTENTS = 1 + TYPE_SIZE + MAX_PAYLOAD;
/** Message type of a v1 peer's first message, which follows the network magic. */
const V1_VERSION = new TextEncoder().encode('version\0\0\0\0\0');
const MAGIC_SIZE = 4;
const V1_PREFIX_SIZE = MAGIC_SIZE + TYPE_SIZE;
const NOTHING = new Uint8Array(0);

type ReceiveState = 'key-or-v1' | 'key' | 'garbage' | 'version' | 'application' | 'v1';

export interface V2Options {
  /** Whether we opened the connection. */
  readonly initiating: boolean;
  /** Network magic, 4 bytes in wire order. */
  readonly magic: Uint8Array;
  /** Private key for this connection only; random if absent. */
  readonly secret?: Uint8Array;
  /** Source of randomness for the ElligatorSwift encoding. */
  readonly random?: RandomBytes;
  /** Garbage of at most 4,095 bytes; random content of random length if absent. */
  readonly garbage?: Uint8Array;
}

/**
 * The v2 protocol (BIP-324). A responder falls back to v1 if the peer's first bytes are a v1 `version` message. An
 * initiator whose peer disconnects at once learns from `shouldReconnectV1` whether to retry with v1.
 */
export class V2Transport implements Transport {
  readonly #initiating: boolean;
  readonly #magic: Uint8Array;
  readonly #secret: Uint8Array;
  readonly #random: RandomBytes | undefined;
  #encodedKey: Uint8Array | null = null;
  readonly #v1: V1Transport;
  readonly #gather = new ByteAccumulator();
  #garbage: Uint8Array;
  #cipher: Bip324Cipher | null = null;
  #state: ReceiveState;
  #failed = false;
  /** Associated data of the next packet: the peer's garbage for its first packet, empty afterwards. */
  #aad = NOTHING;
  /** Contents length of the packet that is being received, bytes; -1 until its length field is complete. */
  #contentsSize = -1;

  constructor({ initiating, magic, secret = randomSecret(), random, garbage = randomGarbage() }: V2Options) {
    assert(garbage.length <= MAX_GARBAGE, 'at most 4095 bytes of garbage');
    this.#initiating = initiating;
    this.#magic = magic;
    this.#secret = secret;
    this.#random = random;
    this.#garbage = garbage;
    this.#v1 = new V1Transport(magic);
    this.#state = initiating ? 'key' : 'key-or-v1';
    this.#gather.expect(initiating ? ELLSWIFT_SIZE : V1_PREFIX_SIZE);
  }

  get protocol(): Protocol {
    return this.#state === 'v1' ? 'v1' : this.#state === 'application' ? 'v2' : 'detecting';
  }

  get sessionId(): Uint8Array | null {
    return this.#state === 'application' ? this.#cipher!.sessionId : null;
  }

  get writable(): boolean {
    return this.#state === 'v1' || this.#cipher !== null;
  }

  get held(): number {
    return this.#gather.size + this.#v1.held;
  }

  /**
   * Returns whether the peer seems to support v1 only: it disconnected without sending anything, after `bytesSent` of
   * ours that a v1 peer reads as a header.
   */
  shouldReconnectV1(bytesSent: number): boolean {
    return this.#initiating && this.#state === 'key' && this.#gather.length === 0 && bytesSent >= V1_HEADER_SIZE;
  }

  start(): Uint8Array {
    return this.#initiating ? concatBytes(this.#publicKey, this.#garbage) : NOTHING;
  }

  receive(bytes: Uint8Array): TransportEvent[] {
    const events: TransportEvent[] = [];
    let at = 0;
    while (at < bytes.length && !this.#failed) {
      if (this.#state === 'v1') {
        for (const event of this.#v1.receive(at === 0 ? bytes : bytes.subarray(at))) events.push(event);
        break;
      }
      if (this.#state === 'garbage') at = this.#receiveGarbage(bytes, at, events);
      else {
        at = this.#gather.append(bytes, at);
        this.#progress(events);
      }
    }
    return events;
  }

  encode(type: string, payload: Uint8Array): Uint8Array {
    if (this.#state === 'v1') return this.#v1.encode(type, payload);
    assert(this.#cipher !== null, 'keys are exchanged before messages');
    assert(payload.length <= MAX_PAYLOAD, 'payload within the limit of the protocol');
    const id = shortIdOf(type);
    const head = new Uint8Array(id === null ? 1 + TYPE_SIZE : 1);
    if (id === null) writeType(type, head.subarray(1));
    else head[0] = id;
    return this.#cipher.encrypt(head, payload, NOTHING);
  }

  /** Returns a decoy packet with the given contents, which the peer discards. */
  encodeDecoy(contents: Uint8Array): Uint8Array {
    assert(this.#cipher !== null, 'keys are exchanged before decoys');
    return this.#cipher.encrypt(contents, NOTHING, NOTHING, true);
  }

  /** Encoded on first use: it takes a millisecond, and an inbound peer may send nothing or speak v1. */
  get #publicKey(): Uint8Array {
    return (this.#encodedKey ??= ellswiftCreate(this.#secret, this.#random));
  }

  #progress(events: TransportEvent[]): void {
    if (this.#state === 'key-or-v1') this.#detect(events);
    else if (this.#state === 'key') this.#receiveKey(events);
    else this.#receivePacket(events);
  }

  #fail(events: TransportEvent[], reason: string, facts: LogFields = {}): void {
    this.#failed = true;
    this.#gather.expect(0);
    events.push({ kind: 'failed', reason, facts });
  }

  #detect(events: TransportEvent[]): void {
    const { bytes } = this.#gather;
    const v1 = concatBytes(this.#magic, V1_VERSION);
    if (equalBytes(bytes, v1.subarray(0, bytes.length))) {
      if (bytes.length < V1_PREFIX_SIZE) return;
      this.#state = 'v1';
      this.#garbage = NOTHING;
      events.push({ kind: 'writable' });
      for (const event of this.#v1.receive(bytes)) events.push(event);
      return;
    }
    this.#state = 'key';
    this.#gather.extend(ELLSWIFT_SIZE);
    events.push({ kind: 'send', bytes: concatBytes(this.#publicKey, this.#garbage) });
    // The input may have ended with this prefix, so the key is checked at once.
    this.#receiveKey(events);
  }

  #receiveKey(events: TransportEvent[]): void {
    const { bytes } = this.#gather;
    // A v1 peer of another network would disconnect anyway; failing here reports the reason.
    if (!this.#initiating && equalBytes(bytes.subarray(MAGIC_SIZE, V1_PREFIX_SIZE), V1_VERSION)) {
      this.#fail(events, 'v1 peer with wrong network magic', { magic: bytesToHex(bytes.subarray(0, MAGIC_SIZE)) });
      return;
    }
    if (!this.#gather.isComplete) return;
    const cipher = new Bip324Cipher(this.#secret, this.#publicKey, bytes, this.#initiating, this.#magic);
    this.#cipher = cipher;
    // The version packet has no contents, since BIP-324 defines no extensions. It authenticates our garbage.
    const version = cipher.encrypt(NOTHING, NOTHING, this.#garbage);
    events.push({ kind: 'send', bytes: concatBytes(cipher.sendTerminator, version) }, { kind: 'writable' });
    this.#garbage = NOTHING;
    this.#state = 'garbage';
    this.#gather.expect(MAX_GARBAGE + GARBAGE_TERMINATOR_SIZE);
  }

  /** Reads byte by byte, since the garbage terminator may end at any byte. */
  #receiveGarbage(bytes: Uint8Array, start: number, events: TransportEvent[]): number {
    const terminator = this.#cipher!.receiveTerminator;
    for (let at = start; at < bytes.length; ) {
      const last = bytes[at];
      this.#gather.append(bytes.subarray(at, at + 1), 0);
      at++;
      const { length } = this.#gather;
      if (last === terminator.at(-1) && length >= GARBAGE_TERMINATOR_SIZE) {
        const received = this.#gather.bytes;
        if (equalBytes(received.subarray(-GARBAGE_TERMINATOR_SIZE), terminator)) {
          this.#aad = received.slice(0, -GARBAGE_TERMINATOR_SIZE);
          this.#state = 'version';
          this.#expectPacket();
          return at;
        }
      }
      if (this.#gather.isComplete) {
        this.#fail(events, 'no garbage terminator');
        return at;
      }
    }
    return bytes.length;
  }

  #expectPacket(): void {
    this.#contentsSize = -1;
    this.#gather.expect(LENGTH_SIZE);
  }

  #receivePacket(events: TransportEvent[]): void {
    if (!this.#gather.isComplete) return;
    if (this.#contentsSize < 0) {
      this.#contentsSize = this.#cipher!.decryptLength(this.#gather.bytes);
      if (this.#contentsSize > MAX_CONTENTS) {
        this.#fail(events, 'packet is too large', { bytes: this.#contentsSize });
        return;
      }
      this.#gather.expect(this.#contentsSize + PACKET_EXPANSION - LENGTH_SIZE);
      return;
    }
    const packet = this.#cipher!.decrypt(this.#gather.bytes, this.#aad);
    if (packet === null) {
      this.#fail(events, 'packet is not authentic', { bytes: this.#contentsSize });
      return;
    }
    this.#aad = NOTHING;
    this.#expectPacket();
    if (packet.ignore) return;
    // The contents of the version packet are reserved for extensions and ignored.
    if (this.#state === 'version') this.#state = 'application';
    else events.push(messageEvent(packet.contents));
  }
}

function messageEvent(contents: Uint8Array): TransportEvent {
  const wireSize = contents.length + PACKET_EXPANSION;
  const id = contents[0];
  if (id === undefined)
    return { kind: 'dropped', reason: 'packet without a message type', wireSize, facts: { bytes: contents.length } };
  if (id !== 0) {
    const type = typeOfShortId(id);
    if (type === null)
      return { kind: 'dropped', reason: 'unknown short message type', wireSize, facts: { id, bytes: contents.length } };
    return { kind: 'message', message: { type, payload: contents.subarray(1), wireSize } };
  }
  const type = contents.length > TYPE_SIZE ? readType(contents.subarray(1, 1 + TYPE_SIZE), 0x7f) : null;
  if (type === null)
    return { kind: 'dropped', reason: 'invalid message type', wireSize, facts: { bytes: contents.length } };
  return { kind: 'message', message: { type, payload: contents.subarray(1 + TYPE_SIZE), wireSize } };
}

function randomGarbage(): Uint8Array {
  // 65,536 is a multiple of 4,096, so all lengths from 0 to 4,095 are equally likely.
  const length = crypto.getRandomValues(new Uint16Array(1))[0]! % (MAX_GARBAGE + 1);
  return crypto.getRandomValues(new Uint8Array(length));
}
