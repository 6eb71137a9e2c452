import { json } from '../http/route-description.ts';
import { clusterOf } from '../mempool/relatives.ts';
import { hashFromHex, type Txid } from '../primitives/hash.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { INDEX_ERRORS } from '../queries/index-reads.ts';
import { needSpenders, type ReadEnv } from '../queries/read-env.ts';
import { findTx, storedSize, type TxFacts, txFacts, unconfirmedFacts } from '../queries/tx-facts.ts';
import { BlockPruned } from '../storage/chain-reads.ts';
import type { TxRecord } from '../storage/tx-store.ts';
import { txView } from '../views/rest/tx-view.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { readEndpoint } from './endpoint.ts';
import { TXIDS_REQUEST, TXS_DETAILS } from './schemas/tx-schemas.ts';
import { readTxids, TXIDS_BODY } from './txids-body.ts';

/** Limit of the sizes of the transactions in one reply, bytes; the first one is always in it. */
const MAX_BYTES = 1_000_000;
/** Time to look up a transaction, and to read and format a byte of one, microseconds. */
const TX_US = 80;
const BYTE_US = 0.2;

/** A found transaction: a slot of the mempool, or a row of the chain. */
type Found = { readonly txid: string; readonly size: number } & (
  | { readonly slot: number }
  | { readonly record: TxRecord }
);

/** Many transactions with their spent outputs. */
export const txsDetailsEndpoint = readEndpoint({
  name: 'txs-details',
  method: 'POST',
  path: '/api/txs/details',
  tag: 'transactions',
  summary: 'Many transactions with the outputs that they spend',
  description:
    'Up to 1,000 transactions at one tip, each as in `GET /api/tx/{txid}`, in the order of the request. An id that is ' +
    'given twice counts once. A reply holds transactions of one megabyte; the ids of the others are in `remaining` and ' +
    'are sent with the next request.',
  body: [json(TXIDS_REQUEST)],
  bodyLimit: TXIDS_BODY,
  response: json(TXS_DETAILS),
  errors: ['invalid_txid', ...INDEX_ERRORS],
  async input({ request }, { charge }): Promise<{ txids: readonly string[] }> {
    const txids = [...new Set(await readTxids(request))];
    charge(Math.max(0, Math.ceil(txids.length / UNITS_PER_CALL.txDetails) - 1));
    return { txids };
  },
  run(env, { txids }) {
    env.expectWork(txids.length * TX_US);
    env.reads.expectRows({ txids: txids.map((txid) => hashFromHex(txid)) });
    const all = txids.map((txid) => ({ txid, found: find(env, txid) }));
    const { page, remaining } = firstBytes(all.flatMap(({ found }) => found ?? []));
    env.expectWork(page.reduce((sum, { size }) => sum + size * BYTE_US, 0));
    needSpenders(
      env,
      page.map(({ txid }) => hashFromHex<Txid>(txid)),
    );
    env.reads.expectRows({ transactions: page.flatMap((each) => ('record' in each ? [each.record.position] : [])) });
    const pruned: string[] = [];
    const items = page.flatMap((found) => {
      env.expectWork(0);
      const facts = factsOf(env, found);
      if (facts === null) pruned.push(found.txid);
      return facts === null ? [] : [txView(env, facts)];
    });
    const missing = all.flatMap(({ txid, found }) => (found === null ? [txid] : []));
    // The request is a POST, whose replies are not cached.
    return { ...jsonAnswer({ tip: tipView(env.tip), items, missing, pruned, remaining }), freshness: 'none' };
  },
  mempoolPart: ({ mempool: { entries } }, { txids }) =>
    txids
      .map((txid) => entries.find(hashFromHex<Txid>(txid)))
      .flatMap((slot) => (slot < 0 ? [] : clusterOf(entries, slot))),
});

function find(env: ReadEnv, txid: string): Found | null {
  env.expectWork(0);
  const { entries } = env.mempool;
  const slot = entries.find(hashFromHex<Txid>(txid));
  if (slot >= 0) return { txid, slot, size: entries.size(slot) };
  const record = findTx(env, txid);
  return record && { txid, record, size: storedSize(env, record) };
}

/** Returns the transactions that fit into a reply, and the ids of those behind them. */
function firstBytes(found: readonly Found[]): { page: readonly Found[]; remaining: readonly string[] } {
  let bytes = 0;
  const end = found.findIndex(({ size }, i) => (bytes += size) > MAX_BYTES && i > 0);
  if (end < 0) return { page: found, remaining: [] };
  return { page: found.slice(0, end), remaining: found.slice(end).map(({ txid }) => txid) };
}

/** Returns null if the block of the transaction has been pruned. */
function factsOf(env: ReadEnv, found: Found): TxFacts | null {
  if ('slot' in found) return unconfirmedFacts(env, env.mempool.entryAt(found.slot));
  try {
    return txFacts(env, found.record);
  } catch (error) {
    if (error instanceof BlockPruned) return null;
    throw error;
  }
}
