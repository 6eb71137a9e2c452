import { ChaCha20 } from './chacha20.ts';
import { ChaCha20Poly1305 } from './chacha20-poly1305.ts';

const KEY_SIZE = 32;
/** First part of the nonce with which the next key is derived, in place of the packet counter. */
const REKEY_NONCE = 0xffff_ffff;

/** BIP-324's FSChaCha20: a stream cipher that rekeys from its own stream after every `rekeyInterval` chunks. */
export class FsChaCha20 {
  readonly #stream: ChaCha20;
  readonly #rekeyInterval: number;
  #chunks = 0;
  #rekeys = 0;

  constructor(key: Uint8Array, rekeyInterval: number) {
    this.#stream = new ChaCha20(key);
    this.#rekeyInterval = rekeyInterval;
  }

  /** Encrypts or decrypts one chunk into `out`. */
  crypt(chunk: Uint8Array, out: Uint8Array): void {
    this.#stream.crypt(chunk, out);
    if (++this.#chunks < this.#rekeyInterval) return;
    const key = new Uint8Array(KEY_SIZE);
    this.#stream.keyStream(key);
    this.#stream.setKey(key);
    this.#stream.seek(0, ++this.#rekeys, 0);
    this.#chunks = 0;
  }
}

/** BIP-324's FSChaCha20Poly1305: an AEAD for packets in order, which rekeys after every `rekeyInterval` of them. */
export class FsChaCha20Poly1305 {
  readonly #aead: ChaCha20Poly1305;
  readonly #rekeyInterval: number;
  #packets = 0;
  #rekeys = 0;

  constructor(key: Uint8Array, rekeyInterval: number) {
    this.#aead = new ChaCha20Poly1305(key);
    this.#rekeyInterval = rekeyInterval;
  }

  /** Encrypts `head` and `body` as one text into `out`, which has room for both and 16 more bytes. */
  encrypt(aad: Uint8Array, head: Uint8Array, body: Uint8Array, out: Uint8Array): void {
    this.#aead.encrypt(this.#packets, this.#rekeys, aad, head, body, out);
    this.#nextPacket();
  }

  /** Returns the decrypted packet, or null if it is not authentic. */
  decrypt(aad: Uint8Array, sealed: Uint8Array): Uint8Array | null {
    const text = this.#aead.decrypt(this.#packets, this.#rekeys, aad, sealed);
    this.#nextPacket();
    return text;
  }

  #nextPacket(): void {
    if (++this.#packets < this.#rekeyInterval) return;
    const key = new Uint8Array(KEY_SIZE);
    this.#aead.keyStream(REKEY_NONCE, this.#rekeys++, key);
    this.#aead.setKey(key);
    this.#packets = 0;
  }
}
