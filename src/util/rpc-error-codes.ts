/**
 * Core's codes of JSON-RPC errors by our names. They are here because the wallet and the node choose the error of a call
 * that they refuse, and the RPC interface sends its code.
 */
export const RPC_ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  misc: -1,
  type: -3,
  wallet: -4,
  invalidAddressOrKey: -5,
  insufficientFunds: -6,
  invalidParameter: -8,
  clientNotConnected: -9,
  invalidLabelName: -11,
  keypoolRanOut: -12,
  unlockNeeded: -13,
  passphraseIncorrect: -14,
  wrongEncryptionState: -15,
  encryptionFailed: -16,
  alreadyUnlocked: -17,
  clientNodeAlreadyAdded: -23,
  clientNodeNotAdded: -24,
  clientNodeNotConnected: -29,
  clientInvalidIpOrSubnet: -30,
  clientP2pDisabled: -31,
  clientNodeCapacityReached: -34,
  walletAlreadyLoaded: -35,
  walletAlreadyExists: -36,
  walletNotFound: -18,
  walletNotSpecified: -19,
  deserialization: -22,
  verify: -25,
  verifyRejected: -26,
  alreadyInChain: -27,
  deprecated: -32,
  resourceFull: -37,
  clientInInitialDownload: -10,
} as const;

export type RpcErrorName = keyof typeof RPC_ERROR;
