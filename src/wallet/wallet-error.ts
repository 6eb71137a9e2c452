import type { RpcErrorName } from '../util/rpc-error-codes.ts';

/** Thrown for the caller; the message is Core's where Core has one, and holds no secret. */
export class WalletError extends Error {
  override readonly name = 'WalletError';
  readonly kind: RpcErrorName;

  constructor(kind: RpcErrorName, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The rows of a wallet's file contradict each other, or its keys or MACs. The message names no secret. */
export class WalletDamage extends Error {
  override readonly name = 'WalletDamage';
}

/** Throws; an expression, so that it can stand behind `??`. */
export function walletFail(kind: RpcErrorName, message: string): never {
  throw new WalletError(kind, message);
}
