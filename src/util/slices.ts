import { noteProgress } from './progress.ts';

/**
 * Work that is cut into steps: it yields wherever other work may have the thread. A step is short, a few milliseconds at
 * most; what has to stay together is done within one. `yield*` composes steps.
 */
export type Steps<T> = Generator<void, T, void>;

/** How long steps run before other work has its turn, in milliseconds. */
const SLICE_MS = 8;

export interface SliceOptions {
  /** Checked before each slice: an abort closes the steps, whose `finally` blocks run, and rejects with its reason. */
  readonly signal: AbortSignal;
  readonly sliceMs?: number;
  /** Runs one slice, for example within a transaction of a database. */
  readonly around?: (slice: () => void) => void;
}

/**
 * Runs all steps at once: off the node thread, or where there are few. `onStep` is called after each, and may throw to give
 * up: the steps are closed then.
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
 * Runs steps a few milliseconds at a time. In between the thread does whatever else waits: messages, timers, and other
 * work in slices, of which one at a time has its turn, in order. An error that a step throws rejects.
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
      await takeTurn();
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

/** Slices that wait for their turn; as many as there are calls in slices. */
const waiting: (() => void)[] = [];
/** Whether a slice has run since the thread last looked at what else waits. */
let taken = false;

/** Undefined where a slice may run at once; else resolves when it is its turn. */
function takeTurn(): Promise<void> | undefined {
  if (taken) return new Promise((resolve) => waiting.push(resolve));
  taken = true;
  setImmediate(nextTurn);
  return undefined;
}

function nextTurn(): void {
  const next = waiting.shift();
  if (next) setImmediate(nextTurn);
  else taken = false;
  next?.();
}
