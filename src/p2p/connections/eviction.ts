import type { NetworkClass } from '../address/net-group.ts';
import type { ConnectionType, Standing } from './peer-link.ts';

/** What decides whether an inbound peer has to go for another. */
export interface EvictionCandidate
  extends Pick<
    Standing,
    'minPing' | 'lastBlockAt' | 'lastTransactionAt' | 'relaysTransactions' | 'hasBloomFilter' | 'hasRelevantServices'
  > {
  readonly id: number;
  readonly type: ConnectionType;
  /** When it connected; any unit. */
  readonly openedAt: number;
  readonly network: NetworkClass;
  /** Its address is of this machine. */
  readonly isLocal: boolean;
  readonly noban: boolean;
  /** It was discouraged when it came. */
  readonly preferEvict: boolean;
  /** Its group, hashed with a key that nobody else knows: equal for peers of one group. */
  readonly keyedGroup: bigint;
}

type Compare = (a: EvictionCandidate, b: EvictionCandidate) => number;
type Test = (candidate: EvictionCandidate) => boolean;

const yesLast = (a: boolean, b: boolean) => Number(a) - Number(b);
const youngestFirst: Compare = (a, b) => b.openedAt - a.openedAt;
const byGroup: Compare = (a, b) => (a.keyedGroup < b.keyedGroup ? -1 : a.keyedGroup > b.keyedGroup ? 1 : 0);
// Infinity minus infinity is not a number.
const slowestFirst: Compare = (a, b) => (a.minPing === b.minPing ? 0 : b.minPing - a.minPing);
const byTransactions: Compare = (a, b) =>
  a.lastTransactionAt - b.lastTransactionAt ||
  yesLast(a.relaysTransactions, b.relaysTransactions) ||
  yesLast(b.hasBloomFilter, a.hasBloomFilter) ||
  youngestFirst(a, b);
const byBlocks: Compare = (a, b) =>
  a.lastBlockAt - b.lastBlockAt || yesLast(a.hasRelevantServices, b.hasRelevantServices) || youngestFirst(a, b);
const byBlocksAlone: Compare = (a, b) => yesLast(b.relaysTransactions, a.relaysTransactions) || byBlocks(a, b);

/** Those without the last `count` in an order, of which only ones that pass the test are taken out. */
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
 * Which inbound peer to disconnect so that another can come, or null. First those are protected that are best in some
 * respect an attacker cannot easily be better in than all others; of the rest it is the youngest of the group that has
 * the most connections.
 */
export function selectPeerToEvict(all: readonly EvictionCandidate[]): number | null {
  let candidates = all.filter(({ noban, type }) => !noban && type === 'inbound');
  // Nobody can predict which groups come last.
  candidates = withoutLast(candidates, byGroup, 4);
  // Only someone who is near can answer fast.
  candidates = withoutLast(candidates, slowestFirst, 8);
  // These have done useful work.
  candidates = withoutLast(candidates, byTransactions, 4);
  candidates = withoutLast(candidates, byBlocksAlone, 8, (c) => !c.relaysTransactions && c.hasRelevantServices);
  candidates = withoutLast(candidates, byBlocks, 4);
  candidates = withoutProtectedByRatio(candidates);
  if (candidates.some(({ preferEvict }) => preferEvict)) candidates = candidates.filter((c) => c.preferEvict);
  return youngestOfLargestGroup(candidates);
}

/** Networks whose peers answer slowly and are protected for that; the first of equally many comes first. */
const DISADVANTAGED: readonly Test[] = [
  ({ network }) => network === 'cjdns',
  ({ network }) => network === 'i2p',
  ({ isLocal }) => isLocal,
  ({ network }) => network === 'onion',
];

/**
 * Protects half of those given: up to a quarter by disadvantaged networks, the rest by how long they have been there.
 * What is left is sorted, the youngest first.
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

/** Of candidates that are sorted, the youngest first. */
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
