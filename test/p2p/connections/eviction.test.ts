import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { NetworkClass } from '../../../src/p2p/address/net-group.ts';
import {
  type EvictionCandidate,
  selectPeerToEvict,
  withoutProtectedByRatio,
} from '../../../src/p2p/connections/eviction.ts';

const NETWORKS: readonly NetworkClass[] = ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns', 'unroutable'];

const below100 = fc.nat(99);
const candidate = (id: number) =>
  fc.record({
    id: fc.constant(id),
    type: fc.constant('inbound' as const),
    openedAt: below100,
    minPing: fc.oneof(below100, fc.constant(Number.POSITIVE_INFINITY)),
    lastBlockAt: below100,
    lastTransactionAt: below100,
    hasRelevantServices: fc.boolean(),
    relaysTransactions: fc.boolean(),
    hasBloomFilter: fc.boolean(),
    keyedGroup: below100.map(BigInt),
    preferEvict: fc.boolean(),
    isLocal: fc.boolean(),
    network: fc.constantFrom(...NETWORKS),
    noban: fc.constant(false),
  });
const candidates = (count: number) => fc.tuple(...Array.from({ length: count }, (_, id) => candidate(id)));
const anyCandidates = (min: number, max: number) => fc.integer({ min, max }).chain(candidates);

type Setup = (id: number, count: number) => Partial<EvictionCandidate>;
/** Candidates with the properties under test, in random order. */
const shuffledWith = (base: fc.Arbitrary<EvictionCandidate[]>, setup: Setup) =>
  base
    .map((list) => list.map((candidate) => ({ ...candidate, ...setup(candidate.id, list.length) })))
    .chain((list) => fc.shuffledSubarray(list, { minLength: list.length }));

const ids = (list: readonly EvictionCandidate[]) => new Set(list.map(({ id }) => id));

interface Ratio {
  readonly count: number;
  readonly local?: readonly number[];
  readonly onion?: readonly number[];
  readonly i2p?: readonly number[];
  readonly cjdns?: readonly number[];
  /** All candidates that must be protected, or some of them. */
  readonly protects: readonly number[];
  /** Others may be protected too: their uptime is random. */
  readonly anyUptime?: boolean;
}

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

