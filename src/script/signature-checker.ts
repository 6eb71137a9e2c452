import type { ScriptError } from './script-error.ts';

/** Rules under which a script runs: bare or P2SH, BIP-143, BIP-342. The key path of taproot runs no script. */
export type SigVersion = 'base' | 'witness_v0' | 'tapscript';

/** BIP-342: codeseparator_position if no OP_CODESEPARATOR was executed. */
export const NO_CODE_SEPARATOR = 0xffff_ffff;

/** Data of a taproot spend that its signature checks need in addition to the transaction. */
export interface TaprootSpend {
  /** sha_annex (BIP-341): SHA-256 of the annex with its length; null without an annex. */
  annexHash: Uint8Array | null;
  /** Tapleaf hash; null on the key path. */
  tapleafHash: Uint8Array | null;
  /** Position of the last executed OP_CODESEPARATOR, counted in opcodes. */
  codeSeparatorPosition: number;
  /** Remaining validation weight budget (BIP-342). */
  validationWeightLeft: number;
  /** sha_single_output (BIP-341), cached once SIGHASH_SINGLE needs it, since outputs can be huge. */
  outputHash: Uint8Array | null;
}

/** Returns the data of a key path spend without annex; the caller sets the fields of other spends. */
export function newTaprootSpend(): TaprootSpend {
  return {
    annexHash: null,
    tapleafHash: null,
    codeSeparatorPosition: NO_CODE_SEPARATOR,
    validationWeightLeft: 0,
    outputHash: null,
  };
}

/** Checks of a script that depend on the spending transaction. */
export interface SignatureChecker {
  /** Verifies an ECDSA signature with its hash type at the end; an empty one is never valid. */
  checkEcdsa(
    signature: Uint8Array,
    publicKey: Uint8Array,
    scriptCode: Uint8Array,
    sigVersion: 'base' | 'witness_v0',
  ): boolean;
  /** Verifies a Schnorr signature of 64 bytes, or of 65 with a hash type. */
  checkSchnorr(signature: Uint8Array, xOnlyKey: Uint8Array, spend: TaprootSpend): ScriptError;
  /** Whether a taproot output key is the internal key plus the tweak (BIP-341). */
  checkTapTweak(outputKey: Uint8Array, internalKey: Uint8Array, tweak: Uint8Array, parity: number): boolean;
  /** Checks the operand of OP_CHECKLOCKTIMEVERIFY (BIP-65). */
  checkLockTime(lockTime: number): boolean;
  /** Checks the operand of OP_CHECKSEQUENCEVERIFY (BIP-112). */
  checkSequence(sequence: number): boolean;
}

/** Rejects all checks: for scripts that run without a transaction. */
export const NO_SIGNATURES: SignatureChecker = {
  checkEcdsa: () => false,
  checkSchnorr: () => 'UNKNOWN_ERROR',
  checkTapTweak: () => false,
  checkLockTime: () => false,
  checkSequence: () => false,
};
