import { COINBASE_MATURITY } from '../../consensus/limits.ts';
import { positionHeight, positionIndex, type TxPosition, txPosition } from '../../primitives/coin.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { parseAddress } from '../../script/address.ts';
import { scriptType } from '../../script/templates.ts';
import type { ScriptTotals } from '../../storage/script-store.ts';
import { equalBytes } from '../../util/bytes.ts';
import { type Answer, jsonAnswer, type ReadEndpoint } from '../readers/answer.ts';
import { headerTime, tipView } from '../readers/block-facts.ts';
import { checkStillActive, decodeCursor, encodeCursor } from '../readers/cursor.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { bareScript, type ScriptInput } from '../readers/script-input.ts';
import { confirmationsAt, feeOf, txFacts, vsizeOf } from '../readers/tx-facts.ts';
import { sat } from '../views/sat.ts';
import { scriptView } from '../views/script-view.ts';
import { signalsRbf, statusView, txView } from '../views/tx-view.ts';
import { boundTo, nextPage, type PageInput } from './input.ts';

/** Microseconds to read one transaction with what it spent. */
const TX_US = 80;
const UTXO_US = 12;
/** Above every position. */
const END: TxPosition = txPosition(2 ** 31, 0);

export const balanceEndpoint: ReadEndpoint<ScriptInput> = {
  name: 'balance',
  run: (env, input) => jsonAnswer(balanceView(env, input)),
};

/** The balance, and what kind of address it is. */
export const addressEndpoint: ReadEndpoint<ScriptInput> = {
  name: 'address',
  run(env, input) {
    const { address, ...rest } = balanceView(env, input);
    return jsonAnswer({ address, isValid: true, type: scriptType(input.script).type, ...rest });
  },
};

function balanceView({ reads, tip, params }: ReadEnv, { address, script }: ScriptInput) {
  const totals = reads.scripts.totals(script);
  const confirmed = totals ? totals.received - totals.sent : 0n;
  return {
    address,
    script: scriptView(script, params),
    confirmed: sat(confirmed),
    unconfirmed: 0,
    total: sat(confirmed),
    immature: totals ? reads.scripts.coinbaseValueFrom(totals.id, tip.height - COINBASE_MATURITY + 2) : 0,
    pendingReceived: 0,
    pendingSpent: 0,
    received: sat(totals?.received ?? 0n),
    sent: sat(totals?.sent ?? 0n),
    txCount: totals?.txs ?? 0,
    mempoolTxCount: 0,
    utxoCount: totals?.utxos ?? 0,
    firstSeenHeight: totals?.firstHeight ?? null,
    lastSeenHeight: totals?.lastHeight ?? null,
    tip: tipView(tip),
  };
}

export interface AddressTxsInput extends PageInput, ScriptInput {
  readonly order: 'desc' | 'asc';
  readonly fromHeight: number | null;
  readonly toHeight: number | null;
  readonly minConfirmations: number;
  readonly full: boolean;
}

export const addressTxsEndpoint: ReadEndpoint<AddressTxsInput> = {
  name: 'address-txs',
  run(env, input) {
    const { reads, tip } = env;
    const bound = boundTo(input);
    const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
    if (end) checkStillActive(env, positionHeight(end.position), end.blockHash);
    const totals = reads.scripts.totals(input.script);
    const { above, below } = range(input, tip.height, end?.position ?? null);
    const { order, limit } = input;
    env.expectWork(Math.min(limit, totals?.txs ?? 0) * (input.full ? TX_US * 3 : TX_US));
    // One more than asked for tells whether there is another page.
    const found =
      totals && above < below ? reads.scripts.history(totals.id, { above, below, order, limit: limit + 1 }) : [];
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1)! : null;
    const cursor =
      last &&
      encodeCursor(bound, {
        position: last.position,
        sub: 0,
        blockHash: reads.headers.byHeight(positionHeight(last.position))!.hash,
      });
    const next = cursor && nextPage(input, cursor);
    return jsonAnswer(
      {
        address: input.address,
        tip: tipView(tip),
        total: { confirmed: totals?.txs ?? 0, mempool: 0 },
        items: page.map(({ position }) => addressTxView(env, input, position)),
        nextCursor: cursor,
        next,
      },
      next,
    );
  },
};

