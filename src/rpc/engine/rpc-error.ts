import { type ApiError, type ErrorDetails, FAILURES, type FailureCode } from '../../http/errors.ts';
import { isRefusal, type Refusal } from '../../port/refusal.ts';

/** Core's codes of JSON-RPC errors. */
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

/** Error of a call. The message is Core's if Core has one. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly rpcCode: number;
  readonly data: { readonly code: string; readonly details: ErrorDetails | null } | null;

  constructor(rpcCode: number, message: string, data: RpcError['data'] = null) {
    super(message);
    this.rpcCode = rpcCode;
    this.data = data;
  }
}

/** Converts an error of the API into one of JSON-RPC. */
export function asRpcError({ failure, message, details }: ApiError): RpcError {
  return new RpcError(FAILURES[failure].rpc, message, { code: failure, details });
}

/**
 * Throws an RpcError. It is an expression, so that it can follow `??`. `failure` is given if it says more to programs
 * than Core's code.
 */
export function rpcFail(
  kind: keyof typeof RPC_ERROR,
  message: string,
  failure: FailureCode | null = null,
  details: ErrorDetails | null = null,
): never {
  throw new RpcError(RPC_ERROR[kind], message, failure && { code: failure, details });
}

/** Returns the result of a node call. Throws RpcError if the node refused the call. */
export function orFail<T>(result: T | Refusal): T {
  return isRefusal(result) ? rpcFail(result.refused, result.message) : result;
}
