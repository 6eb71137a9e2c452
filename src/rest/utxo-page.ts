import { COINBASE_MATURITY } from '../consensus/limits.ts';
import { nextPage, type PageInput } from '../http/input.ts';
import { sat } from '../http/sat.ts';
import type { MempoolMirror } from '../mempool/mirror.ts';
import { positionHeight, positionIndex, type TxPosition } from '../primitives/coin.ts';
import { hashToHex, type Txid } from '../primitives/hash.ts';
import { tipView } from '../queries/block-facts.ts';
import { checkStillActive, decodeCursor, encodeCursor, endOfChain, type PageEnd } from '../queries/cursor.ts';
import { addressIndexOf } from '../queries/index-reads.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import type { ScriptInput } from '../queries/script-input.ts';
import { confirmationsAt } from '../queries/tx-facts.ts';
import { isUnspendable } from '../script/templates.ts';
import type { ScriptCoin, ScriptKey } from '../storage/script-store.ts';
import { mergeSorted } from '../util/merge-sorted.ts';

const UTXO_US = 12;
/** Time to scan one transaction of the mempool, microseconds. */
const WAITING_US = 20;
/** Time to read the totals of one script, microseconds. */
const SCRIPT_US = 60;
/** Number of coins that all database reads of the first page ask for together; the mempool may spend some of them. */
const BATCH = 200;
const MIN_BATCH = 4;

/** A request of unspent outputs. */
export interface UtxosInput extends PageInput {
  /** No script is listed twice. */
  readonly scripts: readonly ScriptInput[];
  /** Whether to show the UTXO set alone, with the spends of the mempool marked. */
  readonly confirmed: boolean;
}

/** An unspent output, of the chain or of the mempool. */
interface Utxo {
  readonly owner: ScriptInput;
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

/** The sums over all scripts, and the scripts that are in the chain. */
interface Totals {
  readonly known: readonly Owned[];
  readonly utxos: number;
  readonly value: bigint;
  readonly pending: { readonly txs: number; readonly outputs: number; readonly inputs: number; readonly value: number };
}

interface Owned {
  readonly owner: ScriptInput;
  readonly key: ScriptKey;
}

interface OwnedCoin {
  readonly owner: ScriptInput;
  readonly coin: ScriptCoin;
}

/**
 * Returns the members of a page of the unspent outputs of scripts: those of the chain in its order, then those of the
 * mempool in the order of arrival. `bound` is the text that its cursors are bound to; `finished` completes the text of
 * the next one.
 */
export function utxosPage(
  env: ReadEnv,
  input: UtxosInput,
  bound: string,
  finished: (cursor: string) => string = (cursor) => cursor,
) {
  const { limit, scripts, confirmed } = input;
  const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
  if (end) checkStillActive(env, positionHeight(end.position), end.blockHash);
  env.expectWork(scripts.length * SCRIPT_US);
  env.reads.expectRows({ scripts: scripts.map(({ script }) => script) });
  const totals = totalsOf(env, scripts);
  const { utxos, value, pending } = totals;
  const read = Math.min(limit + (confirmed ? 0 : pending.inputs), utxos);
  env.expectWork(read * UTXO_US + (confirmed ? 0 : pending.txs * WAITING_US));
  const found = firstOf(env, limit + 1, utxosBehind(env, input, totals.known, end));
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1)! : null;
  const nextCursor = last && finished(encodeCursor(bound, endAt(env, last)));
  return {
    tip: tipView(env.tip),
    total: confirmed
      ? { count: utxos, value: sat(value) }
      : // The mempool spends only outputs of the chain and of the mempool.
        { count: utxos + pending.outputs - pending.inputs, value: sat(value + BigInt(pending.value)) },
    items: page.map(utxoViews(env, confirmed)),
    nextCursor,
    next: nextCursor && nextPage(input, nextCursor),
  };
}

/** Returns the slots of the transactions that involve one of the scripts, in the order of arrival. */
export function slotsOfScripts(mempool: MempoolMirror, scripts: readonly ScriptInput[]): number[] {
  if (scripts.length === 1) return mempool.slotsOfScript(scripts[0]!.script);
  const slots = new Set(scripts.flatMap(({ script }) => mempool.slotsOfScript(script)));
  return [...slots].sort((a, b) => mempool.entries.order(a) - mempool.entries.order(b));
}

function totalsOf(env: ReadEnv, scripts: readonly ScriptInput[]): Totals {
  const known: Owned[] = [];
  const index = addressIndexOf(env);
  const pending = { txs: 0, outputs: 0, inputs: 0, value: 0 };
  let utxos = 0;
  let value = 0n;
  for (const owner of scripts) {
    env.expectWork(0);
    const totals = index.totals(owner.script);
    if (totals !== null) {
      known.push({ owner, key: totals.key });
      utxos += totals.utxos;
      value += totals.received - totals.sent;
    }
    const { txs, outputs, inputs, received, sent } = env.mempool.scriptSums(owner.script);
    pending.txs += txs;
    pending.outputs += outputs;
    pending.inputs += inputs;
    pending.value += received - sent;
  }
  return { known, utxos, value, pending };
}

