import { feeRateOf, sat } from '../../http/sat.ts';
import { IN_MEMPOOL } from '../../mempool/changes.ts';
import type { Unconfirmed } from '../../mempool/mirror.ts';
import { ancestorsOf, chunksOfCluster, clusterOf, descendantsOf } from '../../mempool/relatives.ts';
import { signalsOptInRbf } from '../../policy/rbf.ts';
import { weightOf } from '../../primitives/block.ts';
import { type Coin, coinHeight, isCoinbaseCoin, positionIndex } from '../../primitives/coin.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { TxInput, TxOutput } from '../../primitives/transaction.ts';
import { headerTime, tipView } from '../../queries/block-facts.ts';
import type { ReadEnv } from '../../queries/read-env.ts';
import { confirmationsAt, feeOf, type TxFacts, valueIn, valueOut, vsizeOf } from '../../queries/tx-facts.ts';
import { scriptToAsm } from '../../script/asm.ts';
import { isUnspendable } from '../../script/templates.ts';
import { scriptView } from './script-view.ts';

/** Returns the TxStatus of a transaction: its block and its confirmations. */
export function statusView({ tip }: Pick<ReadEnv, 'tip'>, place: TxFacts['place']) {
  if (!place)
    return {
      confirmed: false,
      blockHash: null,
      blockHeight: null,
      blockIndex: null,
      blockTime: null,
      confirmations: 0,
    };
  return {
    confirmed: true,
    blockHash: hashToHex(place.block.hash),
    blockHeight: place.block.height,
    blockIndex: positionIndex(place.position),
    blockTime: headerTime(place.block),
    confirmations: confirmationsAt(tip, place.position),
  };
}

/** Returns a transaction in the form of REST. With `withMempool` false, spends in the mempool are ignored. */
export function txView(env: ReadEnv, facts: TxFacts, { withMempool = true } = {}) {
  const { parsed, isCoinbase, spent, place } = facts;
  const { tx } = parsed;
  const vsize = vsizeOf(parsed);
  const fee = feeOf(facts);
  const paid = valueIn(facts);
  return {
    txid: hashToHex(parsed.txid),
    wtxid: hashToHex(parsed.wtxid),
    version: tx.version,
    locktime: tx.locktime,
    size: parsed.raw.length,
    vsize,
    weight: weightOf(parsed),
    isCoinbase,
    signalsRbf: !isCoinbase && signalsOptInRbf(tx),
    fee: fee === null ? null : sat(fee),
    feeRate: fee === null ? null : feeRateOf(fee, vsize),
    valueIn: paid === null ? null : sat(paid),
    valueOut: sat(valueOut(parsed)),
    vin: tx.inputs.map((input, i) => inputView(env, input, isCoinbase, spent?.[i] ?? null)),
    vout: tx.outputs.map((output, n) => outputView(env, output, n, isSpent(env, facts, n, withMempool))),
    status: statusView(env, place),
    mempool: facts.unconfirmed && withMempool ? mempoolView(env, facts.unconfirmed) : null,
    hex: parsed.raw.toHex(),
    tip: tipView(env.tip),
  };
}

/** Returns the members about a transaction in the mempool. */
function mempoolView({ mempool, settings }: ReadEnv, { slot, seq, time, unbroadcast, replaced }: Unconfirmed) {
  const { entries } = mempool;
  const ancestors = ancestorsOf(entries, slot);
  const chunks = chunksOfCluster(entries, clusterOf(entries, slot), settings.relay.bytesPerSigop);
  const chunk = chunks.find(({ slots }) => slots.includes(slot))!;
  const vsizeOfAll = (slots: readonly number[]) => slots.reduce((sum, each) => sum + entries.vsize(each), 0);
  return {
    firstSeen: time,
    seq,
    ancestorCount: ancestors.length,
    ancestorVsize: vsizeOfAll(ancestors),
    ancestorFee: ancestors.reduce((sum, each) => sum + entries.modifiedFee(each), 0),
    descendantCount: descendantsOf(entries, slot).length,
    // A transaction in a chunk of its own has its own feerate.
    effectiveFeeRate: feeRateOf(chunk.fee, vsizeOfAll(chunk.slots)),
    unbroadcast,
    replaces: replaced.map(hashToHex),
  };
}

function inputView({ params }: ReadEnv, input: TxInput, isCoinbase: boolean, coin: Coin | null) {
  return {
    txid: isCoinbase ? null : hashToHex(input.prevout.txid),
    vout: isCoinbase ? null : input.prevout.vout,
    sequence: input.sequence,
    coinbase: isCoinbase ? input.scriptSig.toHex() : null,
    scriptSig: { hex: input.scriptSig.toHex(), asm: scriptToAsm(input.scriptSig, { sighashDecode: true }) },
    witness: input.witness.map((item) => item.toHex()),
    prevout: coin && {
      value: sat(coin.output.value),
      height: coin.position === IN_MEMPOOL ? null : coinHeight(coin),
      isCoinbase: coin.position !== IN_MEMPOOL && isCoinbaseCoin(coin),
      script: scriptView(coin.output.scriptPubKey, params),
    },
  };
}

function outputView({ params }: ReadEnv, { value, scriptPubKey }: TxOutput, n: number, spent: boolean | null) {
  return { n, value: sat(value), spent, script: scriptView(scriptPubKey, params) };
}

/** Whether an output is spent in the chain or by the mempool; null if it is unspendable or this is unknown. */
function isSpent(env: ReadEnv, facts: TxFacts, vout: number, withMempool: boolean): boolean | null {
  const spent = isSpentInChain(env, facts, vout);
  return spent === false && withMempool ? env.mempool.spender({ txid: facts.parsed.txid, vout }) !== null : spent;
}

/** Whether an output is spent in the chain; null if it is unspendable or this is unknown. */
function isSpentInChain(env: ReadEnv, { parsed, place, unconfirmed }: TxFacts, vout: number): boolean | null {
  // The genesis coinbase was never added to the set of coins.
  if (isUnspendable(parsed.tx.outputs[vout]!.scriptPubKey) || place?.block.height === 0) return null;
  if (!place && !unconfirmed) return null;
  return place !== null && env.reads.coins.get({ txid: parsed.txid, vout }) === null;
}
