import { type ApiError, type ErrorDetails, FAILURES, type FailureCode } from '../../http/errors.ts';
import { isRefusal, type Refusal } from '../../port/refusal.ts';
import { RPC_ERROR, type RpcErrorName } from '../../util/rpc-error-codes.ts';

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
  kind: RpcErrorName,
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
