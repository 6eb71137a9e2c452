import { inspect } from 'node:util';
import { hash160 } from '../../crypto/hash-functions.ts';
import { isValidSecret, publicKeyOf } from '../../crypto/keys.ts';
import { decodeWif, encodeWif } from '../../script/wif.ts';
import { assert } from '../../util/assert.ts';
import { secretCopy } from '../../util/secret-bytes.ts';

/**
 * A secret key that no log, error or JSON shows. It has an owner, who wipes it: `using` does that where a key is needed for a
 * while only.
 */
export class PrivateKey implements Disposable {
  readonly #secret: Uint8Array;
  #publicKey: Uint8Array | null = null;
  /** Whether its public key is written with 33 bytes. */
  readonly compressed: boolean;

  /** Takes a copy of 32 bytes. Throws on an invalid secret. */
  constructor(secret: Uint8Array, compressed = true) {
    assert(isValidSecret(secret), 'valid secret key');
    this.#secret = secretCopy(secret);
    this.compressed = compressed;
  }

  /** Null for anything but a valid key of the network with that version byte. */
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

  /** Another with the same secret, which its owner wipes on its own. */
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

  /** The 32 bytes themselves, not to be written to. For signing and for storing. */
  reveal(): Uint8Array {
    return this.#secret;
  }

  /** The text that wallets import. */
  revealWif(prefix: number): string {
    return encodeWif({ secret: this.#secret, compressed: this.compressed }, prefix);
  }

  /** Overwrites the secret; the key is of no use after. */
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
