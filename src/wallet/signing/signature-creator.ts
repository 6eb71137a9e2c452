import { tapTweakSecret } from '../../crypto/keys.ts';
import { signatureEngine } from '../../crypto/secp256k1.ts';
import { signEcdsaLowR } from '../../crypto/sign-low-r.ts';
import { signSchnorr } from '../../crypto/sign-schnorr.ts';
import { isMoneyRange } from '../../primitives/amount.ts';
import type { DecodedTxContext } from '../../script/decoded-tx-context.ts';
import { legacySighash } from '../../script/sighash-legacy.ts';
import { taprootSighash } from '../../script/sighash-taproot.ts';
import { SIGHASH_ALL, SIGHASH_DEFAULT, SIGHASH_OUTPUT_BITS, SIGHASH_SINGLE } from '../../script/sighash-type.ts';
import { witnessV0Sighash } from '../../script/sighash-v0.ts';
import { newTaprootSpend, type SignatureChecker } from '../../script/signature-checker.ts';
import { tapTweakHash } from '../../script/taproot.ts';
import { TxChecker } from '../../script/tx-checker.ts';
import { concatBytes } from '../../util/bytes.ts';
import { privateKeyOfXOnly, type SigningProvider } from '../keys/signing-data.ts';

/** Spending path of a taproot signature. */
export type TaprootPath =
  /** The key itself, or the key tweaked with its script tree (null: no tree). */
  | { readonly kind: 'key'; readonly tweak: { readonly merkleRoot: Uint8Array | null } | null }
  | { readonly kind: 'script'; readonly leafHash: Uint8Array };

/** Creates and verifies signatures for one input. */
export interface SignatureCreator {
  readonly checker: SignatureChecker;
  /** Returns a signature with its hash type; null if the provider lacks the key or nothing may be signed. */
  ecdsa(
    provider: SigningProvider,
    keyId: Uint8Array,
    scriptCode: Uint8Array,
    sigVersion: 'base' | 'witness_v0',
  ): Uint8Array | null;
  schnorr(provider: SigningProvider, xOnlyKey: Uint8Array, path: TaprootPath): Uint8Array | null;
  /**
   * Returns the hash that a taproot signature on the key path (null) or in a leaf signs; null where it must not be
   * signed.
   */
  taprootSighash(leafHash: Uint8Array | null): Uint8Array | null;
  /** Appends the hash type to a taproot signature of 64 bytes, if the witness needs it. */
  withHashType(signature64: Uint8Array): Uint8Array;
}

/** Auxiliary randomness of BIP-340: none, as in Core, so that signing is deterministic. */
const NO_AUX = new Uint8Array(32);

export interface SigningInput {
  readonly context: DecodedTxContext;
  readonly index: number;
  /** `SIGHASH_DEFAULT` means ALL for inputs other than taproot ones. */
  readonly hashType: number;
  /** Whether the context knows all that is spent, as taproot signs it. */
  readonly allSpentKnown: boolean;
}

/** Signs an input of a transaction. */
export function transactionCreator({ context, index, hashType, allSpentKnown }: SigningInput): SignatureCreator {
  const amount = context.spentOutputs[index]!.value;
  // Without a matching output, the signature would be valid for any transaction (before segwit), or for none (taproot).
  const unsignable = (hashType & SIGHASH_OUTPUT_BITS) === SIGHASH_SINGLE && index >= context.tx.outputs.length;
  const withHashType = (signature64: Uint8Array) =>
    hashType === SIGHASH_DEFAULT ? signature64 : concatBytes(signature64, Uint8Array.of(hashType));
  const sighashOf = (tapleafHash: Uint8Array | null) =>
    unsignable || !allSpentKnown
      ? null
      : taprootSighash(context, index, hashType, { ...newTaprootSpend(), tapleafHash });
  return {
    checker: inputChecker(context, index, allSpentKnown),
    taprootSighash: sighashOf,
    withHashType,
    ecdsa(provider, keyId, scriptCode, sigVersion) {
      const key = provider.privateKey(keyId);
      if (key === null || unsignable) return null;
      if (sigVersion === 'witness_v0' && (!key.compressed || !isMoneyRange(amount))) return null;
      const type = hashType === SIGHASH_DEFAULT ? SIGHASH_ALL : hashType;
      const sighash = sigVersion === 'base' ? legacySighash : witnessV0Sighash;
      const hash = sighash(context, index, scriptCode, type);
      return concatBytes(signEcdsaLowR(hash, key.reveal()), Uint8Array.of(type));
    },
    schnorr(provider, xOnlyKey, path) {
      const key = privateKeyOfXOnly(provider, xOnlyKey);
      const hash = key && sighashOf(path.kind === 'script' ? path.leafHash : null);
      if (key === null || hash === null) return null;
      const tweak = path.kind === 'key' ? path.tweak : null;
      if (tweak === null) return withHashType(signSchnorr(hash, key.reveal(), NO_AUX));
      const secret = tapTweakSecret(key.reveal(), tapTweakHash(xOnlyKey, tweak.merkleRoot));
      try {
        return withHashType(signSchnorr(hash, secret, NO_AUX));
      } finally {
        secret.fill(0);
      }
    },
  };
}

/** Returns the signature checker of an input. Taproot signatures fail where a spent output is unknown. */
export function inputChecker(context: DecodedTxContext, index: number, allSpentKnown: boolean): SignatureChecker {
  const checker = new TxChecker(context, index, signatureEngine());
  if (allSpentKnown) return checker;
  return {
    checkEcdsa: (signature, publicKey, scriptCode, sigVersion) =>
      checker.checkEcdsa(signature, publicKey, scriptCode, sigVersion),
    checkSchnorr: () => 'SCHNORR_SIG_HASHTYPE',
    checkTapTweak: (outputKey, internalKey, tweak, parity) =>
      checker.checkTapTweak(outputKey, internalKey, tweak, parity),
    checkLockTime: (lockTime) => checker.checkLockTime(lockTime),
    checkSequence: (sequence) => checker.checkSequence(sequence),
  };
}

/** Accepts every signature that is not empty, and every lock time. */
const ACCEPTING_CHECKER: SignatureChecker = {
  checkEcdsa: (signature) => signature.length > 0,
  checkSchnorr: (signature) => (signature.length > 0 ? 'OK' : 'SCHNORR_SIG'),
  checkTapTweak: (outputKey, internalKey, tweak, parity) =>
    signatureEngine().checkTapTweak(outputKey, internalKey, tweak, parity),
  checkLockTime: () => true,
  checkSequence: () => true,
};

/** Returns a strict DER signature with R of `rLength` bytes and S of 32. */
function dummyEcdsa(rLength: number): Uint8Array {
  const sLength = 32;
  const signature = new Uint8Array(rLength + sLength + 7);
  signature.set([0x30, rLength + sLength + 4, 0x02, rLength, 0x01]);
  signature.set([0x02, sLength, 0x01], 4 + rLength);
  signature[signature.length - 1] = SIGHASH_ALL;
  return signature;
}

/**
 * Returns dummy signatures for every key, for measuring: 71 bytes as with a low R, or 72 with `maxSize`; 64 for
 * taproot.
 */
export function dummyCreator(maxSize: boolean): SignatureCreator {
  return {
    checker: ACCEPTING_CHECKER,
    ecdsa: () => dummyEcdsa(maxSize ? 33 : 32),
    schnorr: () => new Uint8Array(64),
    taprootSighash: () => null,
    withHashType: (signature64) => signature64,
  };
}
