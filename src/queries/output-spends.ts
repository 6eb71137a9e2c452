import { parseTransaction } from '../primitives/block.ts';
import type { TxPosition } from '../primitives/coin.ts';
import { type Outpoint, outpointKey } from '../primitives/outpoint.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import type { TxRecord } from '../storage/tx-store.ts';
import type { ReadEnv } from './read-env.ts';

/** An input of a confirmed transaction that spends an output. */
export interface ConfirmedSpend {
  readonly record: TxRecord;
  readonly block: HeaderRecord;
  /** The encoded transaction. */
  readonly raw: Uint8Array;
  /** Index of the input. */
  readonly vin: number;
}

/** Time to find the spending transaction of an output, microseconds. */
const SPEND_US = 60;
/** Time to parse a byte of a spending transaction, microseconds. */
const BYTE_US = 0.02;

/**
 * Returns the inputs of the active chain that spend outputs, in their order; null for an unspent or unknown output. The
 * spender index must be ready. Throws BlockPruned.
 */
export function confirmedSpends(env: ReadEnv, outpoints: readonly Outpoint[]): (ConfirmedSpend | null)[] {
  const { reads } = env;
  env.expectWork(outpoints.length * SPEND_US);
  reads.expectRows({ spent: outpoints });
  const keys = outpoints.map(outpointKey);
  const wanted = new Set(keys);
  const positions = new Set<TxPosition>();
  for (const outpoint of outpoints) {
    env.expectWork(0);
    for (const position of reads.spenders.candidates(outpoint)) positions.add(position);
  }
  const found = new Map<string, ConfirmedSpend>();
  // A transaction that spends many of the outputs is read once.
  for (const position of positions) {
    const record = reads.txs.byPosition(position)!;
    const { block, raw } = reads.rawTx(record);
    env.expectWork(raw.length * BYTE_US);
    for (const [vin, { prevout }] of parseTransaction(raw).tx.inputs.entries()) {
      const key = outpointKey(prevout);
      if (wanted.has(key)) found.set(key, { record, block, raw, vin });
    }
  }
  return keys.map((key) => found.get(key) ?? null);
}
