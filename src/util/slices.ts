import { noteProgress } from './progress.ts';

/**
 * Long work as a generator, which yields wherever the thread may do other work. A step takes a few milliseconds at
 * most; work that must not be interrupted stays within one. `yield*` composes steps.
 */
export type Steps<T> = Generator<void, T, void>;

/** Time limit of one slice, milliseconds. */
const SLICE_MS = 8;

export interface SliceOptions {
  /**
   * Checked before each slice. An abort closes the generator, whose `finally` blocks run, and rejects with the signal's
   * reason.
   */
  readonly signal: AbortSignal;
  readonly sliceMs?: number;
  /** Wraps each slice, for example in a transaction. */
  readonly around?: (slice: () => void) => void;
}

/**
 * Runs all steps without yielding: on other threads than the node's, or if they are few. `onStep` is called after each
 * and may throw to cancel, which closes the generator.
 */
export function runSteps<T>(steps: Steps<T>, onStep: () => void = () => {}): T {
  try {
    for (;;) {
      const { done, value } = steps.next();
      if (done) return value;
      onStep();
    }
  } catch (error) {
    steps.return(undefined as T);
    throw error;
  }
}

/**
 * Runs steps in slices. Between two slices the event loop processes messages and timers, and slices of other calls run
 * in turn. Rejects with the error of a step.
 */
export async function runInSlices<T>(
  steps: Steps<T>,
  { signal, sliceMs = SLICE_MS, around = (slice) => slice() }: SliceOptions,
): Promise<T> {
  let result: { readonly value: T } | null = null;
  const slice = () => {
    const until = performance.now() + sliceMs;
    do {
      const { done, value } = steps.next();
      if (done) result = { value };
    } while (!result && performance.now() < until);
  };
  try {
    for (;;) {
      await nextSlot();
      signal.throwIfAborted();
      around(slice);
      noteProgress();
      if (result) return (result as { readonly value: T }).value;
    }
  } catch (error) {
    steps.return(undefined as T);
    throw error;
  }
}

/** Callers that wait to run a slice; one for each running call of `runInSlices`. */
const waiting: (() => void)[] = [];
/** Whether a slice has run since the event loop last ran. */
let occupied = false;

/** Returns undefined if a slice may run at once; else a promise that resolves when it may. */
function nextSlot(): Promise<void> | undefined {
  if (occupied) return new Promise((resolve) => waiting.push(resolve));
  occupied = true;
  setImmediate(releaseSlot);
  return undefined;
}

function releaseSlot(): void {
  const next = waiting.shift();
  if (next) setImmediate(releaseSlot);
  else occupied = false;
  next?.();
}
