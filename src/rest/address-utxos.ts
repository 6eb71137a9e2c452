import { COINBASE_MATURITY } from '../consensus/limits.ts';
import { boundTo, nextPage, type PageInput, pageInput } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { sat } from '../http/sat.ts';
import { positionHeight, positionIndex, type TxPosition } from '../primitives/coin.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { checkStillActive, decodeCursor, encodeCursor, endOfChain, type PageEnd } from '../queries/cursor.ts';
import { addressIndexOf, INDEX_ERRORS } from '../queries/index-reads.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { readScriptInput, type ScriptInput } from '../queries/script-input.ts';
import { confirmationsAt } from '../queries/tx-facts.ts';
import { isUnspendable } from '../script/templates.ts';
import type { ScriptKey } from '../storage/script-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { readEndpoint } from './endpoint.ts';
import { ADDRESS, CURSOR, flag, LIMIT } from './parameters.ts';
import { UTXOS_PAGE } from './schemas/address-schemas.ts';

const UTXO_US = 12;
/** Time to scan one transaction of the mempool, microseconds. */
const WAITING_US = 20;
/** Number of coins per database read; the mempool may spend some of them. */
const BATCH = 200;

export interface AddressUtxosInput extends PageInput, ScriptInput {
  /** Whether to show the UTXO set alone, with the spends of the mempool marked. */
  readonly confirmed: boolean;
}

/** An unspent output, of the chain or of the mempool. */
interface Utxo {
  readonly txid: Txid;
  readonly vout: number;
  readonly value: number;
  /** Null in the mempool. */
  readonly position: TxPosition | null;
  /** Number of the event that announced the output; 0 in the chain. */
  readonly seq: number;
  /** The transaction of the mempool that spends the output. */
  readonly spentBy: Txid | null;
}

export const addressUtxosEndpoint = readEndpoint({
  name: 'address-utxos',
  path: '/api/address/:address/utxos',
  tag: 'addresses',
  summary: 'Unspent outputs of an address',
  params: { address: ADDRESS },
  query: { limit: LIMIT, cursor: CURSOR, confirmed: flag('true shows the UTXO set alone') },
  response: json(UTXOS_PAGE),
  errors: ['invalid_address', 'invalid_cursor', 'cursor_reorged', ...INDEX_ERRORS],
  input({ params, query }, { options, params: network }): AddressUtxosInput {
    const script = readScriptInput(params.address, network);
    const path = `/api/address/${script.address}/utxos`;
    const page = pageInput(query, path, options.pages.utxos, ['confirmed']);
    return { ...page, ...script, confirmed: query.confirmed === 'true' };
  },
  run(env, input) {
    const { tip, mempool } = env;
    const { limit, script, confirmed } = input;
    const bound = boundTo(input);
    const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
    if (end) checkStillActive(env, positionHeight(end.position), end.blockHash);
    const totals = addressIndexOf(env).totals(script);
    const pending = mempool.scriptSums(script);
    const read = Math.min(limit + (confirmed ? 0 : pending.inputs), totals?.utxos ?? 0);
    env.expectWork(read * UTXO_US + (confirmed ? 0 : pending.txs * WAITING_US));
    const found = firstOf(limit + 1, utxosBehind(env, input, totals?.key ?? null, end));
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1)! : null;
    const view = utxoViews(env, input);
    const cursor = last && encodeCursor(bound, endAt(env, last));
    const next = cursor && nextPage(input, cursor);
    const inChain = totals ? totals.received - totals.sent : 0n;
    const total = confirmed
      ? { count: totals?.utxos ?? 0, value: sat(inChain) }
      : {
          // The mempool spends only outputs of the chain and of the mempool.
          count: (totals?.utxos ?? 0) + pending.outputs - pending.inputs,
          value: sat(inChain + BigInt(pending.received - pending.sent)),
        };
    const items = page.map(view);
    return jsonAnswer({ address: input.address, tip: tipView(tip), total, items, nextCursor: cursor, next }, next);
  },
  // A transaction that spends a coin of this script touches the script.
  mempoolPart: ({ mempool }, { script }) => mempool.slotsOfScript(script),
});

