import type { TransactionSQL } from 'bun';
import { SINK_SCHEMA } from './schema-name.ts';

/** Numbers whose events one transaction removes at most, and at least, so that few transactions do it. */
const STEP = { most: 10_000, least: 1000 };

/** Removes old events of the mempool, some with each transaction that writes new ones. */
export class MempoolRetention {
  readonly #kept: number;
  /** Events with lower numbers are removed; null before that is read. */
  #removedTo: number | null = null;
  #next: number | null = null;

  /** `kept`: the events of the newest so many numbers remain. */
  constructor(kept: number) {
    this.#kept = kept;
  }

  /** Removes events in a transaction that ends with the number `nextSeq`. `commit` or `forget` must follow. */
  async removeOld(tx: TransactionSQL, nextSeq: bigint): Promise<void> {
    this.#removedTo ??= await readRemovedTo(tx);
    const from = this.#removedTo;
    const end = Number(nextSeq) - this.#kept;
    this.#next = from;
    if (end - from < Math.min(STEP.least, this.#kept)) return;
    this.#next = Math.min(end, from + STEP.most);
    await tx.unsafe(`DELETE FROM ${SINK_SCHEMA}.mempool_events WHERE seq >= $1 AND seq < $2`, [
      BigInt(from),
      BigInt(this.#next),
    ]);
    await tx.unsafe(`UPDATE ${SINK_SCHEMA}.mempool_position SET removed_to = $1 WHERE id = 1`, [BigInt(this.#next)]);
  }

  /** Must be called after the commit of the transaction. */
  commit(): void {
    this.#removedTo = this.#next;
  }

  /** Must be called where the outcome of a transaction is not known, or another node may have written. */
  forget(): void {
    this.#removedTo = null;
  }
}

async function readRemovedTo(tx: TransactionSQL): Promise<number> {
  const [row] = await tx.unsafe(`SELECT removed_to FROM ${SINK_SCHEMA}.mempool_position WHERE id = 1`);
  return Number(row.removed_to);
}
