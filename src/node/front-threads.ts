import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { Config } from '../config/settings.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import { PortFence } from '../port/port-fence.ts';
import { FrontMemory } from '../server/fronts/front-memory.ts';
import type { FrontSharing } from '../server/fronts/front-sharing.ts';
import { FurtherFronts } from '../server/fronts/further-fronts.ts';
import type { ApiServer } from '../server/server.ts';
import { aborted } from '../util/abort.ts';
import { hostClock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { startWorker } from '../util/worker.ts';
import { apiOptionsOf } from './api-options.ts';
import type { NodeClient } from './client.ts';
import type { DescriptorBudget } from './descriptor-budget.ts';
import { canShareFronts } from './front-count.ts';
import type { FromFront, ToFront } from './front-messages.ts';

interface FrontDependencies {
  readonly budget: DescriptorBudget | null;
  readonly staticKey: string | null;
  readonly log: Log;
}

/** The parts of the first front that the further ones start from. */
interface FirstFrontParts {
  readonly api: ApiServer;
  readonly node: NodeClient;
  /** The columns of the mempool. */
  readonly columns: EntryColumns;
}

interface FrontWorker {
  readonly worker: Worker;
  /** Resolves when the thread has loaded its code; to false if it has ended instead. */
  readonly loaded: Promise<boolean>;
}

/**
 * The threads of the further fronts. They start when the first front serves, and all of them listen before the node is
 * reported as ready. A front that fails ends the program, as the node thread does: its share of the limits is lost with it.
 */
export class FrontThreads {
  readonly sharing: FrontSharing;
  readonly fence: PortFence;
  readonly #config: Config;
  readonly #deps: FrontDependencies;
  readonly #further = new FurtherFronts();
  readonly #channels: readonly { readonly port1: MessagePort; readonly port2: MessagePort }[];
  readonly #workers: FrontWorker[] = [];
  readonly #failed = Promise.withResolvers<never>();
  readonly #memory: FrontMemory;
  #ended = false;

  /** Returns null where the configuration has one front. */
  static of(config: Config, deps: FrontDependencies): FrontThreads | null {
    const { front } = config.workers;
    if (front === 1) return null;
    if (canShareFronts()) return new FrontThreads(config, deps);
    deps.log.warn('more than one front needs Linux, whose kernel spreads the connections of a port', { front });
    return null;
  }

  private constructor(config: Config, deps: FrontDependencies) {
    this.#config = config;
    this.#deps = deps;
    const { front } = config.workers;
    const { limits } = apiOptionsOf(config, deps.staticKey, deps.budget);
    this.#memory = new FrontMemory(limits.authFailuresPerMinute, hostClock);
    this.sharing = { memory: this.#memory, first: null, further: this.#further };
    this.fence = new PortFence(front, 0);
    this.#channels = Array.from({ length: front - 1 }, () => new MessageChannel());
    this.#failed.promise.catch(() => {});
  }

  /** The ends of the ports that the node thread receives. */
  get nodePorts(): readonly MessagePort[] {
    return this.#channels.map(({ port1 }) => port1);
  }

  /** Starts the threads. Resolves when all of them listen, or when the signal aborts. */
  async start({ api, node, columns }: FirstFrontParts, signal: AbortSignal): Promise<void> {
    node.publishTo(this.fence, () => api.updatesApplied());
    const listening = this.#channels.map((_, i) => this.#startFront(i, { api, node, columns }));
    await Promise.race([Promise.all(listening), this.#failed.promise, node.failed(), aborted(signal)]);
  }

  /** Rejects when a front has failed; never resolves. */
  failed(): Promise<never> {
    return this.#failed.promise;
  }

  /**
   * Ends the threads, which have stopped or do not serve yet. One that is terminated while it loads the native library
   * aborts the whole process (SIGABRT), so those that load are awaited.
   */
  async end(): Promise<void> {
    this.#ended = true;
    await Promise.all(
      this.#workers.map(async ({ worker, loaded }) => {
        if (await loaded) worker.terminate();
      }),
    );
  }

  #startFront(i: number, { api, node, columns }: FirstFrontParts): Promise<void> {
    const { budget, staticKey } = this.#deps;
    const toFront = new MessageChannel();
    const worker = startWorker(new URL('./front-worker.ts', import.meta.url), 'front');
    const loaded = Promise.withResolvers<boolean>();
    const listening = Promise.withResolvers<void>();
    this.#workers.push({ worker, loaded: loaded.promise });
    worker.onerror = ({ message }) => {
      loaded.resolve(false);
      this.#lose(i, `a front failed: ${message}`);
    };
    worker.addEventListener('close', () => {
      loaded.resolve(false);
      this.#lose(i, 'a front has ended');
    });
    worker.onmessage = ({ data }: MessageEvent<FromFront>) => {
      loaded.resolve(true);
      if (data !== 'listening') return;
      this.#further.serves(i);
      listening.resolve();
    };
    this.#further.add(toFront.port1);
    const nodePort = this.#channels[i]!.port2;
    const message: ToFront = {
      config: this.#config,
      budget,
      staticKey,
      index: i + 1,
      fronts: this.#config.workers.front,
      buffers: this.#memory.buffers,
      fence: this.fence.shared,
      addresses: api.addresses,
      startedAt: api.context.startedAt,
      from: api.start,
      status: node.status(),
      columns,
      firstPort: toFront.port2,
      nodePort,
    };
    worker.postMessage(message, [toFront.port2, nodePort] as unknown as ArrayBuffer[]);
    return listening.promise;
  }

  #lose(i: number, reason: string): void {
    if (this.#ended) return;
    this.#further.lose(i);
    this.#failed.reject(new Error(reason));
  }
}
