import type { ScriptVerifier } from '../chain/script-verifier.ts';
import { STANDARD_SCRIPT_FLAGS } from '../policy/standard-inputs.ts';
import { MAX_STANDARD_TX_WEIGHT } from '../policy/standard-tx.ts';
import { type ParsedTransaction, weightOf } from '../primitives/block.ts';
import { writeUndoRecord } from '../primitives/undo.ts';
import { ByteWriter } from '../util/bytes.ts';
import { IN_MEMPOOL } from './changes.ts';
import { type ChainView, MempoolCoins } from './coins-view.ts';
import type { Entries } from './entries.ts';

export interface SubmissionDeps {
  /** Verifies scripts on other threads; null to verify all of them on this one. */
  readonly verifier: ScriptVerifier | null;
  readonly chain: ChainView;
  readonly entries: Entries;
  /** Runs work on the mempool when the chain is settled. */
  settled<T>(work: () => T): Promise<T>;
}

/** Transactions per group. While the scripts of one group are verified, the group before is accepted. */
const MAX_GROUP = 32;
/** Inputs from which on the scripts of a single transaction are verified on other threads. */
const MANY_INPUTS = 16;
/** Time limit of accepting transactions without yielding, milliseconds. */
const SLICE_MS = 8;

interface Submission {
  readonly parsed: ParsedTransaction;
  /** Validates the transaction and adds it. */
  accept(scriptsValid: boolean): void;
  readonly reject: (error: unknown) => void;
}

/**
 * Accepts submitted transactions in their order. The scripts of those that arrive together are verified on other threads
 * first, since that takes most of the time; validity of a script depends on nothing but the transaction and the outputs
 * that it names. Where a transaction cannot be verified in advance, acceptance does it.
 */
export class SubmissionQueue {
  readonly #deps: SubmissionDeps;
  #waiting: Submission[] = [];
  /** The newest group, until it is accepted. */
  #previous: readonly Submission[] = [];
  #running = false;
  #accepted: Promise<void> = Promise.resolve();
  readonly #writer = new ByteWriter(1024);

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
      const verified = this.#verify(group, this.#previous);
      this.#previous = group;
      this.#accepted = this.#acceptGroup(group, verified, before);
      await before;
    }
    this.#running = false;
  }

  /**
   * Resolves to the number of first transactions whose scripts are valid. Those of the `previous` group may not be in the
   * mempool yet.
   */
  async #verify(group: readonly Submission[], previous: readonly Submission[]): Promise<number> {
    const { verifier, settled } = this.#deps;
    if (!verifier || (group.length === 1 && group[0]!.parsed.tx.inputs.length < MANY_INPUTS)) return 0;
    try {
      const { checks, count } = await settled(() => this.#beginChecks(verifier, group, previous));
      const failure = await checks;
      return failure ? failure.tx : count;
    } catch {
      // The chain has stopped or the threads have ended, which acceptance reports.
      return 0;
    }
  }

  /** Sends the scripts of the first transactions whose coins are known. */
  #beginChecks(verifier: ScriptVerifier, group: readonly Submission[], previous: readonly Submission[]) {
    const { chain, entries } = this.#deps;
    const coins = new MempoolCoins(chain, entries);
    for (const { parsed } of previous) coins.addPackageTransaction(parsed);
    const checks = verifier.begin(STANDARD_SCRIPT_FLAGS);
    let count = 0;
    for (const { parsed } of group) {
      // The scripts of a transaction in the mempool were verified with these flags.
      if (entries.findWtxid(parsed.wtxid) < 0) {
        const spent = this.#spentRecords(parsed, coins);
        if (!spent) break;
        checks.addTransaction(count, parsed.raw, spent, parsed.tx.inputs.length);
        coins.addPackageTransaction(parsed);
      }
      count++;
    }
    return { checks: checks.finish(), count };
  }

  /** Returns null for a transaction with unknown coins, or one that is too large to be accepted. */
  #spentRecords(parsed: ParsedTransaction, coins: MempoolCoins): Uint8Array | null {
    if (weightOf(parsed) > MAX_STANDARD_TX_WEIGHT) return null;
    const writer = this.#writer;
    writer.reset();
    for (const { prevout } of parsed.tx.inputs) {
      const coin = coins.get(prevout);
      if (!coin) return null;
      writeUndoRecord(writer, IN_MEMPOOL, coin.output.value, coin.output.scriptPubKey);
    }
    return writer.finish();
  }

  async #acceptGroup(group: readonly Submission[], verified: Promise<number>, before: Promise<void>): Promise<void> {
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
    if (this.#previous === group) this.#previous = [];
  }
}

/** Accepts transactions from `from` on for the time of a slice. Returns the index of the next one. */
function acceptSlice(group: readonly Submission[], from: number, valid: number): number {
  const until = performance.now() + SLICE_MS;
  let next = from;
  while (next < group.length && (next === from || performance.now() < until)) {
    const { accept, reject } = group[next]!;
    try {
      accept(next < valid);
    } catch (error) {
      reject(error);
    }
    next++;
  }
  return next;
}
