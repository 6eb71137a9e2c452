import { OperatorError } from '../util/operator-error.ts';
import type { RpcErrorName } from '../util/rpc-error-codes.ts';

/** An error for the caller. The message is Core's where Core has one, and contains no secret. */
export class WalletError extends Error {
  override readonly name = 'WalletError';
  readonly kind: RpcErrorName;

  constructor(kind: RpcErrorName, message: string) {
    super(message);
    this.kind = kind;
  }
}

/** A wallet has yet to process blocks that have been pruned. */
export class WalletBeyondPruned extends OperatorError {
  constructor() {
    super(
      'Prune: last wallet synchronisation goes beyond pruned data. You need to -reindex (download the whole blockchain again in case of a pruned node)',
    );
  }
}

/** Contradictory rows, keys or MACs in a wallet's file. The message contains no secret. */
export class WalletDamage extends Error {
  override readonly name = 'WalletDamage';
}

/** Throws WalletError; an expression, so that it can follow `??`. */
export function walletFail(kind: RpcErrorName, message: string): never {
  throw new WalletError(kind, message);
}
