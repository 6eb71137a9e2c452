import {
  type Bip9Deployment,
  type ConsensusParams,
  type DeploymentName,
  retargetInterval,
} from './consensus-params.ts';
import { type HeaderEntry, medianTimePast } from './header-entry.ts';

export type ThresholdState = 'defined' | 'started' | 'locked_in' | 'active' | 'failed';

/** State of the period after a header, by that header (null: the first period). */
export type ThresholdCache = Map<HeaderEntry | null, ThresholdState>;

const TOP_BITS = 0x2000_0000;
const TOP_MASK = 0xe000_0000;

/** BIP-323: bits that are checked for unknown signals; miners may use the others as nonce space. */
const SIGNAL_BITS = 5;

/** Main network: unknown signals in this many blocks of a period count as an activation. */
const WARNING_PERIOD = 2016;
const WARNING_THRESHOLD = 1815;

/** Computed states of the deployments of one chain; states never change, so entries are only added. */
export class VersionBitsCache {
  readonly deployments: Readonly<Record<DeploymentName, ThresholdCache>> = { testdummy: new Map() };
  readonly warnings: readonly ThresholdCache[] = Array.from({ length: SIGNAL_BITS }, () => new Map());
}

/** A condition with the states of BIP-9. */
interface ThresholdCondition {
  readonly startTime: Bip9Deployment['startTime'];
  readonly timeout: Bip9Deployment['timeout'];
  readonly minActivationHeight: number;
  readonly period: number;
  readonly threshold: number;
  signals(entry: HeaderEntry): boolean;
}

function conditionOf(deployment: Bip9Deployment): ThresholdCondition {
  return { ...deployment, signals: (entry) => signalsBit(entry.version, deployment.bit) };
}

function usesVersionBits(version: number): boolean {
  return (version & TOP_MASK) >>> 0 === TOP_BITS;
}

function signalsBit(version: number, bit: number): boolean {
  return usesVersionBits(version) && ((version >>> bit) & 1) !== 0;
}

/** Returns the last block of the period before that of a child of `parent`. */
function periodEnd(parent: HeaderEntry, period: number): HeaderEntry | null {
  return parent.ancestor(parent.height - ((parent.height + 1) % period));
}

/** Returns the BIP-9 state for a child of `parent` (null: the genesis block). */
function thresholdState(
  parent: HeaderEntry | null,
  condition: ThresholdCondition,
  cache: ThresholdCache,
): ThresholdState {
  const { startTime, timeout, period, threshold, minActivationHeight } = condition;
  if (startTime === 'always-active') return 'active';
  if (startTime === 'never-active') return 'failed';

  // Walks back to a period whose state is known, or that is before the start.
  const unknown: HeaderEntry[] = [];
  let at = parent && periodEnd(parent, period);
  let state = cache.get(at);
  while (state === undefined) {
    if (at === null || medianTimePast(at) < startTime) {
      state = 'defined';
      cache.set(at, state);
    } else {
      unknown.push(at);
      at = at.ancestor(at.height - period);
      state = cache.get(at);
    }
  }
  for (let end = unknown.pop(); end; end = unknown.pop()) {
    if (state === 'defined') {
      if (medianTimePast(end) >= startTime) state = 'started';
    } else if (state === 'started') {
      // Enough signals lock in even after the timeout.
      if (countSignals(end, period, condition) >= threshold) state = 'locked_in';
      else if (timeout !== 'no-timeout' && medianTimePast(end) >= timeout) state = 'failed';
    } else if (state === 'locked_in' && end.height + 1 >= minActivationHeight) state = 'active';
    cache.set(end, state);
  }
  return state;
}

/** Counts the signalling blocks among `count` blocks that end with `last`. */
function countSignals(last: HeaderEntry, count: number, { signals }: ThresholdCondition): number {
  let found = 0;
  let at: HeaderEntry | null = last;
  for (let i = 0; i < count && at; i++, at = at.parent) if (signals(at)) found++;
  return found;
}

/** Returns the first height since which the state of a child of `parent` has held. */
function stateSince(parent: HeaderEntry | null, condition: ThresholdCondition, cache: ThresholdCache): number {
  if (typeof condition.startTime === 'string') return 0;
  const state = thresholdState(parent, condition, cache);
  if (state === 'defined') return 0;
  // The period of the genesis block is always `defined`, so an earlier period exists.
  let end = periodEnd(parent!, condition.period)!;
  for (;;) {
    const before = end.ancestor(end.height - condition.period);
    if (before === null || thresholdState(before, condition, cache) !== state) return end.height + 1;
    end = before;
  }
}

