import { ellswiftSharedSecret } from '../../crypto/ellswift.ts';
import { FsChaCha20, FsChaCha20Poly1305 } from '../../crypto/fs-chacha20.ts';
import { hkdfSha256 } from '../../crypto/hkdf.ts';
import { concatBytes } from '../../util/bytes.ts';

/** Number of packets after which the ciphers rekey (BIP-324). */
const REKEY_INTERVAL = 224;
const IGNORE_BIT = 0x80;
const HEADER_SIZE = 1;
const TAG_SIZE = 16;

export const LENGTH_SIZE = 3;
/** Bytes of a packet beyond its contents: encrypted length, header and tag. */
export const PACKET_EXPANSION = LENGTH_SIZE + HEADER_SIZE + TAG_SIZE;
export const GARBAGE_TERMINATOR_SIZE = 16;

export interface Packet {
  readonly contents: Uint8Array;
  /** Whether the packet is a decoy: authenticated, and to be discarded. */
  readonly ignore: boolean;
}

/** The keys and ciphers that both sides derive from the ElligatorSwift key exchange (BIP-324). */
export class Bip324Cipher {
  readonly sessionId: Uint8Array;
  readonly sendTerminator: Uint8Array;
  readonly receiveTerminator: Uint8Array;
  readonly #sendLength: FsChaCha20;
  readonly #sendPacket: FsChaCha20Poly1305;
  readonly #receiveLength: FsChaCha20;
  readonly #receivePacket: FsChaCha20Poly1305;

  /**
   * `ours` and `theirs` are the ElligatorSwift-encoded public keys as sent; `magic` is the network magic, 4 bytes in
   * wire order.
   */
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

  /** Returns an encrypted packet with the contents `head` followed by `body`. */
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

  /** Returns the length of the contents of the next packet, in bytes. */
  decryptLength(bytes: Uint8Array): number {
    const plain = new Uint8Array(LENGTH_SIZE);
    this.#receiveLength.crypt(bytes, plain);
    return plain[0]! | (plain[1]! << 8) | (plain[2]! << 16);
  }

  /** Decrypts a packet without its length field; returns null if authentication fails. */
  decrypt(sealed: Uint8Array, aad: Uint8Array): Packet | null {
    const plain = this.#receivePacket.decrypt(aad, sealed);
    if (plain === null) return null;
    return { contents: plain.subarray(HEADER_SIZE), ignore: (plain[0]! & IGNORE_BIT) !== 0 };
  }
}
