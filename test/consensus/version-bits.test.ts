import { describe, expect, test } from 'bun:test';
import type { ConsensusParams } from '../../src/consensus/consensus-params.ts';
import {
  bip9Info,
  computeBlockVersion,
  deploymentState,
  type ThresholdState,
  unknownActivations,
  VersionBitsCache,
} from '../../src/consensus/version-bits.ts';
import { regtest } from '../../src/params/regtest.ts';
import { TestEntry } from './chain-fixture.ts';

const START = 1_415_926_536;
const at = (index: number) => START + index * 600;

/** Bit 8, periods of 1,000 blocks, 900 to lock in. */
function paramsWith(minActivationHeight: number, startTime: ConsensusParams['deployments']['testdummy']['startTime']) {
  const testdummy = { bit: 8, startTime, timeout: at(20_000), minActivationHeight, period: 1000, threshold: 900 };
  return { ...regtest.consensus, deployments: { testdummy } };
}
const params = paramsWith(0, at(10_000));
const delayed = paramsWith(15_000, at(10_000));

/**
 * Extends the chain to this many blocks with this time, signalling or not; then the next block has this state since
 * that height.
 */
type Step = [
  blocks: number,
  time: number,
  signal: boolean,
  state: ThresholdState,
  since: number,
  delayedSince?: number,
];

// The scenarios of Core's version bits tests.
const SCENARIOS: [string, Step[]][] = [
  [
    'start and timeout at once: started, then failed',
    [
      [1, at(1), true, 'defined', 0],
      [11, at(11), true, 'defined', 0],
      [989, at(989), true, 'defined', 0],
      [999, at(20_000), true, 'defined', 0],
      [1000, at(20_000), false, 'started', 1000],
      [1999, at(30_001), false, 'started', 1000],
      [2000, at(30_002), true, 'failed', 2000],
      [2001, at(30_003), true, 'failed', 2000],
      [3000, at(30_005), true, 'failed', 2000],
      [4000, at(30_006), true, 'failed', 2000],
    ],
  ],
  [
    'one signal short of the threshold fails',
    [
      [1, at(1), false, 'defined', 0],
      [1000, at(10_000) - 1, true, 'defined', 0],
      [2000, at(10_000), true, 'started', 2000],
      [2051, at(10_010), false, 'started', 2000],
      [2950, at(10_020), true, 'started', 2000],
      [3000, at(20_000), false, 'failed', 3000],
      [4000, at(20_010), true, 'failed', 3000],
    ],
  ],
  [
    'enough signals lock in even in the period that times out',
    [
      [1, at(1), false, 'defined', 0],
      [1000, at(10_000) - 1, true, 'defined', 0],
      [2000, at(10_000), true, 'started', 2000],
      [2999, at(30_000), true, 'started', 2000],
      [3000, at(30_000), true, 'locked_in', 3000],
      [3999, at(30_001), false, 'locked_in', 3000],
      [4000, at(30_002), false, 'active', 4000, 3000],
      [14_333, at(30_003), false, 'active', 4000, 3000],
      [24_000, at(40_000), false, 'active', 4000, 15_000],
    ],
  ],
  [
    'just the threshold locks in',
    [
      [1, at(1), false, 'defined', 0],
      [1000, at(10_000) - 1, true, 'defined', 0],
      [2000, at(10_000), true, 'started', 2000],
      [2050, at(10_010), false, 'started', 2000],
      [2950, at(10_020), true, 'started', 2000],
      [2999, at(19_999), false, 'started', 2000],
      [3000, at(29_999), false, 'locked_in', 3000],
      [3999, at(30_001), false, 'locked_in', 3000],
      [4000, at(30_002), false, 'active', 4000, 3000],
      [15_000, at(40_000), false, 'active', 4000, 15_000],
    ],
  ],
  [
    'periods may pass before the start and before the timeout',
    [
      [999, at(999), false, 'defined', 0],
      [1000, at(1000), false, 'defined', 0],
      [2000, at(2000), false, 'defined', 0],
      [3000, at(10_000), false, 'started', 3000],
      [5000, at(10_000), false, 'started', 3000],
      [5999, at(20_000), false, 'started', 3000],
      [6000, at(20_000), false, 'failed', 6000],
      [24_000, at(20_000), true, 'failed', 6000],
    ],
  ],
];

function extend(tip: TestEntry | null, blocks: number, time: number, version: number): TestEntry {
  let last = tip;
  while ((last?.height ?? -1) < blocks - 1) last = new TestEntry(last, { version, time, bits: 0x207f_ffff });
  return last!;
}

