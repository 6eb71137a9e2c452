import { writeFailure } from './failure-file.ts';

declare const self: Worker;

/** Words before the input in the shared memory: number of the case, and length of its input. */
const HEAD = 8;
const LOOK_MS = 1000;

interface Start {
  readonly shared: SharedArrayBuffer;
  readonly limitMs: number;
}

// A case that never ends blocks its thread, so only another thread can report it.
self.onmessage = ({ data }: MessageEvent<Start>) => {
  const { shared, limitMs } = data;
  const head = new Int32Array(shared, 0, 2);
  const name = new Uint8Array(shared, HEAD, 64);
  let last = -1;
  let since = performance.now();
  setInterval(() => {
    const current = Atomics.load(head, 0);
    const now = performance.now();
    if (current !== last) {
      last = current;
      since = now;
    }
    // Zero means that no case runs.
    if (current === 0 || now - since < limitMs) return;
    const target = new TextDecoder().decode(name.slice(0, name.indexOf(0)));
    const input = new Uint8Array(shared, HEAD + 64, head[1]).slice();
    console.error(`${target}: a case has not ended after ${limitMs / 1000} s`);
    console.error(writeFailure(target, input));
    process.kill(process.pid, 'SIGKILL');
  }, LOOK_MS);
};
