import { SharedBuckets, SharedFailures } from '../../auth/shared-rates.ts';
import type { Clock } from '../../util/clock.ts';
import { SharedCounts } from '../../util/shared-counts.ts';

/** The memory of `FrontMemory`, as it is passed to a thread. */
export interface FrontBuffers {
  readonly counts: SharedArrayBuffer;
  readonly buckets: SharedArrayBuffer;
  readonly failures: SharedArrayBuffer;
  readonly flags: SharedArrayBuffer;
}

/** The counts and rates of all fronts, in shared memory: about three mebibytes. */
export class FrontMemory {
  readonly counts: SharedCounts;
  readonly buckets: SharedBuckets;
  readonly failures: SharedFailures;
  readonly #flags: Int32Array;

  /** Without buffers, for the first front. */
  constructor(authFailuresPerMinute: number, clock: Clock, buffers: FrontBuffers | null = null) {
    this.counts = new SharedCounts(buffers?.counts);
    this.buckets = new SharedBuckets(buffers?.buckets);
    this.failures = new SharedFailures(authFailuresPerMinute, clock, buffers?.failures);
    this.#flags = new Int32Array(buffers?.flags ?? new SharedArrayBuffer(4));
  }

  get buffers(): FrontBuffers {
    const { counts, buckets, failures } = this;
    return {
      counts: counts.shared,
      buckets: buckets.shared,
      failures: failures.shared,
      flags: this.#flags.buffer as SharedArrayBuffer,
    };
  }

  /** Whether the last readiness check found no fault. */
  get ready(): boolean {
    return Atomics.load(this.#flags, 0) === 1;
  }

  set ready(value: boolean) {
    Atomics.store(this.#flags, 0, value ? 1 : 0);
  }
}
