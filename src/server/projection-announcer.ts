import type { ProjectedBlock } from '../mempool/fees/projected-blocks.ts';
import type { TipView } from '../queries/tip-view.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { Hub } from '../ws/hub.ts';

const INTERVAL_MS = 1000;

export interface ProjectionSource {
  /** Returns the next blocks, at most a second old; null before the node is attached. */
  blocks(): Promise<readonly ProjectedBlock[]> | null;
  tip(): TipView | null;
}

/**
 * Sends `mempoolBlocks` to the clients that subscribe to it: each change, at most once a second, and the present state
 * to all when a client subscribes. Nothing is computed without a subscriber.
 */
export class ProjectionAnnouncer {
  readonly #hub: Pick<Hub, 'announce' | 'subscribersOf'>;
  readonly #source: ProjectionSource;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #timer: ReturnType<typeof setInterval>;
  #announced = '';
  /** Subscribers that have the announced state. */
  readonly #reached = new WeakSet<object>();
  #isBusy = false;

  constructor(
    hub: Pick<Hub, 'announce' | 'subscribersOf'>,
    source: ProjectionSource,
    { clock, log, intervalMs = INTERVAL_MS }: { clock: Clock; log: Log; intervalMs?: number },
  ) {
    this.#hub = hub;
    this.#source = source;
    this.#clock = clock;
    this.#log = log;
    this.#timer = setInterval(() => void this.#check(), intervalMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #check(): Promise<void> {
    const subscribers = this.#hub.subscribersOf('mempoolBlocks');
    if (subscribers.length === 0 || this.#isBusy) return;
    this.#isBusy = true;
    try {
      const blocks = await this.#source.blocks();
      const tip = this.#source.tip();
      if (blocks === null || tip === null) return;
      const text = JSON.stringify({ blocks, tip: { height: tip.height, hash: tip.hash } });
      const isNew = subscribers.some((each) => !this.#reached.has(each));
      if (isNew || text !== this.#announced)
        this.#hub.announce('mempoolBlocks', `${text.slice(0, -1)},"updatedAt":${unixSeconds(this.#clock)}}`);
      this.#announced = text;
      for (const each of subscribers) this.#reached.add(each);
    } catch (error) {
      this.#log.debug('the projected blocks are not available', { error });
    } finally {
      this.#isBusy = false;
    }
  }
}