/** Yields the outputs behind `end`: those of the chain in its order, then those of the mempool in order of arrival. */
function* utxosBehind(
  env: ReadEnv,
  { script, confirmed }: AddressUtxosInput,
  scriptKey: ScriptKey | null,
  end: PageEnd | null,
): Generator<Utxo> {
  if (scriptKey !== null) {
    const after = end
      ? { position: end.position, vout: end.seq > 0 ? Number.MAX_SAFE_INTEGER : end.sub }
      : { position: -1, vout: 0 };
    for (const utxo of confirmedUtxos(env, scriptKey, after)) if (confirmed || !utxo.spentBy) yield utxo;
  }
  if (!confirmed && !isUnspendable(script)) yield* waitingUtxos(env, script, end);
}

function* confirmedUtxos(
  { reads, mempool }: ReadEnv,
  scriptKey: ScriptKey,
  from: { position: TxPosition; vout: number },
): Generator<Utxo> {
  let after = from;
  for (;;) {
    const coins = reads.scripts.coins(scriptKey, after, BATCH);
    for (const { position, vout, value } of coins) {
      const { txid } = reads.txs.byPosition(position)!;
      yield { txid, vout, value, position, seq: 0, spentBy: mempool.spender({ txid, vout }) };
    }
    if (coins.length < BATCH) return;
    after = coins.at(-1)!;
  }
}

function* waitingUtxos({ mempool }: ReadEnv, script: Uint8Array, end: PageEnd | null): Generator<Utxo> {
  // Events have other numbers after a restart. All outputs are then shown again, so that none is left out.
  const begin = end && end.seq >= (mempool.firstSeq ?? 0) ? end.seq : 0;
  for (const slot of mempool.slotsOfScript(script)) {
    const seq = mempool.entries.order(slot);
    if (seq < begin) continue;
    const { tx, txid } = mempool.entries.parsed(slot);
    for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
      if (seq === begin && vout <= end!.sub) continue;
      if (!equalBytes(scriptPubKey, script) || mempool.spender({ txid, vout })) continue;
      yield { txid, vout, value: Number(value), position: null, seq, spentBy: null };
    }
  }
}

function endAt(env: ReadEnv, { position, vout, seq }: Utxo): PageEnd {
  if (position === null) return { ...endOfChain(env), sub: vout, seq };
  return { position, sub: vout, seq: 0, blockHash: env.reads.headers.byHeight(positionHeight(position))!.hash };
}

/** Formats outputs of one script. The view keeps the last block, since neighbours are often in the same one. */
function utxoViews({ reads, tip }: ReadEnv, { script, confirmed }: AddressUtxosInput) {
  const hex = script.toHex();
  let block: { height: number; hex: string } | null = null;
  return ({ txid, vout, value, position, spentBy }: Utxo) => {
    const height = position === null ? null : positionHeight(position);
    if (height !== null && block?.height !== height)
      block = { height, hex: hashToHex(reads.headers.byHeight(height)!.hash) };
    const confirmations = position === null ? 0 : confirmationsAt(tip, position);
    const isCoinbase = position !== null && positionIndex(position) === 0;
    return {
      txid: hashToHex(txid),
      vout,
      value,
      script: hex,
      height,
      blockHash: height === null ? null : block!.hex,
      confirmations,
      isCoinbase,
      mature: !isCoinbase || confirmations >= COINBASE_MATURITY,
      ...(confirmed && { spentInMempool: spentBy && hashToHex(spentBy) }),
    };
  };
}

function firstOf<T>(count: number, from: Iterable<T>): T[] {
  const found: T[] = [];
  for (const each of from) {
    found.push(each);
    if (found.length === count) break;
  }
  return found;
}
