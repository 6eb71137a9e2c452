import type { SampledSeries, SampleRequest, SampleStore, StateSample } from '../storage/sample-store.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';

/** One sample a minute. */
const INTERVAL_MS = 60_000;

interface Sampled {
  readonly store: SampleStore;
  /** Returns the present state of the node. */
  readonly state: () => StateSample;
  readonly clock: Clock;
  readonly log: Log;
}

/** Stores a sample of the state of the node once a minute, for the charts. */
export class StateSampler {
  readonly #parts: Sampled;

  constructor(parts: Sampled) {
    this.#parts = parts;
  }

  /** Takes the first sample at once, and the others until the signal aborts. */
  start(signal: AbortSignal): void {
    if (signal.aborted) return;
    this.addSample();
    const timer = setInterval(() => this.addSample(), INTERVAL_MS);
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** A sample that cannot be stored is missing in the charts. */
  addSample(): void {
    const { store, state, clock, log } = this.#parts;
    try {
      store.add(unixSeconds(clock), state());
    } catch (error) {
      log.warn('the state of the node is not sampled for the charts', { error });
    }
  }

  readSeries(request: SampleRequest): SampledSeries {
    return this.#parts.store.read(request, unixSeconds(this.#parts.clock));
  }
}
