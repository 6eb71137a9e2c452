import { ellswiftSharedSecret } from '../../crypto/ellswift.ts';
import { FsChaCha20, FsChaCha20Poly1305 } from '../../crypto/fs-chacha20.ts';
import { hkdfSha256 } from '../../crypto/hkdf.ts';
import { concatBytes } from '../../util/bytes.ts';

/** Packets and lengths after which the ciphers take another key. */
const REKEY_INTERVAL = 224;
const IGNORE_BIT = 0x80;
const HEADER_SIZE = 1;
const TAG_SIZE = 16;

export const LENGTH_SIZE = 3;
/** What a packet is longer than its contents: encrypted length, header and tag. */
export const PACKET_EXPANSION = LENGTH_SIZE + HEADER_SIZE + TAG_SIZE;
export const GARBAGE_TERMINATOR_SIZE = 16;

export interface Packet {
  readonly contents: Uint8Array;
  /** A decoy: authentic, and to be forgotten. */
  readonly ignore: boolean;
}

/** What both sides derive from their keys (BIP-324), and the ciphers that run on it. */
export class Bip324Cipher {
  readonly sessionId: Uint8Array;
  readonly sendTerminator: Uint8Array;
  readonly receiveTerminator: Uint8Array;
  readonly #sendLength: FsChaCha20;
  readonly #sendPacket: FsChaCha20Poly1305;
  readonly #receiveLength: FsChaCha20;
  readonly #receivePacket: FsChaCha20Poly1305;

  /** `ours` and `theirs` are the encoded keys as they were sent; `magic` are the network's four bytes in wire order. */
  constructor(secret: Uint8Array, ours: Uint8Array, theirs: Uint8Array, initiating: boolean, magic: Uint8Array) {
    const salt = concatBytes(new TextEncoder().encode('bitcoin_v2_shared_secret'), magic);
    const derive = hkdfSha256(ellswiftSharedSecret(secret, ours, theirs, initiating), salt);
    const [us, them] = initiating ? ['initiator', 'responder'] : ['responder', 'initiator'];
    this.#sendLength = new FsChaCha20(derive(`${us}_L`), REKEY_INTERVAL);
    this.#sendPacket = new FsChaCha20Poly1305(derive(`${us}_P`), REKEY_INTERVAL);
    this.#receiveLength = new FsChaCha20(derive(`${them}_L`), REKEY_INTERVAL);
    this.#receivePacket = new FsChaCha20Poly1305(derive(`${them}_P`), REKEY_INTERVAL);
    const terminators = derive('garbage_terminators');
    const initiators = terminators.subarray(0, GARBAGE_TERMINATOR_SIZE);
    const responders = terminators.subarray(-GARBAGE_TERMINATOR_SIZE);
    this.sendTerminator = initiating ? initiators : responders;
    this.receiveTerminator = initiating ? responders : initiators;
    this.sessionId = derive('session_id');
  }

  /** A packet whose contents are `head` and then `body`. */
  encrypt(head: Uint8Array, body: Uint8Array, aad: Uint8Array, ignore = false): Uint8Array {
    const size = head.length + body.length;
    const out = new Uint8Array(size + PACKET_EXPANSION);
    this.#sendLength.crypt(Uint8Array.of(size & 0xff, (size >> 8) & 0xff, size >> 16), out);
    const header = new Uint8Array(HEADER_SIZE + head.length);
    header[0] = ignore ? IGNORE_BIT : 0;
    header.set(head, HEADER_SIZE);
    this.#sendPacket.encrypt(aad, header, body, out.subarray(LENGTH_SIZE));
    return out;
  }

  /** The size of the contents that follow. */
  decryptLength(bytes: Uint8Array): number {
    const plain = new Uint8Array(LENGTH_SIZE);
    this.#receiveLength.crypt(bytes, plain);
    return plain[0]! | (plain[1]! << 8) | (plain[2]! << 16);
  }

  /** Opens a packet without its length; null where it is not authentic. */
  decrypt(sealed: Uint8Array, aad: Uint8Array): Packet | null {
    const plain = this.#receivePacket.decrypt(aad, sealed);
    if (plain === null) return null;
    return { contents: plain.subarray(HEADER_SIZE), ignore: (plain[0]! & IGNORE_BIT) !== 0 };
  }
}
