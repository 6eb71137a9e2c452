import type { ScriptVerifier } from '../chain/script-verifier.ts';
import { STANDARD_SCRIPT_FLAGS } from '../policy/standard-inputs.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import type { ChainView } from './coins-view.ts';
import type { Mempool } from './pool.ts';
import { AdvanceChecks } from './validation/advance-checks.ts';

export interface SubmissionDeps {
  /** Verifies scripts on other threads; null to verify all of them on this one. */
  readonly verifier: ScriptVerifier | null;
  readonly chain: ChainView;
  readonly mempool: Mempool;
  /** Runs work on the mempool when the chain is settled and the readers of its changes have room for more. */
  settled<T>(work: () => T): Promise<T>;
}

/** Transactions per group. While the scripts of one group are verified, the group before is accepted. */
const MAX_GROUP = 32;
/** Inputs from which on the scripts of a single transaction are verified on other threads. */
const MANY_INPUTS = 16;
/** Time limit of accepting transactions without yielding, milliseconds. */
const SLICE_MS = 8;

const NONE: ReadonlySet<never> = new Set();

interface Submission {
  readonly parsed: ParsedTransaction;
  /** Validates the transaction and adds it. */
  accept(scriptsValid: boolean): void;
  readonly reject: (error: unknown) => void;
}

/**
 * Accepts submitted transactions in their order. The scripts of those that arrive together are verified on other threads
 * first, since that takes most of the time; validity of a script depends on nothing but the transaction and the outputs
 * that it names. The checks that are cheaper come before. Where a transaction cannot be verified in advance, acceptance
 * does it.
 */
export class SubmissionQueue {
  readonly #deps: SubmissionDeps;
  #waiting: Submission[] = [];
  /** The newest group, and the checks of the last one that was verified in advance, until the newest is accepted. */
  #newest: readonly Submission[] = [];
  #advance: AdvanceChecks | null = null;
  #running = false;
  #accepted: Promise<void> = Promise.resolve();

  constructor(deps: SubmissionDeps) {
    this.#deps = deps;
  }

  /** Calls `accept` after those of all earlier transactions; resolves to its result. */
  enqueue<R>(parsed: ParsedTransaction, accept: (scriptsValid: boolean) => R): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ parsed, reject, accept: (scriptsValid) => resolve(accept(scriptsValid)) });
      if (this.#running) return;
      this.#running = true;
      // The other calls of the same message are enqueued before.
      queueMicrotask(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP);
      const before = this.#accepted;
      this.#newest = group;
      const verified = this.#verify(group);
      this.#accepted = this.#acceptGroup(group, verified, before);
      await before;
    }
    this.#running = false;
  }

  /** Resolves to the transactions whose scripts are valid. */
  async #verify(group: readonly Submission[]): Promise<ReadonlySet<Submission>> {
    const { verifier, settled } = this.#deps;
    if (!verifier || (group.length === 1 && group[0]!.parsed.tx.inputs.length < MANY_INPUTS)) return NONE;
    try {
      const { checks, sent } = await settled(() => this.#beginChecks(verifier, group));
      const failure = await checks;
      return new Set(failure ? sent.slice(0, failure.tx) : sent);
    } catch {
      // The chain has stopped or the threads have ended, which acceptance reports.
      return NONE;
    }
  }

  /** Sends the scripts of the transactions that pass all cheaper checks. */
  #beginChecks(verifier: ScriptVerifier, group: readonly Submission[]) {
    const advance = new AdvanceChecks(this.#deps, this.#advance);
    this.#advance = advance;
    const checks = verifier.begin(STANDARD_SCRIPT_FLAGS);
    const sent: Submission[] = [];
    for (const submission of group) {
      const { parsed } = submission;
      const spent = advance.check(parsed);
      if (spent) checks.addTransaction(sent.push(submission) - 1, parsed.raw, spent, parsed.tx.inputs.length);
    }
    return { checks: checks.finish(), sent };
  }

  async #acceptGroup(
    group: readonly Submission[],
    verified: Promise<ReadonlySet<Submission>>,
    before: Promise<void>,
  ): Promise<void> {
    const valid = await verified;
    await before;
    try {
      for (let next = 0; next < group.length; ) {
        next = await this.#deps.settled(() => acceptSlice(group, next, valid));
        // Promises alone would not yield to other tasks.
        if (next < group.length) await new Promise(setImmediate);
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    if (this.#newest !== group) return;
    this.#newest = [];
    this.#advance = null;
  }
}

/** Accepts transactions from `from` on for the time of a slice. Returns the index of the next one. */
function acceptSlice(group: readonly Submission[], from: number, valid: ReadonlySet<Submission>): number {
  const until = performance.now() + SLICE_MS;
  let next = from;
  while (next < group.length && (next === from || performance.now() < until)) {
    const submission = group[next]!;
    const { accept, reject } = submission;
    try {
      accept(valid.has(submission));
    } catch (error) {
      reject(error);
    }
    next++;
  }
  return next;
}
