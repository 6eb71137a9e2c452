import { heightOption, nextPage, numberInput, type PageInput, type Query } from '../http/input.ts';
import { sat } from '../http/sat.ts';
import { clusterOf } from '../mempool/relatives.ts';
import { signalsOptInRbf } from '../policy/rbf.ts';
import { positionHeight, positionIndex, type TxPosition, txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { headerTime, tipView } from '../queries/block-facts.ts';
import { checkStillActive, decodeCursor, encodeCursor, endOfChain, type PageEnd } from '../queries/cursor.ts';
import { needSpenders, type ReadEnv } from '../queries/read-env.ts';
import type { ScriptInput } from '../queries/script-input.ts';
import { feeOf, type TxFacts, txFacts, unconfirmedFacts, vsizeOf } from '../queries/tx-facts.ts';
import { BlockPruned } from '../storage/chain-reads.ts';
import type { HistoryRecord, ScriptKey } from '../storage/script-store.ts';
import { mergeSorted } from '../util/merge-sorted.ts';
import { statusView, txView } from '../views/rest/tx-view.ts';
import { CURSOR, choice, flag, LIMIT, wholeNumber } from './parameters.ts';
import { slotsOfScripts } from './utxo-page.ts';

/** Time to read one transaction with its spent outputs, microseconds. */
const TX_US = 80;
/** Time to read the first record of one script, microseconds. */
const SCRIPT_US = 30;
/** Number of records that the reads of the first page ask for together. */
const BATCH = 200;
const MIN_BATCH = 4;
/** Above every position. */
const END: TxPosition = txPosition(2 ** 31, 0);
const MAX_COUNT = 2 ** 31 - 1;

/** Parameters of the transactions of scripts. */
export const HISTORY_QUERY = {
  limit: LIMIT,
  cursor: CURSOR,
  order: choice(['desc', 'asc'], 'newest or oldest first'),
  fromHeight: wholeNumber('lowest height'),
  toHeight: wholeNumber('highest height'),
  confirmed: flag('true leaves out the mempool'),
  minConfirmations: wholeNumber('fewest confirmations', { default: 0 }),
  details: choice(['summary', 'full'], 'full adds the transaction'),
};

/** Parameters that a cursor is bound to. */
export const HISTORY_FILTERS = ['order', 'fromHeight', 'toHeight', 'confirmed', 'minConfirmations', 'details'];

/** The transactions to show. */
export interface HistoryFilters {
  readonly order: 'desc' | 'asc';
  readonly fromHeight: number | null;
  readonly toHeight: number | null;
  readonly minConfirmations: number;
  /** Whether the mempool is left out. */
  readonly confirmed: boolean;
  readonly full: boolean;
}

/** Reads the filters of a query. Throws `invalid_parameter`. */
export function historyFilters(query: Query): HistoryFilters {
  return {
    full: query.details === 'full',
    confirmed: query.confirmed === 'true',
    order: query.order === 'asc' ? 'asc' : 'desc',
    fromHeight: heightOption(query, 'fromHeight'),
    toHeight: heightOption(query, 'toHeight'),
    minConfirmations: numberInput(query, 'minConfirmations', { min: 0, max: MAX_COUNT, fallback: 0 }),
  };
}

/** The scripts whose transactions are shown, each once. */
export interface HistoryScripts {
  readonly scripts: readonly ScriptInput[];
  /** Keys of those that are in the chain. */
  readonly keys: readonly ScriptKey[];
  /** Number of their transactions, at least as many as are different. */
  readonly txs: number;
  /** Returns further members of an input or output with this script; null if it is none of `scripts`. */
  membersOf(script: Uint8Array): object | null;
}

/** A confirmed transaction, or one of the mempool. */
type Entry = HistoryRecord | { readonly slot: number };

/**
 * Returns the members of a page of the transactions of scripts, newest first with the mempool before the chain, or the
 * reverse. `bound` is the text that its cursors are bound to; `finished` completes the text of the next one.
 */
export function historyPage(
  env: ReadEnv,
  input: PageInput & HistoryFilters,
  of: HistoryScripts,
  bound: string,
  finished: (cursor: string) => string = (cursor) => cursor,
) {
  const { limit, full } = input;
  const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
  if (end) checkStillActive(env, positionHeight(end.position), end.blockHash);
  const perTx = full ? TX_US * 3 : TX_US;
  env.expectWork(of.keys.length * SCRIPT_US + Math.min(limit, of.txs) * perTx);
  // One entry more than requested shows whether there is another page.
  const found = entriesOf(env, input, of, end);
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1)! : null;
  env.reads.expectRows({ transactions: page.flatMap((entry) => ('position' in entry ? [entry.position] : [])) });
  const facts = page.map((entry) => {
    env.expectWork(0);
    return factsOf(env, entry);
  });
  if (full)
    needSpenders(
      env,
      facts.flatMap((each) => ('parsed' in each ? [each.parsed.txid] : [])),
    );
  const nextCursor = last && finished(encodeCursor(bound, endAt(env, last)));
  return {
    tip: tipView(env.tip),
    items: facts.map((each) => ('parsed' in each ? ownTxView(env, of, each, full) : prunedTxView(env, each, full))),
    nextCursor,
    next: nextCursor && nextPage(input, nextCursor),
  };
}

