import { fail } from '../http/errors.ts';
import { json } from '../http/route-description.ts';
import { parseTransaction } from '../primitives/block.ts';
import { positionHeight } from '../primitives/coin.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import type { TxOutput } from '../primitives/transaction.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { INDEX_ERRORS, requireIndex } from '../queries/index-reads.ts';
import { type ConfirmedSpend, confirmedSpends } from '../queries/output-spends.ts';
import { needSpenders, type ReadEnv } from '../queries/read-env.ts';
import { txByTxid } from '../queries/tx-facts.ts';
import { isUnspendable } from '../script/templates.ts';
import { equalBytes } from '../util/bytes.ts';
import { statusView } from '../views/rest/tx-view.ts';
import { readEndpoint } from './endpoint.ts';
import { OUTPUT_INDEX, TXID } from './parameters.ts';
import { OUTSPEND, OUTSPENDS } from './schemas/tx-schemas.ts';

/** Time to look up one output, microseconds. */
const OUTPUT_US = 15;

const UNSPENT = { spent: false, txid: null, vin: null, status: null };
const UNSPENDABLE = { ...UNSPENT, spent: null };

const ERRORS = ['invalid_txid', 'tx_not_found', 'block_pruned', ...INDEX_ERRORS] as const;
const DESCRIPTION =
  'Inputs of the chain and of the mempool. Needs the spender index (`index.spender`), and the transaction index for a ' +
  'confirmed transaction.';

interface OutspendInput {
  readonly txid: string;
  readonly n: number;
}

const waitingSlot = ({ mempool }: ReadEnv, { txid }: { readonly txid: string }): number[] => {
  const slot = mempool.entries.find(hashFromHex<Txid>(txid));
  return slot < 0 ? [] : [slot];
};

/** The spending inputs of all outputs of a transaction. */
export const outspendsEndpoint = readEndpoint({
  name: 'tx-outspends',
  path: '/api/tx/:txid/outspends',
  tag: 'transactions',
  summary: 'The inputs that spend the outputs of a transaction',
  description: DESCRIPTION,
  params: { txid: TXID },
  response: json(OUTSPENDS),
  errors: ERRORS,
  input: ({ params }) => ({ txid: params.txid.toLowerCase() }),
  run: (env, { txid }) => jsonAnswer(outspendViews(env, txid, null)),
  mempoolPart: waitingSlot,
});

/** The spending input of one output. */
export const outspendEndpoint = readEndpoint({
  name: 'tx-outspend',
  path: '/api/tx/:txid/outspend/:n',
  tag: 'transactions',
  summary: 'The input that spends an output of a transaction',
  description: DESCRIPTION,
  params: { txid: TXID, n: OUTPUT_INDEX },
  response: json(OUTSPEND),
  errors: [...ERRORS, 'not_found'],
  input: ({ params }): OutspendInput => ({ txid: params.txid.toLowerCase(), n: Number(params.n) }),
  run: (env, { txid, n }: OutspendInput) => jsonAnswer(outspendViews(env, txid, n)[0]),
  mempoolPart: waitingSlot,
});

/** Returns the views of all outputs of a transaction; with `n` only that of the output with this index. */
function outspendViews(env: ReadEnv, txid: string, n: number | null) {
  requireIndex(env, 'spender');
  const id = hashFromHex<Txid>(txid);
  const { outputs, height } = outputsOf(env, txid, id);
  if (n !== null && n >= outputs.length)
    fail('not_found', `the transaction has no output ${n}`, { outputs: outputs.length });
  const wanted = n === null ? outputs.map((_, i) => i) : [n];
  env.expectWork(wanted.length * OUTPUT_US);
  needSpenders(env, [id]);
  const waiting = mempoolSpends(env, id);
  const isInMempool = height === null;
  const isSpentInChain = (vout: number) => !isInMempool && env.reads.coins.get({ txid: id, vout }) === null;
  const spentInChain = wanted.filter((vout) => !isNeverSpent(outputs[vout]!, height) && isSpentInChain(vout));
  const spends = confirmedSpends(
    env,
    spentInChain.map((vout) => ({ txid: id, vout })),
  );
  const byOutput = new Map(spentInChain.map((vout, i) => [vout, spends[i]!]));
  return wanted.map((vout) => {
    if (isNeverSpent(outputs[vout]!, height)) return UNSPENDABLE;
    const confirmed = byOutput.get(vout);
    if (confirmed !== undefined) return confirmedView(env, confirmed);
    const unconfirmed = waiting.get(vout);
    return unconfirmed ? { spent: true, ...unconfirmed, status: statusView(env, null) } : UNSPENT;
  });
}

/** Returns the outputs of a transaction, and its height; null in the mempool. Throws `tx_not_found`. */
function outputsOf(env: ReadEnv, txid: string, id: Txid): { outputs: readonly TxOutput[]; height: number | null } {
  const unconfirmed = env.mempool.findEntry(id);
  if (unconfirmed) return { outputs: unconfirmed.parsed.tx.outputs, height: null };
  const record = txByTxid(env, txid);
  const { raw } = env.reads.rawTx(record);
  env.expectWork((raw.length / 1000) * OUTPUT_US);
  return { outputs: parseTransaction(raw).tx.outputs, height: positionHeight(record.position) };
}

/** The genesis coinbase was never added to the set of coins. */
function isNeverSpent({ scriptPubKey }: TxOutput, height: number | null): boolean {
  return height === 0 || isUnspendable(scriptPubKey);
}

/** Returns the inputs of the mempool that spend outputs of a transaction, by the index of the output. */
function mempoolSpends({ mempool: { entries } }: ReadEnv, txid: Txid) {
  const spends = new Map<number, { readonly txid: string; readonly vin: number }>();
  for (const slot of entries.spendersOf(txid)) {
    const { tx, txid: spender } = entries.parsed(slot);
    const hex = hashToHex(spender);
    for (const [vin, { prevout }] of tx.inputs.entries())
      if (equalBytes(prevout.txid, txid)) spends.set(prevout.vout, { txid: hex, vin });
  }
  return spends;
}

function confirmedView(env: ReadEnv, spend: ConfirmedSpend | null) {
  // The output is in the chain and no coin, so the index must have the transaction that spends it.
  if (spend === null) throw new Error('the spender index lacks a spent output');
  const { record, block, vin } = spend;
  const status = statusView(env, { block, position: record.position });
  return { spent: true, txid: hashToHex(record.txid), vin, status };
}
