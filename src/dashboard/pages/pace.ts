/**
 * Returns a function that calls back at once, and then at most once in `pauseMs` however often it is called: calls during
 * a pause are one call at its end. `stop` drops a call that waits.
 */
export function paced(callback: () => void, pauseMs: number): { readonly call: () => void; readonly stop: () => void } {
  let pause: ReturnType<typeof setTimeout> | undefined;
  let waits = false;
  const end = () => {
    pause = undefined;
    if (waits) call();
  };
  const call = () => {
    waits = pause !== undefined;
    if (waits) return;
    pause = setTimeout(end, pauseMs);
    callback();
  };
  const stop = () => {
    clearTimeout(pause);
    pause = undefined;
    waits = false;
  };
  return { call, stop };
}
