import type { ScriptError } from './script-error.ts';

/** Which rules a script runs under: bare or P2SH, BIP-143, BIP-342. The key path of taproot runs none. */
export type SigVersion = 'base' | 'witness_v0' | 'tapscript';

/** BIP-342: the position while no OP_CODESEPARATOR was executed. */
export const NO_CODE_SEPARATOR = 0xffff_ffff;

/** What a taproot spend brings to its signature checks beyond the transaction. */
export interface TaprootSpend {
  /** SHA-256 of the annex with its length, null without annex. */
  annexHash: Uint8Array | null;
  /** Null on the key path. */
  tapleafHash: Uint8Array | null;
  /** Position, counted in opcodes, of the last OP_CODESEPARATOR that was executed. */
  codeSeparatorPosition: number;
  /** BIP-342: how much more signature checking the witness has paid for. */
  validationWeightLeft: number;
  /** SHA-256 of the output with the input's index, once SIGHASH_SINGLE has asked for it: outputs can be huge. */
  outputHash: Uint8Array | null;
}

/** A key path spend without annex, to be filled in for others. */
export function newTaprootSpend(): TaprootSpend {
  return {
    annexHash: null,
    tapleafHash: null,
    codeSeparatorPosition: NO_CODE_SEPARATOR,
    validationWeightLeft: 0,
    outputHash: null,
  };
}

/** What a script asks about the transaction that spends it. */
export interface SignatureChecker {
  /** `signature` ends with its hash type; empty never verifies. */
  checkEcdsa(
    signature: Uint8Array,
    publicKey: Uint8Array,
    scriptCode: Uint8Array,
    sigVersion: 'base' | 'witness_v0',
  ): boolean;
  /** `signature` is 64 bytes, or 65 with a hash type. */
  checkSchnorr(signature: Uint8Array, xOnlyKey: Uint8Array, spend: TaprootSpend): ScriptError;
  /** BIP-341: whether a taproot output's key commits to this internal key and tweak; it is the curve that answers. */
  checkTapTweak(outputKey: Uint8Array, internalKey: Uint8Array, tweak: Uint8Array, parity: number): boolean;
  /** BIP-65. */
  checkLockTime(lockTime: number): boolean;
  /** BIP-112. */
  checkSequence(sequence: number): boolean;
}

/** Refuses everything: for scripts that are run without a transaction. */
export const NO_SIGNATURES: SignatureChecker = {
  checkEcdsa: () => false,
  checkSchnorr: () => 'UNKNOWN_ERROR',
  checkTapTweak: () => false,
  checkLockTime: () => false,
  checkSequence: () => false,
};
