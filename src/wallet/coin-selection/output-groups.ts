import { bytesToHex } from '../../util/bytes.ts';
import type { Steps } from '../../util/slices.ts';
import {
  COIN_TYPES,
  type CoinType,
  type EligibilityFilter,
  type GroupedCoin,
  isEligible,
  type OutputGroup,
  outputGroup,
  type PricedCoin,
  type WalletCoin,
} from './wallet-coin.ts';

/** Maximum number of coins of one script in a group, which bounds the fee of spending it. */
export const MAX_GROUP_COINS = 100;

/** Groups of one type. */
export interface GroupPool {
  /** Groups whose amount is positive. */
  readonly positive: OutputGroup[];
  /** All groups. */
  readonly mixed: OutputGroup[];
}

/** The groups that pass one filter. */
export interface EligibleGroups {
  readonly byType: ReadonlyMap<CoinType, GroupPool>;
  readonly all: GroupPool;
}

export interface GroupingOptions {
  readonly subtractFeeOutputs: boolean;
  /** Whether all coins of one script are spent together. */
  readonly avoidPartialSpends: boolean;
}

/** A group with its type and its pool. */
interface Candidate {
  readonly group: OutputGroup;
  readonly type: CoinType;
  readonly pool: 'positive' | 'mixed' | 'both';
  /** Whether it is the one group of its script that is not full, beside others that are. */
  readonly partial: boolean;
}

/** An available coin, with and without its price. */
export interface AvailableCoin {
  readonly coin: WalletCoin;
  readonly priced: PricedCoin;
}

/** Yields the groups that pass each filter, which are collected on demand, and those that pass no filter. */
export function* groupOutputs(
  coins: readonly AvailableCoin[],
  filters: readonly EligibilityFilter[],
  options: GroupingOptions,
): Steps<{ eligible(filter: EligibilityFilter): Steps<EligibleGroups>; readonly discarded: readonly OutputGroup[] }> {
  const candidates = yield* options.avoidPartialSpends ? groupsByScript(coins, options) : singleGroups(coins, options);
  yield;
  const accepts = ({ group, partial }: Candidate, filter: EligibilityFilter) =>
    isEligible(group, filter) && (!partial || filter.includePartialGroups);
  const discarded: OutputGroup[] = [];
  for (const candidate of candidates) {
    if (!filters.some((filter) => accepts(candidate, filter))) discarded.push(candidate.group);
    yield;
  }
  return {
    eligible: (filter) => poolsOf(candidates, (candidate) => accepts(candidate, filter)),
    discarded,
  };
}

function* poolsOf(candidates: readonly Candidate[], accepts: (candidate: Candidate) => boolean): Steps<EligibleGroups> {
  const found = new Map<CoinType, GroupPool>();
  for (const candidate of candidates) {
    yield;
    if (!accepts(candidate)) continue;
    const { group, type, pool } = candidate;
    let ofType = found.get(type);
    if (!ofType) found.set(type, (ofType = { positive: [], mixed: [] }));
    if (pool !== 'mixed' && group.amount > 0n) ofType.positive.push(group);
    if (pool !== 'positive') ofType.mixed.push(group);
  }
  const types = COIN_TYPES.filter((type) => found.has(type));
  const pools = types.map((type) => found.get(type)!);
  return {
    byType: new Map(types.map((type, i) => [type, pools[i]!])),
    all: { positive: pools.flatMap(({ positive }) => positive), mixed: pools.flatMap(({ mixed }) => mixed) },
  };
}

function member({ coin: { ancestors, clusterCount }, priced }: AvailableCoin): GroupedCoin {
  return { coin: priced, ancestors, clusterCount };
}

function* singleGroups(coins: readonly AvailableCoin[], options: GroupingOptions): Steps<Candidate[]> {
  const candidates: Candidate[] = [];
  for (const available of coins) {
    const group = outputGroup([member(available)], options.subtractFeeOutputs);
    candidates.push({ group, type: available.coin.type, pool: 'both', partial: false });
    yield;
  }
  return candidates;
}

/** Yields the groups of each script: all its coins, then only those with a positive effective value. */
function* groupsByScript(coins: readonly AvailableCoin[], options: GroupingOptions): Steps<Candidate[]> {
  const all = new Map<CoinType, Map<string, GroupedCoin[]>>();
  for (const available of coins) {
    const { output, type } = available.coin;
    let ofType = all.get(type);
    if (!ofType) all.set(type, (ofType = new Map()));
    const key = bytesToHex(output.scriptPubKey);
    const members = ofType.get(key);
    if (members) members.push(member(available));
    else ofType.set(key, [member(available)]);
    yield;
  }
  const mixed: Candidate[] = [];
  const positive: Candidate[] = [];
  for (const [type, scripts] of all)
    for (const members of scripts.values()) {
      yield;
      const groups = inGroups(members, options);
      const worthwhile = members.filter(({ coin }) => coin.effectiveValue > 0n);
      const positiveGroups = worthwhile.length === members.length ? groups : inGroups(worthwhile, options);
      for (const { group, partial } of groups) mixed.push({ group, type, pool: 'mixed', partial });
      for (const { group, partial } of positiveGroups) positive.push({ group, type, pool: 'positive', partial });
    }
  return [...mixed, ...positive];
}

/** Splits coins into groups of at most `MAX_GROUP_COINS`. */
function inGroups(members: readonly GroupedCoin[], { subtractFeeOutputs }: GroupingOptions) {
  return inChunks(members).map((chunk, i, chunks) => ({
    group: outputGroup(chunk, subtractFeeOutputs),
    partial: chunks.length > 1 && i === chunks.length - 1,
  }));
}

function inChunks(members: readonly GroupedCoin[]): GroupedCoin[][] {
  const chunks: GroupedCoin[][] = [];
  for (let at = 0; at < members.length; at += MAX_GROUP_COINS) chunks.push(members.slice(at, at + MAX_GROUP_COINS));
  return chunks;
}
