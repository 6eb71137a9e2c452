import type { ProjectedBlock } from '../mempool/fees/projected-blocks.ts';
import type { NodePort } from '../port/node-port.ts';

/** Time for which a request waits for the node thread while older blocks are known, milliseconds. */
const PATIENCE_MS = 100;
/** Age from which on known blocks are not given any more, milliseconds. */
const MAX_AGE_MS = 60_000;

/**
 * The next blocks as a front has them: the node thread makes them, and those it made last stand in while it validates a
 * block. One call serves all requests that wait at the same time.
 */
export class NextBlocks {
  readonly #node: () => Pick<NodePort, 'call'>;
  readonly #now: () => number;
  #known: { readonly blocks: readonly ProjectedBlock[]; readonly at: number } | null = null;
  #running: Promise<readonly ProjectedBlock[]> | null = null;

  /** `now` returns monotonic milliseconds. */
  constructor(node: () => Pick<NodePort, 'call'>, now: () => number = () => performance.now()) {
    this.#node = node;
    this.#now = now;
  }

  /** Resolves to the next blocks, at most a minute old. Rejects if the node is not attached. */
  async blocks(): Promise<readonly ProjectedBlock[]> {
    this.#running ??= this.#request();
    const known = this.#known;
    if (known === null || this.#now() - known.at > MAX_AGE_MS) return this.#running;
    const late = Promise.withResolvers<readonly ProjectedBlock[]>();
    const timer = setTimeout(() => late.resolve(known.blocks), PATIENCE_MS);
    try {
      return await Promise.race([this.#running, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #request(): Promise<readonly ProjectedBlock[]> {
    try {
      const blocks = await this.#node().call('projectedBlocks');
      this.#known = { blocks, at: this.#now() };
      return blocks;
    } finally {
      this.#running = null;
    }
  }
}
