import type { TransactionSQL } from 'bun';
import type { BalanceChange } from './block-rows.ts';
import { SINK_SCHEMA } from './schema-name.ts';

const UPSERT_ROWS = 5000;

/** Adds changes to the balances of scripts. */
export async function addBalances(tx: TransactionSQL, balances: readonly BalanceChange[]): Promise<void> {
  // In one order, so that the page of an index is found once for its rows.
  const all = balances.map((change) => ({ ...change, key: change.scriptHash.toHex() }));
  all.sort((a, b) => (a.key < b.key ? -1 : 1));
  for (let at = 0; at < all.length; at += UPSERT_ROWS) {
    const part = all.slice(at, at + UPSERT_ROWS);
    const list = (value: (change: BalanceChange) => number) => `{${part.map(value).join(',')}}`;
    await tx.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.balances AS b (script_hash, balance, received, sent, transactions, outputs, inputs)
       SELECT * FROM unnest($1::BYTEA[], $2::BIGINT[], $3::BIGINT[], $4::BIGINT[], $5::BIGINT[], $6::BIGINT[], $7::BIGINT[])
       ON CONFLICT (script_hash) DO UPDATE SET balance = b.balance + excluded.balance,
         received = b.received + excluded.received, sent = b.sent + excluded.sent,
         transactions = b.transactions + excluded.transactions, outputs = b.outputs + excluded.outputs,
         inputs = b.inputs + excluded.inputs`,
      [
        `{${part.map(({ key }) => `"\\\\x${key}"`).join(',')}}`,
        list(({ received, sent }) => received - sent),
        list(({ received }) => received),
        list(({ sent }) => sent),
        list(({ transactions }) => transactions),
        list(({ outputs }) => outputs),
        list(({ inputs }) => inputs),
      ],
    );
  }
}