/** Signalling statistics of a period, as RPC shows them. */
interface Bip9Statistics {
  readonly period: number;
  /** Number of blocks of the period so far. */
  readonly elapsed: number;
  /** Number of signalling blocks. */
  readonly count: number;
  /** Absent once locked in, when signals have no effect. */
  readonly threshold?: number;
  /** Whether the threshold can still be reached. */
  readonly possible?: boolean;
}

export interface Bip9Info {
  readonly status: ThresholdState;
  /** First height of the status. */
  readonly since: number;
  /** Status of the next block. */
  readonly statusNext: ThresholdState;
  /** Present while the status is started or locked in. */
  readonly statistics: Bip9Statistics | null;
  /** One character for each block of the period so far: `#` signals, `-` does not. */
  readonly signalling: string | null;
  /** Activation height, if it is known; may be that of the next block. */
  readonly activeSince: number | null;
}

/** Returns the state of a deployment at a block, as RPC shows it. */
export function bip9Info(
  entry: HeaderEntry,
  params: ConsensusParams,
  name: DeploymentName,
  cache: VersionBitsCache,
): Bip9Info {
  const condition = conditionOf(params.deployments[name]);
  const states = cache.deployments[name];
  const status = thresholdState(entry.parent, condition, states);
  const statusNext = thresholdState(entry, condition, states);
  const since = stateSince(entry.parent, condition, states);
  let statistics: Bip9Statistics | null = null;
  let signalling: string | null = null;
  if (status === 'started' || status === 'locked_in') {
    const { period, threshold } = condition;
    const elapsed = 1 + (entry.height % period);
    const marks: string[] = [];
    let at: HeaderEntry | null = entry;
    for (let i = 0; i < elapsed && at; i++, at = at.parent) marks.push(condition.signals(at) ? '#' : '-');
    signalling = marks.reverse().join('');
    const count = marks.filter((mark) => mark === '#').length;
    const possible = period - threshold >= elapsed - count;
    statistics = { period, elapsed, count, ...(status === 'started' ? { threshold, possible } : {}) };
  }
  const activeSince = status === 'active' ? since : statusNext === 'active' ? entry.height + 1 : null;
  return { status, since, statusNext, statistics, signalling, activeSince };
}

/** Returns the state of a deployment for a child of `parent`. */
export function deploymentState(
  parent: HeaderEntry | null,
  params: ConsensusParams,
  name: DeploymentName,
  cache: VersionBitsCache,
): ThresholdState {
  return thresholdState(parent, conditionOf(params.deployments[name]), cache.deployments[name]);
}

/** Returns the version for a child of `parent`: version bits are set for deployments that are started or locked in. */
export function computeBlockVersion(
  parent: HeaderEntry | null,
  params: ConsensusParams,
  cache: VersionBitsCache,
): number {
  let version = TOP_BITS;
  for (const name of Object.keys(params.deployments) as DeploymentName[]) {
    const state = deploymentState(parent, params, name, cache);
    if (state === 'started' || state === 'locked_in') version |= 1 << params.deployments[name].bit;
  }
  return version;
}

/** A version bit with an unknown meaning that blocks signal. */
export interface UnknownActivation {
  readonly bit: number;
  /** Whether it is active; otherwise it is locked in. */
  readonly active: boolean;
}

/** Returns unknown rule changes that the network activated or locked in: an operator should upgrade. */
export function unknownActivations(
  tip: HeaderEntry | null,
  params: ConsensusParams,
  isTestnet: boolean,
  cache: VersionBitsCache,
): UnknownActivation[] {
  const period = isTestnet ? retargetInterval(params) : WARNING_PERIOD;
  const threshold = isTestnet ? Math.floor((period * 3) / 4) : WARNING_THRESHOLD;
  // Signals below that height are ignored, so the periods up to it need no scan: every bit is `started`.
  const below = Math.floor(params.minBip9WarningHeight / period) * period - 1;
  const settled = below < 0 ? null : (tip?.ancestor(below) ?? null);
  const found: UnknownActivation[] = [];
  for (const [bit, states] of cache.warnings.entries()) {
    const signals = (entry: HeaderEntry) =>
      entry.height >= params.minBip9WarningHeight &&
      signalsBit(entry.version, bit) &&
      ((computeBlockVersion(entry.parent, params, cache) >>> bit) & 1) === 0;
    const condition = {
      startTime: 0,
      timeout: 'no-timeout',
      minActivationHeight: 0,
      period,
      threshold,
      signals,
    } as const;
    if (settled) states.set(settled, 'started');
    const state = thresholdState(tip, condition, states);
    if (state === 'active' || state === 'locked_in') found.push({ bit, active: state === 'active' });
  }
  return found;
}
