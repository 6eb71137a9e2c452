import { mutate } from './mutate.ts';
import { mixed, Random, seedOf } from './random.ts';
import { bytesOfText, type FuzzTarget } from './target.ts';

export interface FuzzOptions {
  readonly seed: number;
  readonly milliseconds: number;
  /** Time limit of one case, milliseconds; a case that exceeds it twice fails. */
  readonly slowMs?: number;
  /** Limit of the growth of the process, bytes. */
  readonly memoryBytes?: number;
  /** Called with each case before it runs. */
  readonly onCase?: (input: Uint8Array) => void;
}

export interface Failure {
  readonly input: Uint8Array;
  readonly error: unknown;
}

export interface FuzzReport {
  readonly cases: number;
  readonly slowestMs: number;
  readonly slowest: Uint8Array;
  /** Growth of the process after a garbage collection, bytes. */
  readonly grownBytes: number;
  readonly failure: Failure | null;
}

const SLOW_MS = 1000;
const MEMORY_BYTES = 512 * 1024 ** 2;
const MAX_RANDOM_SIZE = 2000;
/** Cases between two iterations of the event loop, in which garbage of pending callbacks is released. */
const CASES_A_TURN = 500;

/** Runs a target on new inputs until the time is over or something does not hold. */
export async function fuzz(target: FuzzTarget, options: FuzzOptions): Promise<FuzzReport> {
  const { seed, milliseconds, slowMs = SLOW_MS, memoryBytes = MEMORY_BYTES, onCase } = options;
  const corpus = target.corpus();
  const salt = seedOf(bytesOfText(target.name));
  Bun.gc(true);
  const rssAtStart = process.memoryUsage.rss();
  const end = performance.now() + milliseconds;
  let slowestMs = 0;
  let slowest: Uint8Array = new Uint8Array(0);
  let failure: Failure | null = null;
  let cases = 0;
  for (; failure === null && (cases === 0 || performance.now() < end); cases++) {
    // Every other case is an unchanged input of the corpus, as long as there are any.
    const given = cases % 2 === 0 ? corpus[cases / 2] : undefined;
    const input = given ?? makeInput(target, corpus, new Random(mixed(seed, salt, cases)));
    onCase?.(input);
    const start = performance.now();
    failure = await runCase(target, input);
    const took = performance.now() - start;
    if (took > slowestMs) {
      slowestMs = took;
      slowest = input;
    }
    // The machine may have been busy, so a slow case is repeated.
    if (failure === null && took > slowMs && (await timeOf(target, input)) > slowMs)
      failure = { input, error: new Error(`took ${Math.round(took)} ms`) };
    if (cases % CASES_A_TURN === CASES_A_TURN - 1) await new Promise((resolve) => setImmediate(resolve));
  }
  Bun.gc(true);
  const grownBytes = process.memoryUsage.rss() - rssAtStart;
  if (failure === null && grownBytes > memoryBytes)
    failure = { input: slowest, error: new Error(`the process grew by ${Math.round(grownBytes / 1e6)} MB`) };
  return { cases, slowestMs, slowest, grownBytes, failure };
}

/** Returns the fault; null if everything holds. */
export async function runCase(target: FuzzTarget, input: Uint8Array): Promise<Failure | null> {
  try {
    const running = target.run(input);
    // A synchronous case is not awaited, since that takes longer than most cases.
    if (running !== undefined) await running;
    return null;
  } catch (error) {
    return { input, error };
  }
}

async function timeOf(target: FuzzTarget, input: Uint8Array): Promise<number> {
  const start = performance.now();
  await runCase(target, input);
  return performance.now() - start;
}

function makeInput(target: FuzzTarget, corpus: readonly Uint8Array[], random: Random): Uint8Array {
  if (random.once(10)) return random.bytes(random.length(MAX_RANDOM_SIZE));
  if (target.generate && random.once(2)) {
    const made = target.generate(random);
    return random.once(4) ? mutate(made, made, random) : made;
  }
  if (corpus.length === 0) return random.bytes(random.length(MAX_RANDOM_SIZE));
  return mutate(random.pick(corpus), random.pick(corpus), random);
}
