import {
  type Bip9Deployment,
  type ConsensusParams,
  type DeploymentName,
  retargetInterval,
} from './consensus-params.ts';
import { type HeaderEntry, medianTimePast } from './header-entry.ts';

export type ThresholdState = 'defined' | 'started' | 'locked_in' | 'active' | 'failed';

/** The state of the period that follows a header, by that header (null: the first period). */
export type ThresholdCache = Map<HeaderEntry | null, ThresholdState>;

const TOP_BITS = 0x2000_0000;
const TOP_MASK = 0xe000_0000;

/** BIP-323: bits that signals are looked for in; the others are left to miners as nonce space. */
const SIGNAL_BITS = 5;

/** Main network: share of a period at which unknown signalling is taken for an activation. */
const WARNING_PERIOD = 2016;
const WARNING_THRESHOLD = 1815;

/** What was computed of the deployments of one chain; states never change, so it only grows. */
export class VersionBitsCache {
  readonly deployments: Readonly<Record<DeploymentName, ThresholdCache>> = { testdummy: new Map() };
  readonly warnings: readonly ThresholdCache[] = Array.from({ length: SIGNAL_BITS }, () => new Map());
}

/** A change that a period of blocks decides on: what BIP-9 makes states of. */
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

/** The last block of the period before the one that the child of `parent` is in. */
function periodEnd(parent: HeaderEntry, period: number): HeaderEntry | null {
  return parent.ancestor(parent.height - ((parent.height + 1) % period));
}

/** BIP-9: the state that holds for the child of `parent` (null: the genesis block). */
function thresholdState(
  parent: HeaderEntry | null,
  condition: ThresholdCondition,
  cache: ThresholdCache,
): ThresholdState {
  const { startTime, timeout, period, threshold, minActivationHeight } = condition;
  if (startTime === 'always-active') return 'active';
  if (startTime === 'never-active') return 'failed';

  // Back to a period whose state is known, or that is before the start.
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
      // Enough signals lock in even where the time is out.
      if (countSignals(end, period, condition) >= threshold) state = 'locked_in';
      else if (timeout !== 'no-timeout' && medianTimePast(end) >= timeout) state = 'failed';
    } else if (state === 'locked_in' && end.height + 1 >= minActivationHeight) state = 'active';
    cache.set(end, state);
  }
  return state;
}

/** Signalling blocks among `count` that end with `last`. */
function countSignals(last: HeaderEntry, count: number, { signals }: ThresholdCondition): number {
  let found = 0;
  let at: HeaderEntry | null = last;
  for (let i = 0; i < count && at; i++, at = at.parent) if (signals(at)) found++;
  return found;
}

/** The first height at which the state of the child of `parent` held without a break. */
function stateSince(parent: HeaderEntry | null, condition: ThresholdCondition, cache: ThresholdCache): number {
  if (typeof condition.startTime === 'string') return 0;
  const state = thresholdState(parent, condition, cache);
  if (state === 'defined') return 0;
  // The genesis block's period is always `defined`, so there is a period before.
  let end = periodEnd(parent!, condition.period)!;
  for (;;) {
    const before = end.ancestor(end.height - condition.period);
    if (before === null || thresholdState(before, condition, cache) !== state) return end.height + 1;
    end = before;
  }
}

/** What RPC tells of signalling in the period a block is in. */
interface Bip9Statistics {
  readonly period: number;
  /** Blocks of the period so far. */
  readonly elapsed: number;
  /** Those that signal. */
  readonly count: number;
  /** Absent when locked in: then signalling decides nothing any more. */
  readonly threshold?: number;
  /** Whether the threshold can still be reached. */
  readonly possible?: boolean;
}

export interface Bip9Info {
  readonly status: ThresholdState;
  /** First height of the status. */
  readonly since: number;
  /** Of the next block. */
  readonly statusNext: ThresholdState;
  /** While signalling means something: started, or locked in. */
  readonly statistics: Bip9Statistics | null;
  /** One character to a block of the period so far: `#` signals, `-` does not. */
  readonly signalling: string | null;
  /** Height from which it is active, where that is known; may be that of the next block. */
  readonly activeSince: number | null;
}

/** How a deployment stands at a block. */
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

/** The state of a deployment for the child of `parent`. */
export function deploymentState(
  parent: HeaderEntry | null,
  params: ConsensusParams,
  name: DeploymentName,
  cache: VersionBitsCache,
): ThresholdState {
  return thresholdState(parent, conditionOf(params.deployments[name]), cache.deployments[name]);
}

/** The version a miner gives the child of `parent`: version bits, set for all that is started or locked in. */
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

/** A bit that blocks signal and we know no meaning of. */
export interface UnknownActivation {
  readonly bit: number;
  /** Active by now, rather than locked in. */
  readonly active: boolean;
}

/** Rule changes that the network seems to have agreed on without us: then an operator should upgrade. */
export function unknownActivations(
  tip: HeaderEntry | null,
  params: ConsensusParams,
  isTestnet: boolean,
  cache: VersionBitsCache,
): UnknownActivation[] {
  const period = isTestnet ? retargetInterval(params) : WARNING_PERIOD;
  const threshold = isTestnet ? Math.floor((period * 3) / 4) : WARNING_THRESHOLD;
  // No signal counts below that height, so the periods that end there are not walked through: every bit is `started`.
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
