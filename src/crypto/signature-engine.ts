/** Signature checks exactly as consensus needs them. Nothing here throws on bytes from outside. */
export interface SignatureEngine {
  readonly name: 'native' | 'noble';
  /** DER without the hash type byte, read leniently; high S and hybrid keys (0x06, 0x07) are accepted. */
  verifyEcdsa(signature: Uint8Array, msg32: Uint8Array, publicKey: Uint8Array): boolean;
  /** BIP-340. */
  verifySchnorr(signature64: Uint8Array, msg32: Uint8Array, xOnlyKey32: Uint8Array): boolean;
  /** BIP-341: whether `outputKey` is `internalKey` tweaked by `tweak`, with that parity of Y. */
  checkTapTweak(outputKey32: Uint8Array, internalKey32: Uint8Array, tweak32: Uint8Array, parity: number): boolean;
  /** Whether the bytes are a point of the curve: compressed, uncompressed or hybrid. */
  isValidPublicKey(publicKey: Uint8Array): boolean;
}
