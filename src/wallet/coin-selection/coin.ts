import { WITNESS_SCALE_FACTOR } from '../../consensus/limits.ts';
import { feeForSize } from '../../policy/feerate.ts';
import type { Amount } from '../../primitives/amount.ts';
import type { Outpoint } from '../../primitives/outpoint.ts';
import type { TxOutput } from '../../primitives/transaction.ts';
import { assert } from '../../util/assert.ts';
import { type InputSize, maxInputVsize } from './input-size.ts';

/** Kinds of coins that are not mixed in one transaction where it can be avoided, in the order they are tried. */
export const COIN_TYPES = ['legacy', 'p2sh-segwit', 'bech32', 'bech32m', 'unknown'] as const;
export type CoinType = (typeof COIN_TYPES)[number];

/** A coin that may be spent, with what selection looks at. */
export interface WalletCoin {
  readonly outpoint: Outpoint;
  readonly output: TxOutput;
  readonly type: CoinType;
  /** Confirmations; 0 in the mempool. */
  readonly depth: number;
  /** Null where it is not known how to spend it. */
  readonly size: InputSize | null;
  /** Whether the transaction that made it was sent by this wallet. */
  readonly fromMe: boolean;
  /** Unconfirmed transactions that it depends on, its own included; 0 once confirmed. */
  readonly ancestors: number;
  /** Transactions of its mempool cluster; 0 once confirmed. */
  readonly clusterCount: number;
  /** Satoshis that lift its unconfirmed ancestors to the feerate of the transaction; 0 once confirmed. */
  readonly bumpFee: Amount;
}

/** A coin with its cost at the feerates of one transaction. */
export interface PricedCoin {
  readonly outpoint: Outpoint;
  readonly output: TxOutput;
  readonly depth: number;
  /** Virtual bytes of the signed input, -1 where unknown. */
  readonly inputVsize: number;
  readonly fromMe: boolean;
  readonly bumpFee: Amount;
  /** Of the input, and to bump its ancestors. */
  readonly fee: Amount;
  /** The same input at the long-term feerate. */
  readonly longTermFee: Amount;
  /** Value less fee. */
  readonly effectiveValue: Amount;
}

/** Satoshis per 1,000 vB. */
export interface CoinFeerates {
  readonly effective: Amount;
  readonly longTerm: Amount;
}

export function priceCoin(coin: WalletCoin, { effective, longTerm }: CoinFeerates): PricedCoin {
  const { outpoint, output, depth, fromMe, bumpFee, size } = coin;
  const inputVsize = size === null ? -1 : maxInputVsize(size);
  const fee = (inputVsize < 0 ? 0n : feeForSize(effective, inputVsize)) + bumpFee;
  const longTermFee = inputVsize < 0 ? 0n : feeForSize(longTerm, inputVsize);
  return { outpoint, output, depth, inputVsize, fromMe, bumpFee, fee, longTermFee, effectiveValue: output.value - fee };
}

/** Coins that are spent together or not at all. */
export interface OutputGroup {
  readonly coins: readonly PricedCoin[];
  /** Value or effective value, whichever selection counts in. */
  readonly amount: Amount;
  readonly value: Amount;
  readonly effectiveValue: Amount;
  readonly fee: Amount;
  readonly longTermFee: Amount;
  readonly weight: number;
  readonly fromMe: boolean;
  /** Of the youngest. */
  readonly depth: number;
  /** Summed, so that shared ones count twice. */
  readonly ancestors: number;
  /** Of the largest cluster. */
  readonly clusterCount: number;
  /** Whether the recipients pay the fee: then plain values count. */
  readonly subtractFeeOutputs: boolean;
}

export interface GroupedCoin {
  readonly coin: PricedCoin;
  readonly ancestors: number;
  readonly clusterCount: number;
}

/** A depth that is deep enough for every rule. */
const MAX_DEPTH = 999;

export function outputGroup(members: readonly GroupedCoin[], subtractFeeOutputs: boolean): OutputGroup {
  assert(members.length > 0, 'a group has coins');
  let value = 0n;
  let effectiveValue = 0n;
  let fee = 0n;
  let longTermFee = 0n;
  let weight = 0;
  let depth = MAX_DEPTH;
  let ancestors = 0;
  let clusterCount = 0;
  for (const { coin, ...relatives } of members) {
    value += coin.output.value;
    effectiveValue += coin.effectiveValue;
    fee += coin.fee;
    longTermFee += coin.longTermFee;
    weight += Math.max(coin.inputVsize, 0) * WITNESS_SCALE_FACTOR;
    depth = Math.min(depth, coin.depth);
    ancestors += relatives.ancestors;
    clusterCount = Math.max(clusterCount, relatives.clusterCount);
  }
  return {
    coins: members.map(({ coin }) => coin),
    amount: subtractFeeOutputs ? value : effectiveValue,
    value,
    effectiveValue,
    fee,
    longTermFee,
    weight,
    fromMe: members.every(({ coin }) => coin.fromMe),
    depth,
    ancestors,
    clusterCount,
    subtractFeeOutputs,
  };
}

/** Which groups may be spent; selection begins strict and yields step by step. */
export interface EligibilityFilter {
  /** Confirmations that coins sent by this wallet need. */
  readonly ownDepth: number;
  /** The same for others'. */
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
