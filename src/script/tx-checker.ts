import { hasPublicKeyShape } from '../crypto/curve.ts';
import { hash256, sha256 } from '../crypto/hash-functions.ts';
import type { SignatureEngine } from '../crypto/signature-engine.ts';
import { equalBytes } from '../util/bytes.ts';
import type { ScriptFlags } from './flags.ts';
import type { ScriptError } from './script-error.ts';
import { LOCKTIME_THRESHOLD } from './script-limits.ts';
import { legacyPreimage, SIGHASH_ONE } from './sighash-legacy.ts';
import { taprootSighash } from './sighash-taproot.ts';
import {
  SIGHASH_ANYONECANPAY,
  SIGHASH_DEFAULT,
  SIGHASH_NONE,
  SIGHASH_OUTPUT_BITS,
  SIGHASH_SINGLE,
} from './sighash-type.ts';
import { witnessV0Preimage } from './sighash-v0.ts';
import type { SignatureChecker, TaprootSpend } from './signature-checker.ts';
import type { TxContext } from './tx-context.ts';
import { verifyScript } from './verify.ts';

const SEQUENCE_FINAL = 0xffff_ffff;
/** BIP-68: this bit disables the relative lock. */
const SEQUENCE_LOCKTIME_DISABLE_FLAG = 0x8000_0000;
const SEQUENCE_LOCKTIME_TYPE_FLAG = 0x0040_0000;
const SEQUENCE_LOCKTIME_MASK = 0x0000_ffff;

/** Preimages above this size keep the state of the hash, so that another hash type does not hash them again, bytes. */
const KEEP_HASHER_ABOVE = 1024;

interface SighashEntry {
  readonly scriptCode: Uint8Array;
  readonly hasher: Bun.CryptoHasher | null;
  hashType: number;
  hash: Uint8Array;
}

/** Verifies the scripts of one input. Never throws on untrusted bytes. */
export function checkInput(
  context: TxContext,
  index: number,
  flags: ScriptFlags,
  engine: SignatureEngine,
): ScriptError {
  return verifyScript(
    context.scriptSigOf(index),
    context.spentScriptOf(index),
    context.witnessOf(index),
    flags,
    new TxChecker(context, index, engine),
  );
}

/** The checks of a script for one input of a transaction. */
export class TxChecker implements SignatureChecker {
  readonly #context: TxContext;
  readonly #index: number;
  readonly #engine: SignatureEngine;
  /** Cached hashes by the six combinations of outputs and ANYONECANPAY, which select the signed data. */
  #sighashes: (SighashEntry | undefined)[] | null = null;

  constructor(context: TxContext, index: number, engine: SignatureEngine) {
    this.#context = context;
    this.#index = index;
    this.#engine = engine;
  }

  checkEcdsa(
    signature: Uint8Array,
    publicKey: Uint8Array,
    scriptCode: Uint8Array,
    sigVersion: 'base' | 'witness_v0',
  ): boolean {
    const last = signature.length - 1;
    if (last < 0 || !hasPublicKeyShape(publicKey)) return false;
    const hash = this.#ecdsaSighash(scriptCode, signature[last]!, sigVersion);
    return this.#engine.verifyEcdsa(signature.subarray(0, last), hash, publicKey);
  }

  checkSchnorr(signature: Uint8Array, xOnlyKey: Uint8Array, spend: TaprootSpend): ScriptError {
    const { length } = signature;
    if (length !== 64 && length !== 65) return 'SCHNORR_SIG_SIZE';
    const hashType = length === 65 ? signature[64]! : SIGHASH_DEFAULT;
    // BIP-341: the default type must not be explicit, so that a signature has one encoding.
    if (length === 65 && hashType === SIGHASH_DEFAULT) return 'SCHNORR_SIG_HASHTYPE';
    const hash = taprootSighash(this.#context, this.#index, hashType, spend);
    if (hash === null) return 'SCHNORR_SIG_HASHTYPE';
    const plain = length === 65 ? signature.subarray(0, 64) : signature;
    return this.#engine.verifySchnorr(plain, hash, xOnlyKey) ? 'OK' : 'SCHNORR_SIG';
  }

  checkTapTweak(outputKey: Uint8Array, internalKey: Uint8Array, tweak: Uint8Array, parity: number): boolean {
    return this.#engine.checkTapTweak(outputKey, internalKey, tweak, parity);
  }

  checkLockTime(lockTime: number): boolean {
    const { locktime } = this.#context;
    // Heights compare with heights, times with times (BIP-65).
    if (locktime < LOCKTIME_THRESHOLD !== lockTime < LOCKTIME_THRESHOLD) return false;
    if (lockTime > locktime) return false;
    // A final sequence would disable the locktime of the transaction.
    return this.#context.sequenceOf(this.#index) !== SEQUENCE_FINAL;
  }

  checkSequence(sequence: number): boolean {
    const own = this.#context.sequenceOf(this.#index);
    if (this.#context.version < 2) return false;
    if (own & SEQUENCE_LOCKTIME_DISABLE_FLAG) return false;
    const mask = SEQUENCE_LOCKTIME_TYPE_FLAG | SEQUENCE_LOCKTIME_MASK;
    const ownMasked = own & mask;
    const masked = sequence & mask;
    if (ownMasked < SEQUENCE_LOCKTIME_TYPE_FLAG !== masked < SEQUENCE_LOCKTIME_TYPE_FLAG) return false;
    return masked <= ownMasked;
  }

  /** Cached by scriptCode alone: no input runs both kinds of script with signatures. */
  #ecdsaSighash(scriptCode: Uint8Array, hashType: number, sigVersion: 'base' | 'witness_v0'): Uint8Array {
    const slot = cacheSlot(hashType);
    const known = this.#sighashes?.[slot];
    if (known !== undefined && sameBytes(known.scriptCode, scriptCode)) {
      if (known.hashType === hashType) return known.hash;
      if (known.hasher !== null) {
        known.hash = finishHash(known.hasher.copy(), hashType);
        known.hashType = hashType;
        return known.hash;
      }
    }
    const preimage =
      sigVersion === 'base'
        ? legacyPreimage(this.#context, this.#index, scriptCode, hashType)
        : witnessV0Preimage(this.#context, this.#index, scriptCode, hashType);
    if (preimage === null) return SIGHASH_ONE;
    let hasher: Bun.CryptoHasher | null = null;
    let hash: Uint8Array;
    if (preimage.length > KEEP_HASHER_ABOVE) {
      hasher = new Bun.CryptoHasher('sha256');
      hasher.update(preimage.subarray(0, preimage.length - 4));
      hash = finishHash(hasher.copy(), hashType);
    } else hash = hash256(preimage);
    this.#sighashes ??= [];
    this.#sighashes[slot] = { scriptCode, hasher, hashType, hash };
    return hash;
  }
}

function cacheSlot(hashType: number): number {
  const outputType = hashType & SIGHASH_OUTPUT_BITS;
  const outputs = outputType === SIGHASH_SINGLE ? 2 : outputType === SIGHASH_NONE ? 1 : 0;
  return hashType & SIGHASH_ANYONECANPAY ? 3 + outputs : outputs;
}

function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a === b || equalBytes(a, b);
}

/** Scratch space of one call. */
const typeBytes = new Uint8Array(4);

function finishHash(hasher: Bun.CryptoHasher, hashType: number): Uint8Array {
  typeBytes[0] = hashType;
  hasher.update(typeBytes);
  return sha256(new Uint8Array(hasher.digest()));
}