/** The positions strictly between which the entries of a page lie. */
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

/** AddressTx: a transaction seen from one script. */
function addressTxView(env: ReadEnv, { script, full }: AddressTxsInput, position: TxPosition) {
  const facts = txFacts(env, env.reads.txs.byPosition(position)!);
  const { parsed, isCoinbase, spent, place } = facts;
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
    time: headerTime(place!.block),
    received,
    sent,
    net: received - sent,
    fee: fee === null ? null : sat(fee),
    vsize: vsizeOf(parsed),
    isCoinbase,
    signalsRbf: !isCoinbase && signalsRbf(parsed.tx),
    outputs,
    inputs,
    ...(full && { tx: txView(env, facts) }),
  };
}

export interface AddressUtxosInput extends PageInput, ScriptInput {
  readonly confirmed: boolean;
}

export const addressUtxosEndpoint: ReadEndpoint<AddressUtxosInput> = {
  name: 'address-utxos',
  run(env, input) {
    const { reads, tip } = env;
    const { limit, script, confirmed } = input;
    const bound = boundTo(input);
    const end = input.cursor === null ? null : decodeCursor(bound, input.cursor);
    if (end) checkStillActive(env, positionHeight(end.position), end.blockHash);
    const totals = reads.scripts.totals(script);
    env.expectWork(Math.min(limit, totals?.utxos ?? 0) * UTXO_US);
    const after = end ? { position: end.position, vout: end.sub } : { position: -1, vout: 0 };
    const found = totals ? reads.scripts.coins(totals.id, after, limit + 1) : [];
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1)! : null;
    const hex = script.toHex();
    let block: { height: number; hash: Uint8Array; hex: string } | null = null;
    const items = page.map(({ position, vout, value }) => {
      const height = positionHeight(position);
      if (block?.height !== height) {
        const { hash } = reads.headers.byHeight(height)!;
        block = { height, hash, hex: hashToHex(hash) };
      }
      const confirmations = confirmationsAt(tip, position);
      const isCoinbase = positionIndex(position) === 0;
      return {
        txid: hashToHex(reads.txs.byPosition(position)!.txid),
        vout,
        value,
        script: hex,
        height,
        blockHash: block.hex,
        confirmations,
        isCoinbase,
        mature: !isCoinbase || confirmations >= COINBASE_MATURITY,
        ...(confirmed && { spentInMempool: null }),
      };
    });
    const cursor =
      last &&
      encodeCursor(bound, {
        position: last.position,
        sub: last.vout,
        blockHash: reads.headers.byHeight(positionHeight(last.position))!.hash,
      });
    const next = cursor && nextPage(input, cursor);
    const total = { count: totals?.utxos ?? 0, value: sat(ownedNow(totals)) };
    return jsonAnswer({ address: input.address, tip: tipView(tip), total, items, nextCursor: cursor, next }, next);
  },
};

function ownedNow(totals: ScriptTotals | null): bigint {
  return totals ? totals.received - totals.sent : 0n;
}

/** What can be said of an address, also where it is none. */
export const validateEndpoint: ReadEndpoint<{ text: string }> = {
  name: 'validate',
  run({ params }, { text }): Answer {
    const script = bareScript(text);
    const parsed = script ? null : parseAddress(text, params.address);
    if (parsed && !parsed.ok)
      return jsonAnswer({
        isValid: false,
        type: null,
        witnessVersion: null,
        script: null,
        reason: parsed.reason,
        errorLocations: parsed.errorLocations,
      });
    const view = scriptView(script ?? parsed!.script, params);
    return jsonAnswer({
      isValid: true,
      type: view.type,
      witnessVersion: parsed?.witnessVersion ?? null,
      script: view,
      reason: null,
      errorLocations: [],
    });
  },
};
