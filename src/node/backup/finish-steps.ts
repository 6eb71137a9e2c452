/** Time for which steps run before signals are handled, milliseconds. */
const SLICE_MS = 100;

/** Runs all steps, and lets signals be handled between them. Resolves to the result, or to 'aborted' after an abort. */
export async function finishSteps<R>(
  steps: Generator<unknown, R>,
  signal: AbortSignal,
  onStep: (step: unknown) => void = () => {},
): Promise<R | 'aborted'> {
  for (let pausedAt = performance.now(); ; ) {
    const { done, value } = steps.next();
    if (done) return value as R;
    onStep(value);
    if (performance.now() - pausedAt < SLICE_MS) continue;
    await new Promise(setImmediate);
    pausedAt = performance.now();
    if (signal.aborted) {
      steps.return(null as never);
      return 'aborted';
    }
  }
}
