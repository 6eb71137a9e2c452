import { secretBytes } from '../util/secret-bytes.ts';
import { ChaCha20 } from './chacha20.ts';
import { Poly1305 } from './poly1305.ts';

/** Size of the authentication tag, bytes. */
export const TAG_SIZE = 16;

/**
 * AEAD_CHACHA20_POLY1305 of RFC 8439, which neither `node:crypto` nor WebCrypto of the runtime offers. The nonce is a
 * 32-bit number and one below 2^53, as in `ChaCha20`.
 */
export class ChaCha20Poly1305 {
  readonly #stream: ChaCha20;
  readonly #polyKey = secretBytes(32);

  constructor(key: Uint8Array) {
    this.#stream = new ChaCha20(key);
  }

  setKey(key: Uint8Array): void {
    this.#stream.setKey(key);
  }

  /** Overwrites the key and all derived state; the object cannot be used afterwards. */
  wipe(): void {
    this.#stream.wipe();
    this.#polyKey.fill(0);
  }

  /** Encrypts `head` and `body` as one text into `out`, which has room for both and `TAG_SIZE` more bytes. */
  encrypt(first: number, second: number, aad: Uint8Array, head: Uint8Array, body: Uint8Array, out: Uint8Array): void {
    const size = head.length + body.length;
    this.#stream.seek(first, second, 1);
    this.#stream.crypt(head, out);
    this.#stream.crypt(body, out.subarray(head.length));
    this.#tag(first, second, aad, out.subarray(0, size), out.subarray(size, size + TAG_SIZE));
  }

  /** Returns the decrypted text of `sealed` (ciphertext and tag), or null if the tag does not match it and `aad`. */
  decrypt(first: number, second: number, aad: Uint8Array, sealed: Uint8Array): Uint8Array | null {
    const size = sealed.length - TAG_SIZE;
    if (size < 0) return null;
    const tag = new Uint8Array(TAG_SIZE);
    this.#tag(first, second, aad, sealed.subarray(0, size), tag);
    let difference = 0;
    for (let i = 0; i < TAG_SIZE; i++) difference |= tag[i]! ^ sealed[size + i]!;
    if (difference !== 0) return null;
    const text = secretBytes(size);
    this.#stream.seek(first, second, 1);
    this.#stream.crypt(sealed.subarray(0, size), text);
    return text;
  }

  /** Writes the key stream from block 1 on, where the encryption of a text begins. */
  keyStream(first: number, second: number, out: Uint8Array): void {
    this.#stream.seek(first, second, 1);
    this.#stream.keyStream(out);
  }

  #tag(first: number, second: number, aad: Uint8Array, cipherText: Uint8Array, out: Uint8Array): void {
    this.#stream.seek(first, second, 0);
    this.#stream.keyStream(this.#polyKey);
    const poly = new Poly1305(this.#polyKey);
    poly.update(aad);
    poly.pad();
    poly.update(cipherText);
    poly.pad();
    const lengths = new DataView(new ArrayBuffer(16));
    lengths.setBigUint64(0, BigInt(aad.length), true);
    lengths.setBigUint64(8, BigInt(cipherText.length), true);
    poly.update(new Uint8Array(lengths.buffer));
    poly.finish(out);
  }
}
