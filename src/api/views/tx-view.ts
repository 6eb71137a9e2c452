import { SEQUENCE_FINAL } from '../../consensus/limits.ts';
import { weightOf } from '../../primitives/block.ts';
import { type Coin, coinHeight, isCoinbaseCoin, positionIndex } from '../../primitives/coin.ts';
import { hashToHex } from '../../primitives/hash.ts';
import type { Transaction, TxInput, TxOutput } from '../../primitives/transaction.ts';
import { scriptToAsm } from '../../script/asm.ts';
import { isUnspendable } from '../../script/templates.ts';
import { headerTime, tipView } from '../readers/block-facts.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { confirmationsAt, feeOf, type TxFacts, valueIn, valueOut, vsizeOf } from '../readers/tx-facts.ts';
import { feeRate, sat } from './sat.ts';
import { scriptView } from './script-view.ts';

/** TxStatus: where a transaction stands. */
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

/** BIP-125: some input's sequence says that the transaction may be replaced. */
export function signalsRbf(tx: Transaction): boolean {
  return tx.inputs.some(({ sequence }) => sequence < SEQUENCE_FINAL - 1);
}

/** A transaction in REST. */
export function txView(env: ReadEnv, facts: TxFacts) {
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
    signalsRbf: !isCoinbase && signalsRbf(tx),
    fee: fee === null ? null : sat(fee),
    feeRate: fee === null ? null : feeRate(fee, vsize),
    valueIn: paid === null ? null : sat(paid),
    valueOut: sat(valueOut(parsed)),
    vin: tx.inputs.map((input, i) => inputView(env, input, isCoinbase, spent?.[i] ?? null)),
    vout: tx.outputs.map((output, n) => outputView(env, facts, output, n)),
    status: statusView(env, place),
    mempool: null,
    hex: parsed.raw.toHex(),
    tip: tipView(env.tip),
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
      height: coinHeight(coin),
      isCoinbase: isCoinbaseCoin(coin),
      script: scriptView(coin.output.scriptPubKey, params),
    },
  };
}

function outputView({ reads, params }: ReadEnv, { parsed, place }: TxFacts, output: TxOutput, n: number) {
  return {
    n,
    value: sat(output.value),
    spent: place ? isSpent() : null,
    script: scriptView(output.scriptPubKey, params),
  };
  function isSpent(): boolean | null {
    // The genesis coinbase never entered the set.
    if (isUnspendable(output.scriptPubKey) || place!.block.height === 0) return null;
    return reads.coins.get({ txid: parsed.txid, vout: n }) === null;
  }
}
