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

/** A wallet has yet to process blocks that have been pruned, or that are missing below a loaded UTXO set. */
export class WalletBeyondPruned extends OperatorError {
  /** First block that the wallet has yet to process. */
  readonly from: number;
  /** Height of the loaded UTXO set; null if the blocks have been pruned. */
  readonly loadedHeight: number | null;

  constructor(from: number, loadedHeight: number | null) {
    super(
      loadedHeight === null
        ? 'Prune: last wallet synchronisation goes beyond pruned data. You need to -reindex (download the whole blockchain again in case of a pruned node)'
        : `Error loading wallet. Wallet requires blocks to be downloaded, and software does not currently support loading wallets while blocks are being downloaded out of order when using assumeutxo snapshots. Wallet should be able to load successfully after node sync reaches height ${loadedHeight}`,
    );
    this.from = from;
    this.loadedHeight = loadedHeight;
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
