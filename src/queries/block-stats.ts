import { blockSubsidy } from '../consensus/subsidy.ts';
import { weightOf } from '../primitives/block.ts';
import { compactSizeLength } from '../primitives/compact-size.ts';
import { hashToHex } from '../primitives/hash.ts';
import type { TxOutput } from '../primitives/transaction.ts';
import { isUnspendable } from '../script/templates.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { parsedBlock } from './block-body.ts';
import { headerTime, medianTime } from './block-facts.ts';
import type { ReadEnv } from './read-env.ts';
import { blockTxFacts, feeOf, valueOut } from './tx-facts.ts';

/** Size of an unspent output without its TxOut: outpoint, height and coinbase flag. */
const PER_UTXO_OVERHEAD = 36 + 4;
/** The two blocks whose coinbases repeat earlier ones, and so changed no counts (BIP-30). */
const BIP30_REPEATS = new Set([
  '91842:00000000000a4d0a398161ffc163c503763b1f4360639393e0e4c8e300e0caec',
  '91880:00000000000743f190a18c5577a3c2d2a1f610ae9601ac046a38084ccb7cd721',
]);

/** Returns statistics of one block, with Core's names in Core's order. The block must have been connected once. */
export function blockStats(env: ReadEnv, block: HeaderRecord) {
  const { reads, params } = env;
  const parsed = parsedBlock(env, block);
  const facts = blockTxFacts(env, block, parsed, null);
  const { height } = block;
  const skipsCoinbase = BIP30_REPEATS.has(`${height}:${hashToHex(block.hash)}`);
  const fees: number[] = [];
  const feerates: { rate: number; weight: number }[] = [];
  const sizes: number[] = [];
  let inputs = 0;
  let outputs = 0;
  let utxos = 0;
  let utxoSizeInc = 0;
  let utxoSizeIncActual = 0;
  let totalOut = 0;
  let totalWeight = 0;
  const segwit = { txs: 0, size: 0, weight: 0 };
  for (const each of facts) {
    const { tx, raw } = each.parsed;
    outputs += tx.outputs.length;
    for (const output of tx.outputs) {
      const size = utxoSize(output);
      utxoSizeInc += size;
      if (height === 0 || (each.isCoinbase && skipsCoinbase) || isUnspendable(output.scriptPubKey)) continue;
      utxos++;
      utxoSizeIncActual += size;
    }
    if (each.isCoinbase) continue;
    inputs += tx.inputs.length;
    totalOut += Number(valueOut(each.parsed));
    const weight = weightOf(each.parsed);
    sizes.push(raw.length);
    totalWeight += weight;
    if (tx.inputs.some(({ witness }) => witness.length > 0)) {
      segwit.txs++;
      segwit.size += raw.length;
      segwit.weight += weight;
    }
    for (const { output } of each.spent!) {
      const size = utxoSize(output);
      utxoSizeInc -= size;
      utxoSizeIncActual -= size;
    }
    const fee = Number(feeOf(each));
    fees.push(fee);
    feerates.push({ rate: Math.floor((fee * 4) / weight), weight });
  }
  const totalFee = sum(fees);
  const totalSize = sum(sizes);
  const rates = feerates.map(({ rate }) => rate);
  const others = facts.length - 1;
  return {
    avgfee: others > 0 ? Math.floor(totalFee / others) : 0,
    avgfeerate: totalWeight > 0 ? Math.floor((totalFee * 4) / totalWeight) : 0,
    avgtxsize: others > 0 ? Math.floor(totalSize / others) : 0,
    blockhash: hashToHex(block.hash),
    feerate_percentiles: percentilesByWeight(feerates, totalWeight),
    height,
    ins: inputs,
    maxfee: largest(fees),
    maxfeerate: largest(rates),
    maxtxsize: largest(sizes),
    medianfee: truncatedMedian(fees),
    mediantime: medianTime(reads, block),
    mediantxsize: truncatedMedian(sizes),
    minfee: smallest(fees),
    minfeerate: smallest(rates),
    mintxsize: smallest(sizes),
    outs: outputs,
    subsidy: Number(blockSubsidy(height, params.consensus.subsidyHalvingInterval)),
    swtotal_size: segwit.size,
    swtotal_weight: segwit.weight,
    swtxs: segwit.txs,
    time: headerTime(block),
    total_out: totalOut,
    total_size: totalSize,
    total_weight: totalWeight,
    totalfee: totalFee,
    txs: facts.length,
    utxo_increase: outputs - inputs,
    utxo_size_inc: utxoSizeInc,
    utxo_increase_actual: utxos - inputs,
    utxo_size_inc_actual: utxoSizeIncActual,
  };
}

function utxoSize({ scriptPubKey }: TxOutput): number {
  return 8 + compactSizeLength(scriptPubKey.length) + scriptPubKey.length + PER_UTXO_OVERHEAD;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), 0);
}

function smallest(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((least, value) => Math.min(least, value));
}

function truncatedMedian(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return 0;
  return sorted.length % 2 === 0 ? Math.floor((sorted[half - 1]! + sorted[half]!) / 2) : sorted[half]!;
}

/** Returns the fee rates below which 10, 25, 50, 75 and 90 percent of the weight lie. */
function percentilesByWeight(feerates: readonly { rate: number; weight: number }[], totalWeight: number): number[] {
  const bounds = [totalWeight / 10, totalWeight / 4, totalWeight / 2, (totalWeight * 3) / 4, (totalWeight * 9) / 10];
  const result: number[] = [];
  let weight = 0;
  for (const each of feerates.toSorted((a, b) => a.rate - b.rate || a.weight - b.weight)) {
    weight += each.weight;
    while (result.length < bounds.length && weight >= bounds[result.length]!) result.push(each.rate);
  }
  while (result.length < bounds.length) result.push(largest(feerates.map(({ rate }) => rate)));
  return result;
}