describe('states', () => {
  for (const [title, steps] of SCENARIOS)
    test(title, () => {
      const kept = { plain: new VersionBitsCache(), delayed: new VersionBitsCache() };
      let tip: TestEntry | null = null;
      for (const [blocks, time, signal, state, since, delayedSince = since] of steps) {
        tip = extend(tip, blocks, time, signal ? 0x2000_0100 : 0x2000_0000);
        // `since` and status of the next block.
        const next: TestEntry = new TestEntry(tip, { time, bits: 0x207f_ffff });
        for (const cache of [kept.plain, new VersionBitsCache()]) {
          expect([blocks, deploymentState(tip, params, 'testdummy', cache)]).toEqual([blocks, state]);
          expect(bip9Info(next, params, 'testdummy', cache)).toMatchObject({ status: state, since });
        }
        const late = delayedSince === since ? state : delayedSince === 15_000 ? 'active' : 'locked_in';
        expect(bip9Info(next, delayed, 'testdummy', kept.delayed)).toMatchObject({ status: late, since: delayedSince });
      }
    });

  test('are constant for always-active and never-active deployments', () => {
    const tip = extend(null, 10, at(0), 0x2000_0100);
    for (const [startTime, state] of [
      ['always-active', 'active'],
      ['never-active', 'failed'],
    ] as const) {
      const own = paramsWith(0, startTime);
      expect(deploymentState(null, own, 'testdummy', new VersionBitsCache())).toBe(state);
      expect(bip9Info(tip, own, 'testdummy', new VersionBitsCache())).toMatchObject({ status: state, since: 0 });
    }
  });

  test('depend on versions that begin with 001 alone', () => {
    for (const [version, state] of [
      [0x2000_0100, 'locked_in'],
      [0x3000_0100, 'locked_in'],
      [0x0000_0100, 'started'],
      [0x4000_0100, 'started'],
      [0x6000_0100, 'started'],
      [0xe000_0100 | 0, 'started'],
    ] as const) {
      const started = extend(null, 1000, at(10_000), 0x2000_0000);
      const tip = extend(started, 2000, at(10_001), version);
      expect([version, deploymentState(tip, params, 'testdummy', new VersionBitsCache())]).toEqual([version, state]);
    }
  });
});

describe('bip9Info', () => {
  const { consensus } = regtest;
  const info = (tip: TestEntry) => bip9Info(tip, consensus, 'testdummy', new VersionBitsCache());
  const SIGNAL = 0x3000_0000;

  test('is defined and then started from block 144 on regtest', () => {
    expect(info(extend(null, 143, at(0), 0x2000_0000))).toEqual({
      status: 'defined',
      since: 0,
      statusNext: 'defined',
      statistics: null,
      signalling: null,
      activeSince: null,
    });
    expect(info(extend(null, 144, at(0), 0x2000_0000))).toMatchObject({ status: 'defined', statusNext: 'started' });
  });

  test('shows the statistics of the period while started', () => {
    let tip = extend(null, 145, at(0), SIGNAL);
    tip = extend(tip, 147, at(0), 0x2000_0000);
    tip = extend(tip, 148, at(0), SIGNAL);
    expect(info(tip)).toEqual({
      status: 'started',
      since: 144,
      statusNext: 'started',
      statistics: { period: 144, elapsed: 4, count: 2, threshold: 108, possible: true },
      signalling: '#--#',
      activeSince: null,
    });
  });

  test('shows that the threshold cannot be reached after 37 blocks without a signal', () => {
    const at36 = extend(extend(null, 144, at(0), 4), 144 + 36, at(0), 4);
    expect(info(at36).statistics).toMatchObject({ elapsed: 36, possible: true });
    expect(info(extend(at36, 144 + 37, at(0), 4)).statistics).toMatchObject({ elapsed: 37, possible: false });
  });

  test('has no threshold once locked in, and no statistics once active', () => {
    const lockedIn = extend(null, 289, at(0), SIGNAL);
    expect(info(lockedIn)).toEqual({
      status: 'locked_in',
      since: 288,
      statusNext: 'locked_in',
      statistics: { period: 144, elapsed: 1, count: 1 },
      signalling: '#',
      activeSince: null,
    });
    const last = extend(lockedIn, 432, at(0), 0x2000_0000);
    expect(info(last)).toMatchObject({ status: 'locked_in', statusNext: 'active', activeSince: 432 });
    expect(info(extend(last, 433, at(0), 0x2000_0000))).toEqual({
      status: 'active',
      since: 432,
      statusNext: 'active',
      statistics: null,
      signalling: null,
      activeSince: 432,
    });
  });

  test('computeBlockVersion sets the bit while the deployment is started or locked in', () => {
    const version = (tip: TestEntry | null) => computeBlockVersion(tip, consensus, new VersionBitsCache());
    expect(version(null)).toBe(0x2000_0000);
    const started = extend(null, 144, at(0), SIGNAL);
    expect(version(started)).toBe(0x3000_0000);
    const lockedIn = extend(started, 288, at(0), SIGNAL);
    expect(version(lockedIn)).toBe(0x3000_0000);
    expect(version(extend(lockedIn, 432, at(0), SIGNAL))).toBe(0x2000_0000);
  });
});

describe('unknown rule changes', () => {
  const unknown = (tip: TestEntry, min = 0) =>
    unknownActivations(tip, { ...regtest.consensus, minBip9WarningHeight: min }, true, new VersionBitsCache());

  test('are found if three quarters of the blocks of a test network signal a bit', () => {
    const quiet = extend(null, 144, at(0), 0x2000_0000);
    const mixed = extend(extend(quiet, 144 + 36, at(0), 0x2000_0000), 288, at(0), 0x2000_0002);
    expect(unknown(quiet)).toEqual([]);
    expect(unknown(mixed)).toEqual([{ bit: 1, active: false }]);
    expect(unknown(extend(mixed, 432, at(0), 0x2000_0000))).toEqual([{ bit: 1, active: true }]);
    const short = extend(extend(quiet, 144 + 37, at(0), 0x2000_0000), 288, at(0), 0x2000_0002);
    expect(unknown(short)).toEqual([]);
  });

  test('are not found below minBip9WarningHeight, nor in bits reserved for miners', () => {
    const quiet = extend(null, 144, at(0), 0x2000_0000);
    expect(unknown(extend(quiet, 288, at(0), 0x2000_0002), 288)).toEqual([]);
    expect(unknown(extend(quiet, 288, at(0), 0x2fff_ffe0))).toEqual([]);
  });
});
