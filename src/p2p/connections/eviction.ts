import type { NetworkClass } from '../address/net-group.ts';
import type { ConnectionType, PeerStanding } from './peer-link.ts';

/** The properties of an inbound peer that decide about its eviction. */
export interface EvictionCandidate
  extends Pick<
    PeerStanding,
    'minPing' | 'lastBlockAt' | 'lastTransactionAt' | 'relaysTransactions' | 'hasBloomFilter' | 'hasRelevantServices'
  > {
  readonly id: number;
  readonly type: ConnectionType;
  /** Time of connection, in any unit. */
  readonly openedAt: number;
  readonly network: NetworkClass;
  /** Whether the address is local to this machine. */
  readonly isLocal: boolean;
  readonly noban: boolean;
  /** Whether the address was discouraged when the peer connected. */
  readonly preferEvict: boolean;
  /** Keyed hash of the network group, equal for peers of one group; the key is secret. */
  readonly keyedGroup: bigint;
}

type Compare = (a: EvictionCandidate, b: EvictionCandidate) => number;
type Test = (candidate: EvictionCandidate) => boolean;

const yesLast = (a: boolean, b: boolean) => Number(a) - Number(b);
const youngestFirst: Compare = (a, b) => b.openedAt - a.openedAt;
const byGroup: Compare = (a, b) => (a.keyedGroup < b.keyedGroup ? -1 : a.keyedGroup > b.keyedGroup ? 1 : 0);
// Equal values are compared first, since Infinity - Infinity is NaN.
const slowestFirst: Compare = (a, b) => (a.minPing === b.minPing ? 0 : b.minPing - a.minPing);
const byTransactions: Compare = (a, b) =>
  a.lastTransactionAt - b.lastTransactionAt ||
  yesLast(a.relaysTransactions, b.relaysTransactions) ||
  yesLast(b.hasBloomFilter, a.hasBloomFilter) ||
  youngestFirst(a, b);
const byBlocks: Compare = (a, b) =>
  a.lastBlockAt - b.lastBlockAt || yesLast(a.hasRelevantServices, b.hasRelevantServices) || youngestFirst(a, b);
const byBlocksAlone: Compare = (a, b) => yesLast(b.relaysTransactions, a.relaysTransactions) || byBlocks(a, b);

/** Protects the last `count` candidates of an order that pass the test; returns the others. */
function withoutLast(
  candidates: readonly EvictionCandidate[],
  compare: Compare,
  count: number,
  test: Test = () => true,
): EvictionCandidate[] {
  const sorted = candidates.toSorted(compare);
  const start = sorted.length - Math.min(count, sorted.length);
  return sorted.filter((candidate, at) => at < start || !test(candidate));
}

/**
 * Core's SelectNodeToEvict: returns the id of the inbound peer to disconnect, or null. Peers that are best by criteria
 * an attacker cannot easily dominate are protected first. Of the rest, the youngest peer of the network group with the
 * most connections is chosen.
 */
export function selectPeerToEvict(all: readonly EvictionCandidate[]): number | null {
  let candidates = all.filter(({ noban, type }) => !noban && type === 'inbound');
  // The order of groups is unpredictable.
  candidates = withoutLast(candidates, byGroup, 4);
  // Low latency requires proximity, which is hard to fake.
  candidates = withoutLast(candidates, slowestFirst, 8);
  // These peers recently delivered transactions or blocks.
  candidates = withoutLast(candidates, byTransactions, 4);
  candidates = withoutLast(candidates, byBlocksAlone, 8, (c) => !c.relaysTransactions && c.hasRelevantServices);
  candidates = withoutLast(candidates, byBlocks, 4);
  candidates = withoutProtectedByRatio(candidates);
  if (candidates.some(({ preferEvict }) => preferEvict)) candidates = candidates.filter((c) => c.preferEvict);
  return youngestOfLargestGroup(candidates);
}

/** Networks with high latency, whose peers are protected; with equal counts the first comes first. */
const DISADVANTAGED: readonly Test[] = [
  ({ network }) => network === 'cjdns',
  ({ network }) => network === 'i2p',
  ({ isLocal }) => isLocal,
  ({ network }) => network === 'onion',
];

/**
 * Core's ProtectEvictionCandidatesByRatio: protects half of the candidates, up to a quarter by disadvantaged networks
 * and the rest by uptime. Returns the others, youngest first.
 */
export function withoutProtectedByRatio(given: readonly EvictionCandidate[]): EvictionCandidate[] {
  const toProtect = Math.floor(given.length / 2);
  const toProtectByNetwork = Math.floor(toProtect / 2);
  const networks = DISADVANTAGED.map((test) => ({ test, count: given.filter(test).length }));
  networks.sort((a, b) => a.count - b.count);
  let candidates = [...given];
  const protectedSoFar = () => given.length - candidates.length;
  while (protectedSoFar() < toProtectByNetwork) {
    const present = networks.filter(({ count }) => count > 0);
    if (present.length === 0) break;
    const before = candidates.length;
    const each = Math.max(1, Math.floor((toProtectByNetwork - protectedSoFar()) / present.length));
    for (const network of present) {
      const { test } = network;
      const left = withoutLast(candidates, (a, b) => yesLast(test(a), test(b)) || youngestFirst(a, b), each, test);
      network.count -= candidates.length - left.length;
      candidates = left;
      if (protectedSoFar() >= toProtectByNetwork) break;
    }
    if (candidates.length === before) break;
  }
  return withoutLast(candidates, youngestFirst, toProtect - protectedSoFar());
}

/** Expects candidates sorted with the youngest first. */
function youngestOfLargestGroup(candidates: readonly EvictionCandidate[]): number | null {
  const groups = new Map<bigint, EvictionCandidate[]>();
  for (const candidate of candidates) {
    const group = groups.get(candidate.keyedGroup);
    if (group === undefined) groups.set(candidate.keyedGroup, [candidate]);
    else group.push(candidate);
  }
  let largest: EvictionCandidate[] | null = null;
  for (const group of groups.values()) {
    const more = group.length - (largest?.length ?? 0);
    if (largest === null || more > 0 || (more === 0 && group[0]!.openedAt > largest[0]!.openedAt)) largest = group;
  }
  return largest?.[0]?.id ?? null;
}
