import { headerFromBytes } from '../primitives/header.ts';
import type { CheckResult, CheckStatus, ReadinessReport } from '../server/ops/readiness.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { ServerKeysStatus } from './keys/server-keys.ts';
import type { TailStatus } from './sink-tail.ts';

export interface ServeReadinessOptions {
  readonly service: string;
  readonly clock: Clock;
  /** Whether results name their reasons. */
  readonly details: boolean;
  /** Maximum age of the tip in seconds; 0 disables the check. */
  readonly maxTipAge: number;
  phase(): 'starting' | 'live' | 'stopping';
  tail(): TailStatus;
  keys(): ServerKeysStatus;
}

/** Age from which on the last read of the database is too old, milliseconds. */
const MAX_TAIL_AGE_MS = 5000;
/** Seconds without a node that writes the database, behind which its rows count as old. */
const MAX_LAPSED_S = 30;

/** The readiness of a server, of the states that its parts have at the moment. */
export class ServeReadiness {
  readonly #options: ServeReadinessOptions;

  constructor(options: ServeReadinessOptions) {
    this.#options = options;
  }

  get ready(): boolean {
    return worstOf(this.#checks()) === 'ok';
  }

  run(): Promise<ReadinessReport> {
    const { service, clock, details } = this.#options;
    const startedAt = clock.monotonicMs();
    const checks = this.#checks();
    const shown = Object.entries(checks).map(([name, { status, ...more }]) => [
      name,
      details ? { status, durationMs: 0, ...more } : { status },
    ]);
    const durationMs = Math.round(clock.monotonicMs() - startedAt);
    const report = { status: worstOf(checks), service, time: unixSeconds(clock), durationMs };
    return Promise.resolve({ ...report, checks: Object.fromEntries(shown) });
  }

  #checks(): Readonly<Record<string, CheckResult>> {
    const phase = this.#options.phase();
    if (phase === 'stopping') return { shutdown: { status: 'fail', message: 'the server is stopping' } };
    const tail = this.#options.tail();
    const database = databaseCheck(tail);
    if (phase === 'starting') return { database, startup: startupCheck(tail) };
    return { database, chain: this.#chainCheck(tail), keys: keysCheck(this.#options.keys()) };
  }

  #chainCheck({ head, seq }: TailStatus): CheckResult {
    const { maxTipAge, clock } = this.#options;
    const { height, lapsed, header } = head!;
    const tipAge = unixSeconds(clock) - headerFromBytes(header!).time;
    const details = { height, seq, tipAge };
    if (lapsed > MAX_LAPSED_S)
      return { status: 'degraded', message: 'no node writes the database', seconds: Math.round(lapsed), ...details };
    if (maxTipAge > 0 && tipAge > maxTipAge) return { status: 'degraded', message: 'the tip is old', ...details };
    return { status: 'ok', ...details };
  }
}

/** The report names no reason of the database, which the log has: it may name hosts and users. */
function databaseCheck({ ageMs, problem }: TailStatus): CheckResult {
  if (ageMs === null) return { status: 'fail', message: 'the database has not answered yet' };
  const details = { ageMs: Math.round(ageMs) };
  if (problem !== null || ageMs > MAX_TAIL_AGE_MS)
    return { status: 'fail', message: 'the database cannot be read', ...details };
  return { status: 'ok', ...details };
}

function startupCheck({ head }: TailStatus): CheckResult {
  const message = head !== null && head.phase !== 'live' ? 'a node fills the database' : 'the server is starting';
  return { status: 'fail', message };
}

function keysCheck({ keys, rates }: ServerKeysStatus): CheckResult {
  if (keys.state !== 'current') return { status: 'degraded', message: 'the keys cannot be read', state: keys.state };
  if (rates.problem !== null) return { status: 'degraded', message: 'rate limits are not shared' };
  return { status: 'ok' };
}

function worstOf(checks: Readonly<Record<string, CheckResult>>): CheckStatus {
  const statuses = Object.values(checks).map(({ status }) => status);
  if (statuses.includes('fail')) return 'fail';
  return statuses.includes('degraded') ? 'degraded' : 'ok';
}