/** Returns the mempool slots that a page needs. */
export function historySlots(
  { mempool }: ReadEnv,
  scripts: readonly ScriptInput[],
  { full }: Pick<HistoryFilters, 'full'>,
): number[] {
  const touching = slotsOfScripts(mempool, scripts);
  return full ? touching.flatMap((slot) => clusterOf(mempool.entries, slot)) : touching;
}

/** Returns the entries behind `end`, one more than a page holds. */
function entriesOf(
  env: ReadEnv,
  input: PageInput & HistoryFilters,
  { scripts, keys }: HistoryScripts,
  end: PageEnd | null,
): Entry[] {
  const wanted = input.limit + 1;
  if (input.order === 'asc') {
    const confirmed = confirmedEntries(env, input, keys, end, wanted);
    return [...confirmed, ...waitingEntries(env, input, scripts, end).slice(0, wanted - confirmed.length)];
  }
  // A cursor in the chain is past the mempool part.
  const waiting = end && end.seq === 0 ? [] : waitingEntries(env, input, scripts, end).reverse().slice(0, wanted);
  const inChain = end && end.seq > 0 ? null : end;
  return [...waiting, ...confirmedEntries(env, input, keys, inChain, wanted - waiting.length)];
}

function confirmedEntries(
  env: ReadEnv,
  input: HistoryFilters,
  keys: readonly ScriptKey[],
  end: PageEnd | null,
  limit: number,
): Entry[] {
  const { above, below } = range(input, env.tip.height, end?.position ?? null);
  if (above >= below || limit <= 0) return [];
  const { order } = input;
  if (keys.length === 1) return env.reads.scripts.history(keys[0]!, { above, below, order, limit });
  const batch = Math.max(MIN_BATCH, Math.ceil(BATCH / Math.max(1, keys.length)));
  const sign = order === 'asc' ? 1 : -1;
  const records = mergeSorted<HistoryRecord>(
    keys.map((key) => recordsOf(env, key, { above, below, order, limit: batch })),
    (a, b) => sign * (a.position - b.position),
  );
  return firstTransactions(env, records, limit);
}

/** Returns the first transactions of sorted records; those of one transaction become one. */
function firstTransactions(env: ReadEnv, records: Iterable<HistoryRecord>, limit: number): HistoryRecord[] {
  const found: HistoryRecord[] = [];
  for (const record of records) {
    env.expectWork(0);
    const last = found.at(-1);
    if (last?.position === record.position) {
      const { position, received, sent } = last;
      found[found.length - 1] = { position, received: received + record.received, sent: sent + record.sent };
    } else if (found.length === limit) break;
    else found.push(record);
  }
  return found;
}

function* recordsOf(
  env: ReadEnv,
  key: ScriptKey,
  { above, below, order, limit }: { above: TxPosition; below: TxPosition; order: 'asc' | 'desc'; limit: number },
): Generator<HistoryRecord> {
  for (let [low, high] = [above, below]; ; ) {
    env.expectWork(0);
    const records = env.reads.scripts.history(key, { above: low, below: high, order, limit });
    yield* records;
    if (records.length < limit) return;
    const { position } = records.at(-1)!;
    if (order === 'asc') low = position;
    else high = position;
  }
}

