import { assert } from '../util/assert.ts';
import type { KeyOperations } from './key-operations.ts';
import { NativeBytes, type SystemLibrary } from './system-library.ts';

/** SECP256K1_EC_COMPRESSED and SECP256K1_EC_UNCOMPRESSED. */
const COMPRESSED = 258;
const UNCOMPRESSED = 2;

const SUCCESS = 0;
const FAILURE = 1;

/** Operations on keys by the libsecp256k1 of the system. Copies of secrets are overwritten before a call returns. */
export class SystemKeyOperations implements KeyOperations {
  readonly #functions: SystemLibrary['functions'];
  readonly #context: SystemLibrary['context'];
  readonly #secret = new NativeBytes(32);
  readonly #tweak = new NativeBytes(32);
  readonly #message = new NativeBytes(32);
  readonly #entropy = new NativeBytes(32);
  readonly #signature = new NativeBytes(64);
  readonly #compressed = new NativeBytes(33);
  readonly #uncompressed = new NativeBytes(65);
  /** A secp256k1_pubkey. */
  readonly #parsedKey = new NativeBytes(64);
  /** A secp256k1_ecdsa_recoverable_signature. */
  readonly #parsedSignature = new NativeBytes(65);
  /** A size_t and a C int. */
  readonly #length = new NativeBytes(8);
  readonly #recoveryId = new NativeBytes(4);

  constructor({ functions, context }: SystemLibrary) {
    this.#functions = functions;
    this.#context = context;
  }

  privateKeyNegate(secret32: Uint8Array): number {
    return this.#changeSecret(secret32, (secret) => this.#functions.secp256k1_ec_seckey_negate(this.#context, secret));
  }

  privateKeyTweakMul(secret32: Uint8Array, tweak32: Uint8Array): number {
    this.#tweak.copy(tweak32);
    return this.#changeSecret(secret32, (secret) =>
      this.#functions.secp256k1_ec_seckey_tweak_mul(this.#context, secret, this.#tweak.address),
    );
  }

  privateKeyTweakAdd(secret32: Uint8Array, tweak32: Uint8Array): number {
    this.#tweak.copy(tweak32);
    return this.#changeSecret(secret32, (secret) =>
      this.#functions.secp256k1_ec_seckey_tweak_add(this.#context, secret, this.#tweak.address),
    );
  }

  publicKeyCreate(out: Uint8Array, secret32: Uint8Array): number {
    this.#secret.copy(secret32);
    const { address } = this.#parsedKey;
    const made = this.#functions.secp256k1_ec_pubkey_create(this.#context, address, this.#secret.address) === 1;
    this.#secret.wipe();
    return made ? this.#serializeKey(out) : FAILURE;
  }

  publicKeyTweakAdd(out: Uint8Array, publicKey: Uint8Array, tweak32: Uint8Array): number {
    const functions = this.#functions;
    const key = this.#bufferOfKey(publicKey.length);
    const { address } = this.#parsedKey;
    key.copy(publicKey);
    if (functions.secp256k1_ec_pubkey_parse(this.#context, address, key.address, key.bytes.length) !== 1)
      return FAILURE;
    this.#tweak.copy(tweak32);
    const added = functions.secp256k1_ec_pubkey_tweak_add(this.#context, address, this.#tweak.address) === 1;
    this.#tweak.wipe();
    return added ? this.#serializeKey(out) : FAILURE;
  }

  ecdsaSign(
    out: { signature: Uint8Array; recid: number },
    msg32: Uint8Array,
    secret32: Uint8Array,
    entropy32?: Uint8Array,
  ): number {
    const functions = this.#functions;
    const parsed = this.#parsedSignature.address;
    this.#message.copy(msg32);
    if (entropy32) this.#entropy.copy(entropy32);
    const entropy = entropy32 ? this.#entropy.address : null;
    this.#secret.copy(secret32);
    // Without a nonce function the library uses that of RFC 6979.
    const signed =
      functions.secp256k1_ecdsa_sign_recoverable(
        this.#context,
        parsed,
        this.#message.address,
        this.#secret.address,
        null,
        entropy,
      ) === 1;
    this.#secret.wipe();
    if (!signed) return FAILURE;
    const { address } = this.#signature;
    functions.secp256k1_ecdsa_recoverable_signature_serialize_compact(
      this.#context,
      address,
      this.#recoveryId.address,
      parsed,
    );
    assert(out.signature.length === 64, '64 bytes for a signature');
    out.signature.set(this.#signature.bytes);
    out.recid = this.#recoveryId.bytes[0]!;
    return SUCCESS;
  }

  ecdsaRecover(out: Uint8Array, signature64: Uint8Array, recoveryId: number, msg32: Uint8Array): number {
    // C code aborts on any other number.
    assert(recoveryId >>> 0 === recoveryId && recoveryId <= 3, 'a recovery id from 0 to 3');
    const functions = this.#functions;
    const parsed = this.#parsedSignature.address;
    this.#signature.copy(signature64);
    this.#message.copy(msg32);
    const { address } = this.#signature;
    if (
      functions.secp256k1_ecdsa_recoverable_signature_parse_compact(this.#context, parsed, address, recoveryId) !== 1 ||
      functions.secp256k1_ecdsa_recover(this.#context, this.#parsedKey.address, parsed, this.#message.address) !== 1
    )
      return FAILURE;
    return this.#serializeKey(out);
  }

  /** Changes a secret in place, by way of memory that C code may write to. */
  #changeSecret(secret32: Uint8Array, change: (secret: NativeBytes['address']) => number): number {
    this.#secret.copy(secret32);
    const changed = change(this.#secret.address) === 1;
    if (changed) secret32.set(this.#secret.bytes);
    this.#secret.wipe();
    this.#tweak.wipe();
    return changed ? SUCCESS : FAILURE;
  }

  /** Writes the parsed key in the form that the length of `out` selects. */
  #serializeKey(out: Uint8Array): number {
    const key = this.#bufferOfKey(out.length);
    const length = this.#length;
    length.wipe();
    length.bytes[0] = key.bytes.length;
    const flags = key === this.#compressed ? COMPRESSED : UNCOMPRESSED;
    const { address } = this.#parsedKey;
    this.#functions.secp256k1_ec_pubkey_serialize(this.#context, key.address, length.address, address, flags);
    out.set(key.bytes);
    return SUCCESS;
  }

  #bufferOfKey(length: number): NativeBytes {
    assert(length === 33 || length === 65, 'a key of 33 or 65 bytes');
    return length === 33 ? this.#compressed : this.#uncompressed;
  }
}
