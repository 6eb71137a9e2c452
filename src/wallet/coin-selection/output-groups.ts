import { bytesToHex } from '../../util/bytes.ts';
import {
  COIN_TYPES,
  type CoinFeerates,
  type CoinType,
  type EligibilityFilter,
  type GroupedCoin,
  isEligible,
  type OutputGroup,
  outputGroup,
  priceCoin,
  type WalletCoin,
} from './coin.ts';

/** Coins of one script that are spent together at most, lest a fee surprise anybody. */
export const MAX_GROUP_COINS = 100;

/** Groups that an algorithm may choose from. */
export interface GroupPool {
  /** Whose amount is above zero. */
  readonly positive: OutputGroup[];
  /** All. */
  readonly mixed: OutputGroup[];
}

/** The groups that pass one filter. */
export interface EligibleGroups {
  readonly byType: ReadonlyMap<CoinType, GroupPool>;
  readonly all: GroupPool;
}

export interface GroupingOptions {
  readonly feerates: CoinFeerates;
  readonly subtractFeeOutputs: boolean;
  /** Whether all coins of one script are spent together. */
  readonly avoidPartialSpends: boolean;
}

/** A group, its type, and in which pool it belongs. */
interface Candidate {
  readonly group: OutputGroup;
  readonly type: CoinType;
  readonly pool: 'positive' | 'mixed' | 'both';
  /** Whether it is the one group of its script that is not full, beside others that are. */
  readonly partial: boolean;
}

/** The groups that pass each of the filters, and those that pass none. */
export function groupOutputs(
  coins: readonly WalletCoin[],
  filters: readonly EligibilityFilter[],
  options: GroupingOptions,
): { readonly eligible: readonly EligibleGroups[]; readonly discarded: readonly OutputGroup[] } {
  const candidates = options.avoidPartialSpends ? groupsByScript(coins, options) : singleGroups(coins, options);
  const accepts = ({ group, partial }: Candidate, filter: EligibilityFilter) =>
    isEligible(group, filter) && (!partial || filter.includePartialGroups);
  return {
    eligible: filters.map((filter) => poolsOf(candidates.filter((candidate) => accepts(candidate, filter)))),
    discarded: candidates
      .filter((candidate) => !filters.some((filter) => accepts(candidate, filter)))
      .map(({ group }) => group),
  };
}

function poolsOf(candidates: readonly Candidate[]): EligibleGroups {
  const byType = new Map<CoinType, GroupPool>();
  const all: GroupPool = { positive: [], mixed: [] };
  for (const type of COIN_TYPES)
    for (const candidate of candidates) {
      if (candidate.type !== type) continue;
      const { group, pool } = candidate;
      const ofType = byType.get(type) ?? { positive: [], mixed: [] };
      byType.set(type, ofType);
      for (const target of [ofType, all]) {
        if (pool !== 'mixed' && group.amount > 0n) target.positive.push(group);
        if (pool !== 'positive') target.mixed.push(group);
      }
    }
  return { byType, all };
}

function member(coin: WalletCoin, { feerates }: GroupingOptions): GroupedCoin {
  return { coin: priceCoin(coin, feerates), ancestors: coin.ancestors, clusterCount: coin.clusterCount };
}

function singleGroups(coins: readonly WalletCoin[], options: GroupingOptions): Candidate[] {
  return coins.map((coin) => ({
    group: outputGroup([member(coin, options)], options.subtractFeeOutputs),
    type: coin.type,
    pool: 'both',
    partial: false,
  }));
}

/** Each script's coins, once all of them and once those that are worth spending. */
function groupsByScript(coins: readonly WalletCoin[], options: GroupingOptions): Candidate[] {
  const all = new Map<string, { readonly type: CoinType; readonly members: GroupedCoin[] }>();
  for (const coin of coins) {
    const key = `${bytesToHex(coin.output.scriptPubKey)} ${coin.type}`;
    const entry = all.get(key) ?? { type: coin.type, members: [] };
    all.set(key, entry);
    entry.members.push(member(coin, options));
  }
  const candidates = (pool: 'positive' | 'mixed') =>
    [...all.values()].flatMap(({ type, members }) => {
      const chosen = pool === 'mixed' ? members : members.filter(({ coin }) => coin.effectiveValue > 0n);
      return inChunks(chosen).map((chunk, i, chunks) => ({
        group: outputGroup(chunk, options.subtractFeeOutputs),
        type,
        pool,
        partial: chunks.length > 1 && i === chunks.length - 1,
      }));
    });
  return [...candidates('mixed'), ...candidates('positive')];
}

function inChunks(members: readonly GroupedCoin[]): GroupedCoin[][] {
  const chunks: GroupedCoin[][] = [];
  for (let at = 0; at < members.length; at += MAX_GROUP_COINS) chunks.push(members.slice(at, at + MAX_GROUP_COINS));
  return chunks;
}
