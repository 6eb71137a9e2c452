import { hasPublicKeyShape, isHighS } from './curve.ts';
import { parseDerLax } from './der.ts';
import type { SignatureEngine } from './signature-engine.ts';
import { NativeBytes, type SystemLibrary } from './system-library.ts';

const COMPRESSED_SIZE = 33;
const UNCOMPRESSED_SIZE = 65;

/** Verification by the libsecp256k1 of the system. */
export class SystemEngine implements SignatureEngine {
  readonly name = 'system';
  readonly #functions: SystemLibrary['functions'];
  readonly #context: SystemLibrary['context'];
  readonly #compressed = new NativeBytes(COMPRESSED_SIZE);
  readonly #uncompressed = new NativeBytes(UNCOMPRESSED_SIZE);
  readonly #xOnly = new NativeBytes(32);
  readonly #outputKey = new NativeBytes(32);
  readonly #tweak = new NativeBytes(32);
  readonly #message = new NativeBytes(32);
  readonly #signature = new NativeBytes(64);
  /** A secp256k1_pubkey or secp256k1_xonly_pubkey. */
  readonly #parsedKey = new NativeBytes(64);
  /** A secp256k1_ecdsa_signature. */
  readonly #parsedSignature = new NativeBytes(64);

  constructor({ functions, context }: SystemLibrary) {
    this.#functions = functions;
    this.#context = context;
  }

  verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): boolean {
    const compact = this.#signature;
    if (!hasPublicKeyShape(publicKey) || !parseDerLax(signature, compact.bytes)) return false;
    const functions = this.#functions;
    const parsed = this.#parsedSignature.address;
    // Fails for an r or s of n or more.
    if (functions.secp256k1_ecdsa_signature_parse_compact(this.#context, parsed, compact.address) !== 1) return false;
    if (!this.#parseKey(publicKey)) return false;
    // libsecp256k1 verifies low S only.
    if (isHighS(compact.bytes, 32)) functions.secp256k1_ecdsa_signature_normalize(this.#context, parsed, parsed);
    this.#message.copy(msg32);
    return (
      functions.secp256k1_ecdsa_verify(this.#context, parsed, this.#message.address, this.#parsedKey.address) === 1
    );
  }

  verifySchnorr(signature64: Uint8Array, msg32: Uint8Array, xOnlyKey32: Uint8Array): boolean {
    if (!this.#parseXOnly(xOnlyKey32)) return false;
    this.#signature.copy(signature64);
    this.#message.copy(msg32);
    return (
      this.#functions.secp256k1_schnorrsig_verify(
        this.#context,
        this.#signature.address,
        this.#message.address,
        32,
        this.#parsedKey.address,
      ) === 1
    );
  }

  checkTapTweak(outputKey32: Uint8Array, internalKey32: Uint8Array, tweak32: Uint8Array, parity: number): boolean {
    if (!this.#parseXOnly(internalKey32)) return false;
    this.#outputKey.copy(outputKey32);
    this.#tweak.copy(tweak32);
    return (
      this.#functions.secp256k1_xonly_pubkey_tweak_add_check(
        this.#context,
        this.#outputKey.address,
        parity,
        this.#parsedKey.address,
        this.#tweak.address,
      ) === 1
    );
  }

  isValidPublicKey(publicKey: Uint8Array): boolean {
    return hasPublicKeyShape(publicKey) && this.#parseKey(publicKey);
  }

  /** Parses a key of 33 or 65 bytes. Only after a success may the result be used: C code aborts on an empty one. */
  #parseKey(publicKey: Uint8Array): boolean {
    const key = publicKey.length === COMPRESSED_SIZE ? this.#compressed : this.#uncompressed;
    key.copy(publicKey);
    const { length } = key.bytes;
    return this.#functions.secp256k1_ec_pubkey_parse(this.#context, this.#parsedKey.address, key.address, length) === 1;
  }

  #parseXOnly(xOnlyKey32: Uint8Array): boolean {
    this.#xOnly.copy(xOnlyKey32);
    return (
      this.#functions.secp256k1_xonly_pubkey_parse(this.#context, this.#parsedKey.address, this.#xOnly.address) === 1
    );
  }
}