// The cases of Core's peer_protection_test. A smaller number is a longer uptime.
const RATIOS: Record<string, Ratio> = {
  'half of those that are there longest': { count: 12, protects: [0, 1, 2, 3, 4, 5] },
  'a quarter onion': { count: 12, onion: [3, 8, 9], protects: [3, 8, 9], anyUptime: true },
  'a quarter onion, a quarter others': { count: 12, onion: [3, 8, 9, 10, 11], protects: [0, 1, 2, 3, 8, 9] },
  'a quarter local': { count: 12, local: [1, 9, 11], protects: [1, 9, 11], anyUptime: true },
  'a quarter local, a quarter others': { count: 12, local: range(7, 11), protects: [0, 1, 2, 7, 8, 9] },
  'a quarter I2P': { count: 12, i2p: [2, 7, 10], protects: [2, 7, 10], anyUptime: true },
  'a quarter I2P, a quarter others': { count: 12, i2p: [4, 9, 10, 11], protects: [0, 1, 2, 4, 9, 10] },
  'a quarter CJDNS': { count: 12, cjdns: [2, 7, 10], protects: [2, 7, 10], anyUptime: true },
  'a quarter CJDNS, a quarter others': { count: 12, cjdns: [4, 9, 10, 11], protects: [0, 1, 2, 4, 9, 10] },
  'onion of 4': { count: 4, onion: [3], protects: [0, 3] },
  'local before onion, of 7': { count: 7, local: [6], onion: [5], protects: [0, 1, 6] },
  'local and onion, of 8': { count: 8, local: [6], onion: [5], protects: [0, 1, 5, 6] },
  '2 local, 1 onion': { count: 12, local: [6, 9, 11], onion: [7, 8, 10], protects: [0, 1, 2, 6, 7, 9] },
  'the only onion': { count: 12, local: range(5, 8), onion: [10], protects: [0, 1, 2, 5, 6, 10] },
  '2 local, 2 onion': { count: 16, local: [6, 9, 11, 12], onion: [8, 10], protects: [0, 1, 2, 3, 6, 8, 9, 10] },
  'unused onion slots for local': {
    count: 16,
    local: range(11, 15),
    onion: [10],
    protects: [0, 1, 2, 3, 10, 11, 12, 13],
  },
  'unused local slots for onion': { count: 16, local: [15], onion: range(7, 10), protects: [0, 1, 2, 3, 7, 8, 9, 15] },
  'fewer onion before I2P': { count: 12, onion: [8, 10], i2p: [6, 9, 11], protects: [0, 1, 2, 6, 8, 10] },
  'I2P before local before onion, of 4': { count: 4, i2p: [3], local: [2], onion: [1], protects: [0, 3] },
  'I2P and local before onion, of 8': { count: 8, local: [6], i2p: [5], onion: [4], protects: [0, 1, 5, 6] },
  '1 local, 2 I2P, 1 onion': {
    count: 16,
    local: [6, ...range(12, 15)],
    i2p: [7, 11],
    onion: [9, 10],
    protects: [0, 1, 2, 3, 6, 7, 9, 11],
  },
  '1 local, 4 I2P, 1 onion': {
    count: 24,
    local: [12],
    i2p: range(15, 22),
    onion: [23],
    protects: [0, 1, 2, 3, 4, 5, 12, 15, 16, 17, 18, 23],
  },
  '1 local, 3 I2P, 2 onion': {
    count: 24,
    local: [15],
    i2p: [12, 14, 17],
    onion: range(18, 23),
    protects: [0, 1, 2, 3, 4, 5, 12, 14, 15, 17, 18, 19],
  },
  '1 local, 2 I2P, 3 onion': {
    count: 24,
    local: [13],
    i2p: range(17, 23),
    onion: [12, 14, 15, 16],
    protects: [0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 17, 18],
  },
  '2 local, 2 CJDNS, 2 onion': {
    count: 24,
    local: range(16, 23),
    cjdns: range(11, 14),
    onion: [7, 8, 9],
    protects: [0, 1, 2, 3, 4, 5, 7, 8, 11, 12, 16, 17],
  },
  'CJDNS first of four, of 5': { count: 5, local: [3], cjdns: [4], i2p: [1], onion: [2], protects: [0, 4] },
  'CJDNS first of four, of 7': { count: 7, local: [4], cjdns: [6], i2p: [5], onion: [3], protects: [0, 1, 6] },
  'CJDNS and I2P, of 8': { count: 8, local: [3], cjdns: [5], i2p: [6], onion: [3], protects: [0, 1, 5, 6] },
  'one of each': {
    count: 16,
    local: range(6, 15),
    cjdns: [11, 15],
    i2p: [10, 14],
    onion: [8, 9],
    protects: [0, 1, 2, 3, 6, 8, 10, 11],
  },
  '2 CJDNS, 1 I2P, 1 local, 2 onion': {
    count: 24,
    local: [13],
    cjdns: range(18, 23),
    i2p: [17],
    onion: [12, 14, 15, 16],
    protects: [0, 1, 2, 3, 4, 5, 12, 13, 14, 17, 18, 19],
  },
};

describe('withoutProtectedByRatio', () => {
  test.each(Object.entries(RATIOS))('%s', (_, { count, local, onion, i2p, cjdns, protects, anyUptime }) => {
    const networkOf = (id: number): NetworkClass =>
      onion?.includes(id) ? 'onion' : i2p?.includes(id) ? 'i2p' : cjdns?.includes(id) ? 'cjdns' : 'ipv4';
    const setup: Setup = (id) => ({
      ...(anyUptime ? {} : { openedAt: id }),
      isLocal: local?.includes(id) ?? false,
      network: networkOf(id),
    });
    fc.assert(
      fc.property(shuffledWith(candidates(count), setup), (list) => {
        const left = withoutProtectedByRatio(list);
        expect(left.length).toBe(count - Math.floor(count / 2));
        const isProtected = range(0, count - 1).filter((id) => !ids(left).has(id));
        if (anyUptime) expect(isProtected).toEqual(expect.arrayContaining([...protects]));
        else expect(isProtected).toEqual([...protects].sort((a, b) => a - b));
      }),
      { numRuns: 20 },
    );
  });
});

