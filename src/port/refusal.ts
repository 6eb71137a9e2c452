import type { RpcErrorName } from '../util/rpc-error-codes.ts';

/** The result of a call that the node refuses. */
export interface Refusal {
  /** Error that the RPC interface reports. */
  readonly refused: RpcErrorName;
  /** The message for the caller; Core's if Core has one. */
  readonly message: string;
}

export function isRefusal(value: unknown): value is Refusal {
  return typeof value === 'object' && value !== null && 'refused' in value;
}