/** Returns the mempool entries behind `end`, oldest first. */
function waitingEntries(
  { mempool }: ReadEnv,
  input: HistoryFilters,
  scripts: readonly ScriptInput[],
  end: PageEnd | null,
): Entry[] {
  if (input.confirmed || input.minConfirmations > 0 || input.toHeight !== null) return [];
  const slots = slotsOfScripts(mempool, scripts);
  // Events have other numbers after a restart. All entries are then shown again, so that none is left out.
  const seq = end && end.seq >= (mempool.firstSeq ?? 0) ? end.seq : 0;
  const order = (slot: number) => mempool.entries.order(slot);
  const behind =
    seq === 0 ? slots : slots.filter((slot) => (input.order === 'asc' ? order(slot) > seq : order(slot) < seq));
  return behind.map((slot) => ({ slot }));
}

function endAt(env: ReadEnv, last: Entry): PageEnd {
  if ('slot' in last) return { ...endOfChain(env), sub: 0, seq: env.mempool.entries.order(last.slot) };
  const { hash } = env.reads.headers.byHeight(positionHeight(last.position))!;
  return { position: last.position, sub: 0, seq: 0, blockHash: hash };
}

/** Returns the facts of an entry; of one in a pruned block, the row of the index. */
function factsOf(env: ReadEnv, entry: Entry): TxFacts | HistoryRecord {
  if ('slot' in entry) return unconfirmedFacts(env, env.mempool.entryAt(entry.slot));
  const { reads } = env;
  const { body, undo } = reads.headers.byHeight(positionHeight(entry.position))!;
  // Without undo data, what the transaction spends is unknown.
  if (!body || !undo) return entry;
  try {
    return txFacts(env, reads.txs.byPosition(entry.position)!);
  } catch (error) {
    if (error instanceof BlockPruned) return entry;
    throw error;
  }
}

/** Returns the exclusive bounds of the positions of a page. */
function range(
  { order, fromHeight, toHeight, minConfirmations }: HistoryFilters,
  tipHeight: number,
  last: TxPosition | null,
): { above: TxPosition; below: TxPosition } {
  const highest = Math.min(toHeight ?? tipHeight, minConfirmations > 0 ? tipHeight - minConfirmations + 1 : tipHeight);
  let above = txPosition(fromHeight ?? 0, 0) - 1;
  let below = highest < 0 ? 0 : Math.min(END, txPosition(highest + 1, 0));
  if (last !== null && order === 'desc') below = Math.min(below, last);
  if (last !== null && order === 'asc') above = Math.max(above, last);
  return { above, below };
}

/** Returns a transaction from the perspective of some scripts. */
export function ownTxView(
  env: ReadEnv,
  { membersOf }: Pick<HistoryScripts, 'membersOf'>,
  facts: TxFacts,
  full: boolean,
) {
  const { parsed, isCoinbase, spent, place, unconfirmed } = facts;
  const outputs = parsed.tx.outputs.flatMap(({ value, scriptPubKey }, n) => {
    const members = membersOf(scriptPubKey);
    return members ? [{ n, value: sat(value), ...members }] : [];
  });
  const inputs = (spent ?? []).flatMap(({ output }, n) => {
    const members = membersOf(output.scriptPubKey);
    if (!members) return [];
    const { txid, vout } = parsed.tx.inputs[n]!.prevout;
    return [{ n, txid: hashToHex(txid), vout, value: sat(output.value), ...members }];
  });
  const received = outputs.reduce((sum, { value }) => sum + value, 0);
  const sent = inputs.reduce((sum, { value }) => sum + value, 0);
  const fee = feeOf(facts);
  return {
    txid: hashToHex(parsed.txid),
    status: statusView(env, place),
    time: unconfirmed?.time ?? headerTime(place!.block),
    received,
    sent,
    net: received - sent,
    fee: fee === null ? null : sat(fee),
    vsize: vsizeOf(parsed),
    isCoinbase,
    signalsRbf: !isCoinbase && signalsOptInRbf(parsed.tx),
    outputs,
    inputs,
    ...(full && { tx: txView(env, facts) }),
  };
}

/** Returns what the index has of a transaction in a pruned block. */
function prunedTxView(env: ReadEnv, { position, received, sent }: HistoryRecord, full: boolean) {
  const { reads } = env;
  const block = reads.headers.byHeight(positionHeight(position))!;
  return {
    txid: hashToHex(reads.txs.byPosition(position)!.txid),
    status: statusView(env, { block, position }),
    time: headerTime(block),
    received,
    sent,
    net: received - sent,
    fee: null,
    vsize: null,
    isCoinbase: positionIndex(position) === 0,
    signalsRbf: null,
    outputs: null,
    inputs: null,
    ...(full && { tx: null }),
  };
}