const lastWins = (id: number, count: number) => count - id;
const blocksOnly = (id: number) => (id <= 7 ? { relaysTransactions: false, hasRelevantServices: true } : {});

// The cases of Core's peer_eviction_test.
describe('peers that are never evicted', () => {
  const cases: [string, Setup, number][] = [
    [
      'the four peers with the highest keyed groups are protected',
      (id, n) => ({ keyedGroup: BigInt(lastWins(id, n)) }),
      4,
    ],
    ['the eight peers with the lowest ping are protected', (id) => ({ minPing: id }), 8],
    [
      'the four peers with the latest transactions are protected',
      (id, n) => ({ lastTransactionAt: lastWins(id, n) }),
      4,
    ],
    [
      'eight block-relay-only peers with the latest blocks are protected',
      (id, n) => ({ lastBlockAt: lastWins(id, n), ...blocksOnly(id) }),
      8,
    ],
    ['the four peers with the latest blocks are protected', (id, n) => ({ lastBlockAt: lastWins(id, n) }), 4],
    [
      'the twelve peers of both block criteria are protected',
      (id, n) => ({ lastBlockAt: lastWins(id, n), ...blocksOnly(id) }),
      12,
    ],
    [
      'the peers of all criteria together are protected',
      (id, n) => ({
        keyedGroup: BigInt(lastWins(id, n)),
        minPing: id,
        lastTransactionAt: lastWins(id, n),
        lastBlockAt: lastWins(id, n),
      }),
      20,
    ],
  ];
  test.each(cases)('%s', (_, setup, count) =>
    fc.assert(
      fc.property(shuffledWith(anyCandidates(0, 100), setup), (list) => {
        expect(selectPeerToEvict(list) ?? Number.POSITIVE_INFINITY).toBeGreaterThanOrEqual(count);
      }),
      { numRuns: 50 },
    ),
  );
});

test('one of 29 peers is evicted, and none of 20', () => {
  fc.assert(fc.property(anyCandidates(29, 120), (list) => expect(selectPeerToEvict(list)).not.toBeNull()));
  fc.assert(fc.property(anyCandidates(0, 20), (list) => expect(selectPeerToEvict(list)).toBeNull()));
});

test('outbound peers and peers with the noban permission are not evicted', () => {
  const setup: Setup = (id) => (id % 2 ? { noban: true } : { type: 'manual' });
  fc.assert(
    fc.property(shuffledWith(anyCandidates(29, 60), setup), (list) => expect(selectPeerToEvict(list)).toBeNull()),
  );
});

/** Peers that only differ by age; the oldest are sorted last and are protected. */
const alike = (count: number, setup: Setup = () => ({})) =>
  range(0, count - 1)
    .reverse()
    .map((id) => ({
      id,
      type: 'inbound' as const,
      openedAt: id,
      minPing: 100,
      lastBlockAt: 0,
      lastTransactionAt: 0,
      hasRelevantServices: true,
      relaysTransactions: true,
      hasBloomFilter: false,
      keyedGroup: 0n,
      preferEvict: false,
      isLocal: false,
      network: 'ipv4' as const,
      noban: false,
      ...setup(id, count),
    }));

test('the youngest of otherwise equal peers is evicted', () => expect(selectPeerToEvict(alike(60))).toBe(59));

test('a peer that was discouraged when it connected is evicted first', () =>
  expect(selectPeerToEvict(alike(60, (id) => ({ preferEvict: id === 55 })))).toBe(55));

test('the youngest peer of the group with the most connections is evicted', () => {
  const inGroup = (id: number) => ({ keyedGroup: id >= 50 && id < 58 ? 1n : BigInt(1000 + id) });
  expect(selectPeerToEvict(alike(60, inGroup))).toBe(57);
});
