import { fail } from '../http/errors.ts';
import type { ScriptSums } from '../mempool/mirror.ts';
import type { ScriptRows } from '../storage/chain-source.ts';
import type { ScriptTotals } from '../storage/script-store.ts';
import { type DerivedBranch, type DerivedScript, DerivedScripts, type WatchedDescriptor } from './derived-scripts.ts';
import { addressIndexOf } from './index-reads.ts';
import { NeedsScripts, type ReadEnv } from './read-env.ts';
import { parseWatchedDescriptor } from './watched-descriptor.ts';

/** Time to parse a descriptor, besides that of its characters, microseconds. */
const PARSE_US = 300;
const PARSE_CHARACTER_US = 1;
/** Time to derive one key, microseconds. */
const DERIVE_US = 100;
/** Time to read the totals of one script, microseconds. */
const TOTALS_US = 60;

/** Maximum number of scripts that a request derives, over all branches. */
export const MAX_DERIVED_SCRIPTS = 10_000;
/** Maximum number of keys that a request derives: several seconds of work. */
export const MAX_DERIVED_KEYS = 100_000;
/** A combo() has the most. */
export const MAX_SCRIPTS_OF_INDEX = 4;

/** A request about the scripts of a descriptor. */
export interface DescriptorInput {
  /** Without private keys. */
  readonly descriptor: string;
  /** Number of unused indexes behind the last used one that are examined. */
  readonly gapLimit: number;
  /**
   * Number of indexes to examine in each branch, as the first page of a list did; null to examine them up to the gap
   * limit.
   */
  readonly examined: readonly number[] | null;
}

/** A script that was used in the chain or in the mempool. */
export interface UsedScript {
  readonly derived: DerivedScript;
  /** Null without a confirmed transaction. */
  readonly totals: ScriptTotals | null;
  readonly pending: ScriptSums;
}

export interface BranchUsage {
  readonly branch: DerivedBranch;
  /** Number of examined indexes. */
  readonly examined: number;
  /** In the order of their indexes. */
  readonly used: readonly UsedScript[];
  /** Null if no index is used. */
  readonly lastUsedIndex: number | null;
}

/** The scripts of a descriptor that are used, at one tip and one state of the mempool. */
export interface DescriptorUsage {
  readonly watched: WatchedDescriptor;
  readonly branches: readonly BranchUsage[];
}

/**
 * Finds the used scripts of a descriptor: in each branch, up to the first `gapLimit` unused indexes in succession, or
 * those that `examined` counts. Throws the errors of a descriptor and those of `requireIndex`, `too_many_scripts` at the
 * bound, and `invalid_cursor` for counts of another number of branches. In a worker it throws NeedsScripts until the
 * mempool transactions of all examined scripts are known.
 */
export function descriptorUsage(env: ReadEnv, input: DescriptorInput): DescriptorUsage {
  const { descriptor: text, gapLimit, examined } = input;
  const index = addressIndexOf(env);
  env.expectWork(PARSE_US + text.length * PARSE_CHARACTER_US);
  const watched = (env.derived ?? new DerivedScripts()).get(text, (given) => parseWatchedDescriptor(given, env.params));
  const budget = new Budget(env, watched, gapLimit);
  if (examined && examined.length !== watched.branches.length)
    return fail('invalid_cursor', 'the cursor belongs to another descriptor');
  const branches = watched.branches.map((branch, number) =>
    branchUsage(env, { index, branch, gapLimit, budget, examined: examined?.[number] ?? null }),
  );
  needScripts(env, branches, budget);
  return { watched, branches };
}

/** Returns the used scripts of all branches, each once: two branches may have scripts in common. */
export function usedScripts({ branches }: DescriptorUsage): UsedScript[] {
  const used = branches.flatMap((branch) => branch.used);
  return [...new Map(used.map((each) => [each.derived.script.toHex(), each])).values()];
}

interface Search {
  readonly index: ScriptRows;
  readonly branch: DerivedBranch;
  readonly gapLimit: number;
  readonly budget: Budget;
  /** Null to examine the indexes up to the gap limit. */
  readonly examined: number | null;
}

function branchUsage(env: ReadEnv, { index, branch, gapLimit, budget, examined }: Search): BranchUsage {
  const used: UsedScript[] = [];
  let lastUsedIndex: number | null = null;
  const scripts: (readonly DerivedScript[])[] = [];
  let end = branch.descriptor.isRange ? (examined ?? gapLimit) : 1;
  for (let at = 0; at < end; at++) {
    if (at === scripts.length) {
      while (scripts.length < end) scripts.push(budget.derive(branch, scripts.length));
      env.reads.expectRows({ scripts: scripts.slice(at).flatMap((each) => each.map(({ script }) => script)) });
    }
    for (const derived of scripts[at]!) {
      env.expectWork(TOTALS_US);
      const totals = index.totals(derived.script);
      const pending = env.mempool.scriptSums(derived.script);
      if (totals === null && pending.txs === 0) continue;
      used.push({ derived, totals, pending });
      lastUsedIndex = at;
    }
    if (branch.descriptor.isRange && examined === null && lastUsedIndex === at) end = at + 1 + gapLimit;
  }
  return { branch, examined: end, used, lastUsedIndex };
}

/** Announces that the answer reads the mempool transactions of all examined scripts. */
function needScripts(env: ReadEnv, branches: readonly BranchUsage[], budget: Budget): void {
  const first = branches[0]!.branch.at(0)[0];
  const isAgain = first !== undefined && env.mempool.coversScript(first.script);
  const needed: Uint8Array[] = [];
  let isCovered = true;
  for (const { branch, examined } of branches)
    for (let at = 0; at < examined; at++)
      for (const { script } of branch.at(at)) {
        needed.push(script);
        isCovered &&= env.mempool.coversScript(script);
      }
  if (isCovered) return;
  // The mempool itself has moved the gap: as many scripts again are requested, so that few rounds remain.
  if (isAgain)
    for (const { branch, examined } of branches)
      for (let at = examined; at < examined * 2 && branch.descriptor.isRange && budget.hasRoom; at++)
        needed.push(...budget.derive(branch, at).map(({ script }) => script));
  throw new NeedsScripts(needed);
}

/** Bounds the derived scripts of one request. */
class Budget {
  readonly #env: ReadEnv;
  readonly #limit: number;
  readonly #keys: number;
  #used = 0;

  /** Throws `too_many_scripts` if even an unused descriptor has too many. */
  constructor(env: ReadEnv, { branches }: WatchedDescriptor, gapLimit: number) {
    const { descriptor } = branches[0]!;
    this.#env = env;
    this.#keys = Math.max(1, descriptor.keyCount);
    this.#limit = Math.min(MAX_DERIVED_SCRIPTS, Math.floor(MAX_DERIVED_KEYS / this.#keys));
    if (descriptor.isRange && branches.length * gapLimit > this.#limit) this.#fail();
  }

  get hasRoom(): boolean {
    return this.#used + MAX_SCRIPTS_OF_INDEX <= this.#limit;
  }

  /** Throws `too_many_scripts`. */
  derive(branch: DerivedBranch, index: number): readonly DerivedScript[] {
    if (!branch.has(index)) this.#env.expectWork(DERIVE_US * this.#keys);
    const scripts = branch.at(index);
    this.#used += scripts.length;
    if (this.#used > this.#limit) this.#fail();
    return scripts;
  }

  #fail(): never {
    fail('too_many_scripts', `the descriptor has more than ${this.#limit} scripts up to its gap limit`, {
      limit: this.#limit,
      keysPerScript: this.#keys,
    });
  }
}
