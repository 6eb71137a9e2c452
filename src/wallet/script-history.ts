import { parseTransaction } from '../primitives/block.ts';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { HistoryRecord } from '../storage/script-store.ts';
import { equalBytes } from '../util/bytes.ts';

const HISTORY_PAGE = 1000;

/** Heights of the first and the last block. */
export interface Heights {
  readonly from: number;
  readonly to: number;
}

/** Yields the history of a script in pages, oldest first; each page is read on demand. */
export function* scriptHistory(
  reads: ChainReads,
  script: Uint8Array,
  { from, to }: Heights,
): Generator<readonly HistoryRecord[]> {
  const key = reads.scripts.keyOf(script);
  const below = txPosition(to + 1, 0);
  for (let above = txPosition(from, 0) - 1; ; ) {
    const page = reads.scripts.history(key, { above, below, order: 'asc', limit: HISTORY_PAGE });
    yield page;
    if (page.length < HISTORY_PAGE) return;
    above = page.at(-1)!.position;
  }
}

/** Whether the transaction at a position spends an output. */
export function spendsAt(reads: ChainReads, position: TxPosition, { txid, vout }: Outpoint): boolean {
  const record = reads.txs.byPosition(position);
  if (!record) return false;
  const { tx } = parseTransaction(reads.rawTx(record).raw);
  return tx.inputs.some(({ prevout }) => prevout.vout === vout && equalBytes(prevout.txid, txid));
}