/** Yields the outputs behind `end`: those of the chain in its order, then those of the mempool in order of arrival. */
function* utxosBehind(
  env: ReadEnv,
  { scripts, confirmed }: UtxosInput,
  known: readonly Owned[],
  end: PageEnd | null,
): Generator<Utxo> {
  const { mempool } = env;
  // A cursor in the mempool is behind all coins of the chain at that time.
  const after = end
    ? { position: end.position, vout: end.seq > 0 ? Number.MAX_SAFE_INTEGER : end.sub }
    : { position: -1, vout: 0 };
  for (const { owner, coin } of coinsInOrder(env, known, after)) {
    const { txid } = env.reads.txs.byPosition(coin.position)!;
    const spentBy = mempool.spender({ txid, vout: coin.vout });
    if (confirmed || !spentBy) yield { ...coin, owner, txid, seq: 0, spentBy };
  }
  if (!confirmed) yield* waitingUtxos(mempool, scripts, end);
}

/** Yields the coins of scripts in the order of the chain. */
function coinsInOrder(env: ReadEnv, known: readonly Owned[], after: CoinPlace): Generator<OwnedCoin> {
  const batch = Math.max(MIN_BATCH, Math.ceil(BATCH / known.length));
  return mergeSorted(
    known.map((owned) => coinsOf(env, owned, after, batch)),
    (a, b) => comparePlaces(a.coin, b.coin),
  );
}

interface CoinPlace {
  readonly position: TxPosition;
  readonly vout: number;
}

function comparePlaces(a: CoinPlace, b: CoinPlace): number {
  return a.position - b.position || a.vout - b.vout;
}

function* coinsOf(env: ReadEnv, { owner, key }: Owned, from: CoinPlace, batch: number): Generator<OwnedCoin> {
  let after = from;
  for (;;) {
    env.expectWork(0);
    const coins = env.reads.scripts.coins(key, after, batch);
    for (const coin of coins) yield { owner, coin };
    if (coins.length < batch) return;
    after = coins.at(-1)!;
  }
}

function* waitingUtxos(mempool: MempoolMirror, scripts: readonly ScriptInput[], end: PageEnd | null): Generator<Utxo> {
  const owners = new Map(
    scripts.flatMap((owner) => (isUnspendable(owner.script) ? [] : [[owner.script.toHex(), owner] as const])),
  );
  if (owners.size === 0) return;
  // Events have other numbers after a restart. All outputs are then shown again, so that none is left out.
  const begin = end && end.seq >= (mempool.firstSeq ?? 0) ? end.seq : 0;
  for (const slot of slotsOfScripts(mempool, scripts)) {
    const seq = mempool.entries.order(slot);
    if (seq < begin) continue;
    const { tx, txid } = mempool.entries.parsed(slot);
    for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
      if (seq === begin && vout <= end!.sub) continue;
      const owner = owners.get(scriptPubKey.toHex());
      if (!owner || mempool.spender({ txid, vout })) continue;
      yield { owner, txid, vout, value: Number(value), position: null, seq, spentBy: null };
    }
  }
}

function endAt(env: ReadEnv, { position, vout, seq }: Utxo): PageEnd {
  if (position === null) return { ...endOfChain(env), sub: vout, seq };
  return { position, sub: vout, seq: 0, blockHash: env.reads.headers.byHeight(positionHeight(position))!.hash };
}

/** Formats outputs. The view keeps the last block, since neighbours are often in the same one. */
function utxoViews({ reads, tip }: ReadEnv, confirmed: boolean) {
  let block: { height: number; hex: string } | null = null;
  return ({ owner, txid, vout, value, position, spentBy }: Utxo) => {
    const height = position === null ? null : positionHeight(position);
    if (height !== null && block?.height !== height)
      block = { height, hex: hashToHex(reads.headers.byHeight(height)!.hash) };
    const confirmations = position === null ? 0 : confirmationsAt(tip, position);
    const isCoinbase = position !== null && positionIndex(position) === 0;
    return {
      address: owner.address,
      txid: hashToHex(txid),
      vout,
      value,
      script: owner.script.toHex(),
      height,
      blockHash: height === null ? null : block!.hex,
      confirmations,
      isCoinbase,
      mature: !isCoinbase || confirmations >= COINBASE_MATURITY,
      ...(confirmed && { spentInMempool: spentBy && hashToHex(spentBy) }),
    };
  };
}

function firstOf<T>(env: ReadEnv, count: number, from: Iterable<T>): T[] {
  const found: T[] = [];
  for (const each of from) {
    env.expectWork(0);
    found.push(each);
    if (found.length === count) break;
  }
  return found;
}
