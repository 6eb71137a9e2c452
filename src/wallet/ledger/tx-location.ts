import { TxStateCode } from '../store/wallet-schema.ts';
import type { WalletTxRecord } from '../store/wallet-tx-reads.ts';
import type { TxBlock } from '../store/wallet-tx-store.ts';

/** Where a transaction was seen. */
export type TxLocation =
  | { readonly in: 'block'; readonly block: TxBlock }
  | { readonly in: 'mempool' }
  | { readonly in: 'nothing'; readonly abandoned?: boolean };

/** Returns where the wallet has seen one of its transactions. */
export function locationOf({ state, height, blockHash, blockIndex, blockTime }: WalletTxRecord): TxLocation {
  return state === TxStateCode.CONFIRMED
    ? { in: 'block', block: { height: height!, hash: blockHash!, index: blockIndex!, time: blockTime! } }
    : { in: 'nothing', abandoned: state === TxStateCode.ABANDONED };
}

/** Returns the code of a state in the table of transactions. */
export function stateCodeOf(state: TxLocation): number {
  if (state.in === 'block') return TxStateCode.CONFIRMED;
  if (state.in === 'mempool') return TxStateCode.MEMPOOL;
  return state.abandoned ? TxStateCode.ABANDONED : TxStateCode.INACTIVE;
}

/** Whether a block or the mempool has decided the state. */
export function isDecided({ state }: WalletTxRecord): boolean {
  return state === TxStateCode.CONFIRMED || state === TxStateCode.CONFLICTED || state === TxStateCode.MEMPOOL;
}
