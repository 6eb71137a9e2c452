import { boundTo, heightOption, nextPage, numberInput, type PageInput, pageInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { sat } from '../http/sat.ts';
import { clusterOf } from '../mempool/relatives.ts';
import { signalsOptInRbf } from '../policy/rbf.ts';
import { positionHeight, positionIndex, type TxPosition, txPosition } from '../primitives/coin.ts';
import { hashToHex } from '../primitives/hash.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { headerTime, tipView } from '../queries/block-facts.ts';
import { checkStillActive, decodeCursor, encodeCursor, endOfChain, type PageEnd } from '../queries/cursor.ts';
import { addressIndexOf, INDEX_ERRORS } from '../queries/index-reads.ts';
import { needSpenders, type ReadEnv } from '../queries/read-env.ts';
import { readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { feeOf, type TxFacts, txFacts, unconfirmedFacts, vsizeOf } from '../queries/tx-facts.ts';
import { BlockPruned } from '../storage/chain-reads.ts';
import type { HistoryRecord, ScriptKey } from '../storage/script-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { statusView, txView } from '../views/rest/tx-view.ts';
import { readEndpoint } from './endpoint.ts';
import { ADDRESS, CURSOR, choice, flag, LIMIT, wholeNumber } from './parameters.ts';
import { ADDRESS_TXS_PAGE } from './schemas/address-schemas.ts';

/** Time to read one transaction with its spent outputs, microseconds. */
const TX_US = 80;
/** Above every position. */
const END: TxPosition = txPosition(2 ** 31, 0);

export interface AddressTxsInput extends PageInput, ScriptInput {
  readonly order: 'desc' | 'asc';
  readonly fromHeight: number | null;
  readonly toHeight: number | null;
  readonly minConfirmations: number;
  /** Whether the mempool is left out. */
  readonly confirmed: boolean;
  readonly full: boolean;
}

/** Parameters that a cursor is bound to. */
const FILTERS = ['order', 'fromHeight', 'toHeight', 'confirmed', 'minConfirmations', 'details'];
const MAX_COUNT = 2 ** 31 - 1;

/** Where an entry of the list is stored: in the chain, or in the mempool. */
type Entry = HistoryRecord | { readonly slot: number };

export const addressTxsEndpoint = readEndpoint({
  name: 'address-txs',
  path: '/api/address/:address/txs',
  tag: 'addresses',
  summary: 'Transactions of an address',
  params: { address: ADDRESS },
  query: {
    limit: LIMIT,
    cursor: CURSOR,
    order: choice(['desc', 'asc'], 'newest or oldest first'),
    fromHeight: wholeNumber('lowest height'),
    toHeight: wholeNumber('highest height'),
    confirmed: flag('true leaves out the mempool'),
    minConfirmations: wholeNumber('fewest confirmations', { default: 0 }),
    details: choice(['summary', 'full'], 'full adds the transaction'),
  },
  response: json(ADDRESS_TXS_PAGE),
  errors: ['invalid_address', 'invalid_cursor', 'cursor_reorged', ...INDEX_ERRORS],
  input({ params, query }, { options, params: network, charge }): AddressTxsInput {
    const script = readScriptInput(params.address, network);
    const page = pageInput(query, `/api/address/${script.address}/txs`, options.pages.addressTxs, FILTERS);
    const full = query.details === 'full';
    if (full) charge(Math.ceil(page.limit / 100) - 1);
    return {
      ...page,
      ...script,
      full,
      confirmed: query.confirmed === 'true',
      order: query.order ?? 'desc',
      fromHeight: heightOption(query, 'fromHeight'),
      toHeight: heightOption(query, 'toHeight'),
      minConfirmations: numberInput(query, 'minConfirmations', { min: 0, max: MAX_COUNT, fallback: 0 }),
    };
  },
  run(env, input) {
    const { tip } = env;
    const bound = boundTo(input);
    const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
    if (end) checkStillActive(env, positionHeight(end.position), end.blockHash);
    const totals = addressIndexOf(env).totals(input.script);
    const pending = env.mempool.scriptSums(input.script);
    const { limit, full } = input;
    env.expectWork(Math.min(limit, (totals?.txs ?? 0) + pending.txs) * (full ? TX_US * 3 : TX_US));
    // One entry more than requested shows whether there is another page.
    const found = entriesOf(env, input, totals?.key ?? null, end);
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1)! : null;
    const facts = page.map((entry) => factsOf(env, entry));
    if (full)
      needSpenders(
        env,
        facts.flatMap((each) => ('parsed' in each ? [each.parsed.txid] : [])),
      );
    const cursor = last && encodeCursor(bound, endAt(env, last));
    const next = cursor && nextPage(input, cursor);
    return jsonAnswer(
      {
        address: input.address,
        tip: tipView(tip),
        total: { confirmed: totals?.txs ?? 0, mempool: pending.txs },
        items: facts.map((each) =>
          'parsed' in each ? addressTxView(env, input, each) : prunedTxView(env, input, each),
        ),
        nextCursor: cursor,
        next,
      },
      next,
    );
  },
  mempoolPart({ mempool }, { script, full }) {
    const touching = mempool.slotsOfScript(script);
    return full ? touching.flatMap((slot) => clusterOf(mempool.entries, slot)) : touching;
  },
});

/**
 * Returns the entries behind `end`, one more than a page holds: newest first with the mempool before the chain, or the
 * reverse.
 */
function entriesOf(env: ReadEnv, input: AddressTxsInput, scriptKey: ScriptKey | null, end: PageEnd | null): Entry[] {
  const wanted = input.limit + 1;
  if (input.order === 'asc') {
    const confirmed = confirmedEntries(env, input, scriptKey, end, wanted);
    return [...confirmed, ...waitingEntries(env, input, end).slice(0, wanted - confirmed.length)];
  }
  // A cursor in the chain is past the mempool part.
  const waiting = end && end.seq === 0 ? [] : waitingEntries(env, input, end).reverse().slice(0, wanted);
  const inChain = end && end.seq > 0 ? null : end;
  return [...waiting, ...confirmedEntries(env, input, scriptKey, inChain, wanted - waiting.length)];
}

function confirmedEntries(
  { reads, tip }: ReadEnv,
  input: AddressTxsInput,
  scriptKey: ScriptKey | null,
  end: PageEnd | null,
  limit: number,
): Entry[] {
  const { above, below } = range(input, tip.height, end?.position ?? null);
  if (scriptKey === null || above >= below || limit <= 0) return [];
  return reads.scripts.history(scriptKey, { above, below, order: input.order, limit });
}

/** Returns the mempool entries behind `end`, oldest first. */
function waitingEntries({ mempool }: ReadEnv, input: AddressTxsInput, end: PageEnd | null): Entry[] {
  if (input.confirmed || input.minConfirmations > 0 || input.toHeight !== null) return [];
  const slots = mempool.slotsOfScript(input.script);
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
  { order, fromHeight, toHeight, minConfirmations }: AddressTxsInput,
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

/** Returns an AddressTx: a transaction from the perspective of one script. */
export function addressTxView(
  env: ReadEnv,
  { script, full }: Pick<AddressTxsInput, 'script' | 'full'>,
  facts: TxFacts,
) {
  const { parsed, isCoinbase, spent, place, unconfirmed } = facts;
  const outputs = parsed.tx.outputs.flatMap(({ value, scriptPubKey }, n) =>
    equalBytes(scriptPubKey, script) ? [{ n, value: sat(value) }] : [],
  );
  const inputs = (spent ?? []).flatMap(({ output }, n) => {
    if (!equalBytes(output.scriptPubKey, script)) return [];
    const { txid, vout } = parsed.tx.inputs[n]!.prevout;
    return [{ n, txid: hashToHex(txid), vout, value: sat(output.value) }];
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
function prunedTxView(
  env: ReadEnv,
  { full }: Pick<AddressTxsInput, 'full'>,
  { position, received, sent }: HistoryRecord,
) {
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
