import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { feeForSize } from '../../policy/feerate.ts';
import type { Amount } from '../../primitives/amount.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import { assert } from '../../util/assert.ts';
import type { Steps } from '../../util/slices.ts';
import { type InputSize, maxInputVsize } from './input-size.ts';

/** Kinds of coins that are not mixed in one transaction where it can be avoided, in the order they are tried. */
export const COIN_TYPES = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m', 'unknown'] as const;
export type CoinType = (typeof COIN_TYPES)[number];

/** A spendable coin with the data for coin selection. */
export interface WalletCoin {
  readonly outpoint: Outpoint;
  readonly output: TxOutput;
  readonly type: CoinType;
  /** Confirmations; 0 in the mempool. */
  readonly depth: number;
  /** Maximum size of the signed input; null if the coin is not solvable. */
  readonly size: InputSize | null;
  /** Whether the transaction that made it was sent by this wallet. */
  readonly fromMe: boolean;
  /** Number of its unconfirmed ancestors including its own transaction; 0 once confirmed. */
  readonly ancestors: number;
  /** Number of transactions in its mempool cluster; 0 once confirmed. */
  readonly clusterCount: number;
  /** Satoshis that bump its unconfirmed ancestors to the feerate of the transaction; 0 once confirmed. */
  readonly bumpFee: Amount;
}

/** A coin with its cost at the feerates of one transaction. */
export interface PricedCoin {
  readonly outpoint: Outpoint;
  readonly output: TxOutput;
  readonly depth: number;
  /** Maximum size of the signed input; null if the coin is not solvable. */
  readonly size: InputSize | null;
  /** Virtual bytes of the signed input; -1 if unknown. */
  readonly inputVsize: number;
  readonly fromMe: boolean;
  readonly bumpFee: Amount;
  /** Fee of the input, including the fee to bump its ancestors. */
  readonly fee: Amount;
  /** Fee of the input at the long-term feerate. */
  readonly longTermFee: Amount;
  /** Value less fee. */
  readonly effectiveValue: Amount;
}

/** Satoshis per 1,000 vB. */
export interface CoinFeerates {
  readonly effective: Amount;
  readonly longTerm: Amount;
}

/** Prices coins, one a step. All scripts of a descriptor have the same size, which is priced once. */
export function* priceCoins(coins: readonly WalletCoin[], feerates: CoinFeerates): Steps<PricedCoin[]> {
  const prices = new Map<InputSize | null, InputPrice>();
  const priced: PricedCoin[] = [];
  for (const coin of coins) {
    let price = prices.get(coin.size);
    if (!price) prices.set(coin.size, (price = inputPrice(coin.size, feerates)));
    priced.push(pricedWith(coin, price));
    yield;
  }
  return priced;
}

interface InputPrice {
  readonly vsize: number;
  readonly fee: Amount;
  readonly longTermFee: Amount;
}

function inputPrice(size: InputSize | null, { effective, longTerm }: CoinFeerates): InputPrice {
  if (size === null) return { vsize: -1, fee: 0n, longTermFee: 0n };
  const vsize = maxInputVsize(size);
  return { vsize, fee: feeForSize(effective, vsize), longTermFee: feeForSize(longTerm, vsize) };
}

function pricedWith(coin: WalletCoin, price: InputPrice): PricedCoin {
  const { outpoint, output, depth, fromMe, bumpFee, size } = coin;
  const { vsize: inputVsize, longTermFee } = price;
  const fee = price.fee + bumpFee;
  const effectiveValue = output.value - fee;
  return { outpoint, output, depth, size, inputVsize, fromMe, bumpFee, fee, longTermFee, effectiveValue };
}

/** Coins that are spent together or not at all. */
export interface OutputGroup {
  readonly coins: readonly PricedCoin[];
  /** Sum of the values or effective values, as the selection requires. */
  readonly amount: Amount;
  readonly value: Amount;
  readonly effectiveValue: Amount;
  readonly fee: Amount;
  readonly longTermFee: Amount;
  readonly weight: number;
  readonly fromMe: boolean;
  /** Confirmations of the youngest coin. */
  readonly depth: number;
  /** Sum over the coins, which counts shared ancestors twice. */
  readonly ancestors: number;
  /** Number of transactions in the largest cluster. */
  readonly clusterCount: number;
  /** Whether the recipients pay the fee: then plain values count. */
  readonly subtractFeeOutputs: boolean;
}

export interface GroupedCoin {
  readonly coin: PricedCoin;
  readonly ancestors: number;
  readonly clusterCount: number;
}

/** Depth that satisfies every filter. */
const MAX_DEPTH = 999;

export function outputGroup(members: readonly GroupedCoin[], subtractFeeOutputs: boolean): OutputGroup {
  assert(members.length > 0, 'a group has coins');
  if (members.length === 1) return singleGroup(members[0]!, subtractFeeOutputs);
  let value = 0n;
  let effectiveValue = 0n;
  let fee = 0n;
  let longTermFee = 0n;
  let weight = 0;
  let depth = MAX_DEPTH;
  let ancestors = 0;
  let clusterCount = 0;
  let fromMe = true;
  for (const { coin, ancestors: own, clusterCount: around } of members) {
    value += coin.output.value;
    effectiveValue += coin.effectiveValue;
    fee += coin.fee;
    longTermFee += coin.longTermFee;
    weight += Math.max(coin.inputVsize, 0) * WITNESS_SCALE_FACTOR;
    depth = Math.min(depth, coin.depth);
    ancestors += own;
    clusterCount = Math.max(clusterCount, around);
    fromMe &&= coin.fromMe;
  }
  return {
    coins: members.map(({ coin }) => coin),
    amount: subtractFeeOutputs ? value : effectiveValue,
    value,
    effectiveValue,
    fee,
    longTermFee,
    weight,
    fromMe,
    depth,
    ancestors,
    clusterCount,
    subtractFeeOutputs,
  };
}

function singleGroup({ coin, ancestors, clusterCount }: GroupedCoin, subtractFeeOutputs: boolean): OutputGroup {
  const { effectiveValue, fee, longTermFee, fromMe } = coin;
  const { value } = coin.output;
  return {
    coins: [coin],
    amount: subtractFeeOutputs ? value : effectiveValue,
    value,
    effectiveValue,
    fee,
    longTermFee,
    weight: Math.max(coin.inputVsize, 0) * WITNESS_SCALE_FACTOR,
    fromMe,
    depth: Math.min(MAX_DEPTH, coin.depth),
    ancestors,
    clusterCount,
    subtractFeeOutputs,
  };
}

/** Conditions for spending a group. Selection tries strict filters first. */
export interface EligibilityFilter {
  /** Confirmations that coins sent by this wallet need. */
  readonly ownDepth: number;
  /** Confirmations that coins from others need. */
  readonly foreignDepth: number;
  readonly maxAncestors: number;
  readonly maxClusterCount: number;
  /** Whether a group that is not full may go without the full ones of the same script. */
  readonly includePartialGroups: boolean;
}

export function isEligible(group: OutputGroup, filter: EligibilityFilter): boolean {
  return (
    group.depth >= (group.fromMe ? filter.ownDepth : filter.foreignDepth) &&
    group.ancestors <= filter.maxAncestors &&
    group.clusterCount <= filter.maxClusterCount
  );
}
