/** Signature verification exactly as consensus needs it. Never throws on untrusted bytes. */
export interface SignatureEngine {
  /** The library: that of the system, the npm addon, or the one in TypeScript. */
  readonly name: 'system' | 'addon' | 'noble';
  /**
   * Verifies an ECDSA signature: DER without the hash type byte, parsed leniently; high S and hybrid keys (0x06, 0x07)
   * are accepted.
   */
  verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): boolean;
  /** Verifies a Schnorr signature (BIP-340). */
  verifySchnorr(signature64: Uint8Array, msg32: Uint8Array, xOnlyKey32: Uint8Array): boolean;
  /** Whether `outputKey` is `internalKey` tweaked by `tweak`, with this parity of Y (BIP-341). */
  checkTapTweak(outputKey32: Uint8Array, internalKey32: Uint8Array, tweak32: Uint8Array, parity: number): boolean;
  /** Whether the bytes are a point on the curve: compressed, uncompressed or hybrid. */
  isValidPublicKey(publicKey: Uint8Array): boolean;
}
