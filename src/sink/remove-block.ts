import type { TransactionSQL } from 'bun';
import { SINK_SCHEMA } from './schema-name.ts';
import { ROW_TABLES } from './sink-schema.ts';

/** Removes the rows of the highest block. The balances exist only behind the first fill. */
export async function removeBlock(tx: TransactionSQL, height: number, phase: 'fill' | 'live'): Promise<void> {
  if (phase === 'live') {
    await tx.unsafe(
      `UPDATE ${SINK_SCHEMA}.balances AS b SET balance = b.balance - h.received + h.sent, received = b.received - h.received,
         sent = b.sent - h.sent, transactions = b.transactions - h.transactions, outputs = b.outputs - h.outputs,
         inputs = b.inputs - h.inputs
       FROM (SELECT script_hash, CAST(sum(received) AS BIGINT) AS received, CAST(sum(sent) AS BIGINT) AS sent,
               count(*) AS transactions, CAST(sum(outputs) AS BIGINT) AS outputs, CAST(sum(inputs) AS BIGINT) AS inputs
             FROM ${SINK_SCHEMA}.address_history WHERE height = $1 GROUP BY script_hash) AS h
       WHERE b.script_hash = h.script_hash`,
      [height],
    );
    await tx.unsafe(
      `DELETE FROM ${SINK_SCHEMA}.balances WHERE transactions = 0 AND script_hash IN
         (SELECT script_hash FROM ${SINK_SCHEMA}.address_history WHERE height = $1)`,
      [height],
    );
  }
  for (const table of ROW_TABLES) await tx.unsafe(`DELETE FROM ${SINK_SCHEMA}.${table} WHERE height = $1`, [height]);
}
