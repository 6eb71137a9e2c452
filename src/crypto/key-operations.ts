/**
 * Operations of libsecp256k1 on single keys, from which those of wallets are combined. All memory belongs to the caller,
 * who overwrites secrets. Zero is success; wrong lengths throw.
 */
export interface KeyOperations {
  privateKeyNegate(secret32: Uint8Array): number;
  /** Multiplies in place; fails if the factor is zero or n or more. */
  privateKeyTweakMul(secret32: Uint8Array, tweak32: Uint8Array): number;
  /** Adds in place; fails if the tweak is n or more, or the sum is zero. */
  privateKeyTweakAdd(secret32: Uint8Array, tweak32: Uint8Array): number;
  /** Writes 33 or 65 bytes, by the length of `out`. */
  publicKeyCreate(out: Uint8Array, secret32: Uint8Array): number;
  publicKeyTweakAdd(out: Uint8Array, publicKey: Uint8Array, tweak32: Uint8Array): number;
  /** `entropy32`: extra data for the nonce of RFC 6979. */
  ecdsaSign(
    out: { signature: Uint8Array; recid: number },
    msg32: Uint8Array,
    secret32: Uint8Array,
    entropy32?: Uint8Array,
  ): number;
  ecdsaRecover(out: Uint8Array, signature64: Uint8Array, recoveryId: number, msg32: Uint8Array): number;
}
