import type { Pointer } from 'bun:ffi';
import { hasPublicKeyShape, isHighS } from './curve.ts';
import { parseDerLax } from './der.ts';
import { ParsedKeyCache } from './parsed-key-cache.ts';
import type { SignatureEngine } from './signature-engine.ts';
import { NativeBytes, type SystemLibrary } from './system-library.ts';

const COMPRESSED_SIZE = 33;
const UNCOMPRESSED_SIZE = 65;

/** Keys that stay parsed, 2.2 MB in each thread that verifies. */
const CACHED_KEYS = 16_384;

/** Verification by the libsecp256k1 of the system. */
export class SystemEngine implements SignatureEngine {
  readonly name = 'system';
  readonly #functions: SystemLibrary['functions'];
  readonly #context: SystemLibrary['context'];
  readonly #uncompressed = new NativeBytes(UNCOMPRESSED_SIZE);
  readonly #outputKey = new NativeBytes(32);
  readonly #tweak = new NativeBytes(32);
  readonly #message = new NativeBytes(32);
  readonly #signature = new NativeBytes(64);
  /** The secp256k1_pubkey of an uncompressed key. */
  readonly #parsedKey = new NativeBytes(64);
  readonly #cache: ParsedKeyCache;
  /** A secp256k1_ecdsa_signature. */
  readonly #parsedSignature = new NativeBytes(64);

  /** `cachedKeys`: four times a power of two. */
  constructor({ functions, context }: SystemLibrary, cachedKeys = CACHED_KEYS) {
    this.#functions = functions;
    this.#context = context;
    this.#cache = new ParsedKeyCache(cachedKeys);
  }

  verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): boolean {
    const compact = this.#signature;
    if (!hasPublicKeyShape(publicKey) || !parseDerLax(signature, compact.bytes)) return false;
    const functions = this.#functions;
    const parsed = this.#parsedSignature.address;
    // Fails for an r or s of n or more.
    if (functions.secp256k1_ecdsa_signature_parse_compact(this.#context, parsed, compact.address) !== 1) return false;
    const key = this.#parseKey(publicKey);
    if (key === null) return false;
    // libsecp256k1 verifies low S only.
    if (isHighS(compact.bytes, 32)) functions.secp256k1_ecdsa_signature_normalize(this.#context, parsed, parsed);
    this.#message.copy(msg32);
    return functions.secp256k1_ecdsa_verify(this.#context, parsed, this.#message.address, key) === 1;
  }

  verifySchnorr(signature64: Uint8Array, msg32: Uint8Array, xOnlyKey32: Uint8Array): boolean {
    const key = this.#parseCached(xOnlyKey32, true);
    if (key === null) return false;
    this.#signature.copy(signature64);
    this.#message.copy(msg32);
    return (
      this.#functions.secp256k1_schnorrsig_verify(
        this.#context,
        this.#signature.address,
        this.#message.address,
        32,
        key,
      ) === 1
    );
  }

  checkTapTweak(outputKey32: Uint8Array, internalKey32: Uint8Array, tweak32: Uint8Array, parity: number): boolean {
    const internalKey = this.#parseCached(internalKey32, true);
    if (internalKey === null) return false;
    this.#outputKey.copy(outputKey32);
    this.#tweak.copy(tweak32);
    return (
      this.#functions.secp256k1_xonly_pubkey_tweak_add_check(
        this.#context,
        this.#outputKey.address,
        parity,
        internalKey,
        this.#tweak.address,
      ) === 1
    );
  }

  isValidPublicKey(publicKey: Uint8Array): boolean {
    return hasPublicKeyShape(publicKey) && this.#parseKey(publicKey) !== null;
  }

  /**
   * Returns the parsed form of a key of 33 or 65 bytes, which is valid until the next one is parsed; null if it is not on
   * the curve. C code aborts on an empty one.
   */
  #parseKey(publicKey: Uint8Array): Pointer | null {
    if (publicKey.length === COMPRESSED_SIZE) return this.#parseCached(publicKey, false);
    const parsed = this.#parsedKey.address;
    const key = this.#uncompressed;
    key.copy(publicKey);
    return this.#functions.secp256k1_ec_pubkey_parse(this.#context, parsed, key.address, UNCOMPRESSED_SIZE) === 1
      ? parsed
      : null;
  }

  /** As `#parseKey`, for a compressed key of 33 bytes or an X-only key of 32. */
  #parseCached(key: Uint8Array, isXOnly: boolean): Pointer | null {
    const cache = this.#cache;
    const input = isXOnly ? cache.loadXOnly(key) : cache.loadCompressed(key);
    const known = cache.findSlot();
    if (known >= 0) return cache.parsedAt(known);
    const slot = cache.evictSlot();
    const parsed = cache.parsedAt(slot);
    const functions = this.#functions;
    const success = isXOnly
      ? functions.secp256k1_xonly_pubkey_parse(this.#context, parsed, input)
      : functions.secp256k1_ec_pubkey_parse(this.#context, parsed, input, COMPRESSED_SIZE);
    if (success !== 1) return null;
    cache.fillSlot(slot);
    return parsed;
  }
}
