import { inspect } from 'node:util';
import { hash160 } from '../../crypto/hash-functions.ts';
import { isValidSecret, publicKeyOf } from '../../crypto/keys.ts';
import { decodeWif, encodeWif } from '../../script/wif.ts';
import { assert } from '../../util/assert.ts';
import { secretCopy } from '../../util/secret-bytes.ts';

/** A secret key, which is never in a log, error or JSON. Its owner wipes it, with `using` if it is needed briefly. */
export class PrivateKey implements Disposable {
  readonly #secret: Uint8Array;
  #publicKey: Uint8Array | null = null;
  /** Whether its public key is written with 33 bytes. */
  readonly compressed: boolean;

  /** Copies 32 bytes. Throws for an invalid secret. */
  constructor(secret: Uint8Array, compressed = true) {
    assert(isValidSecret(secret), 'valid secret key');
    this.#secret = secretCopy(secret);
    this.compressed = compressed;
  }

  /** Returns null for anything but a valid key of the network with that version byte. */
  static fromWif(text: string, prefix: number): PrivateKey | null {
    const decoded = decodeWif(text, prefix);
    return decoded && PrivateKey.fromOwnedSecret(decoded.secret, decoded.compressed);
  }

  /** Creates a key from bytes that are wiped, whether they are a valid secret or not. */
  static fromOwnedSecret(secret: Uint8Array, compressed = true): PrivateKey {
    try {
      return new PrivateKey(secret, compressed);
    } finally {
      secret.fill(0);
    }
  }

  /** Returns a copy, which has its own owner. */
  copy(): PrivateKey {
    const copy = new PrivateKey(this.#secret, this.compressed);
    copy.#publicKey = this.#publicKey;
    return copy;
  }

  get publicKey(): Uint8Array {
    this.#publicKey ??= publicKeyOf(this.#secret, this.compressed);
    return this.#publicKey;
  }

  /** HASH160 of the public key. */
  get id(): Uint8Array {
    return hash160(this.publicKey);
  }

  /** Returns the 32 bytes for signing and storage. The caller must not change them. */
  reveal(): Uint8Array {
    return this.#secret;
  }

  /** Returns the WIF text. */
  revealWif(prefix: number): string {
    return encodeWif({ secret: this.#secret, compressed: this.compressed }, prefix);
  }

  /** Overwrites the secret. The key cannot be used afterwards. */
  wipe(): void {
    this.#secret.fill(0);
  }

  [Symbol.dispose](): void {
    this.wipe();
  }

  toString(): string {
    return '[private key]';
  }

  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}
