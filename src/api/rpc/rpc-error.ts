import type { ErrorDetails } from '../errors.ts';

/** Codes of JSON-RPC errors, as Core numbers them. */
export const RPC_ERROR = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  internal: -32603,
  misc: -1,
  type: -3,
  invalidAddressOrKey: -5,
  invalidParameter: -8,
  walletNotFound: -18,
  deserialization: -22,
  verify: -25,
  verifyRejected: -26,
  alreadyInChain: -27,
  deprecated: -32,
} as const;

/** A failed call: the message is Core's where Core has one. */
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

/** Throws an RpcError; an expression, so that it can stand behind `??`. */
export function rpcFail(kind: keyof typeof RPC_ERROR, message: string): never {
  throw new RpcError(RPC_ERROR[kind], message);
}
