const HEAD = 8;
const NAME = 64;
const MAX_INPUT = 8 << 20;
const LIMIT_MS = 30_000;

/** Ends the process, and keeps the input, where a case does not end. */
export class Watchdog {
  readonly #shared = new SharedArrayBuffer(HEAD + NAME + MAX_INPUT);
  readonly #head = new Int32Array(this.#shared, 0, 2);
  readonly #bytes = new Uint8Array(this.#shared);
  readonly #worker = new Worker(new URL('./watchdog-worker.ts', import.meta.url).href);

  constructor() {
    this.#worker.postMessage({ shared: this.#shared, limitMs: LIMIT_MS });
  }

  begin(target: string): void {
    this.#bytes.fill(0, HEAD, HEAD + NAME);
    new TextEncoder().encodeInto(target, this.#bytes.subarray(HEAD, HEAD + NAME - 1));
  }

  case(input: Uint8Array): void {
    const length = Math.min(input.length, MAX_INPUT);
    this.#bytes.set(input.subarray(0, length), HEAD + NAME);
    this.#head[1] = length;
    // Zero is skipped, since it means that no case runs.
    Atomics.store(this.#head, 0, (Atomics.load(this.#head, 0) % 0x7fff_ffff) + 1);
  }

  rest(): void {
    Atomics.store(this.#head, 0, 0);
  }

  close(): void {
    this.#worker.terminate();
  }
}
