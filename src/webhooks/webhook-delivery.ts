import type { EventPosition } from '../feed/event-cursor.ts';
import type { ResumePoint } from '../feed/event-history.ts';
import type { EventSources } from '../feed/event-pages.ts';
import { scopeOfTypes } from '../feed/event-types.ts';
import type { Watched } from '../feed/watches.ts';
import { ApiError } from '../http/errors.ts';
import type { Principal } from '../http/principal.ts';
import { hasScope } from '../http/scopes.ts';
import type { Clock } from '../util/clock.ts';
import { unixSeconds } from '../util/clock.ts';
import type { DeliveryFault, DeliveryOutcome } from './delivery-outcome.ts';
import { retryPauseMs } from './retry-pauses.ts';
import { batchOfLostPosition, nextWebhookBatch, type WebhookBatch } from './webhook-batch.ts';
import type { WebhookError, WebhookProgress, WebhookRecord, WebhookStatus } from './webhook-store.ts';

/** The rights that a key has now. */
export type KeyRights = Pick<Principal, 'scopes' | 'wallets'>;

export interface WebhookDeliveryDependencies {
  readonly sources: EventSources;
  /** Returns the watched items of the key, which it keeps. */
  watchesOf(owner: string): Watched;
  /** Resolves when the stored watches of keys are loaded. */
  watchesLoaded(): Promise<void>;
  /** Returns the present rights of the key; null if it is not valid. */
  rightsOf(owner: string): KeyRights | null;
  deliver(hook: WebhookRecord, messageId: string, body: string): Promise<DeliveryOutcome>;
  save(progress: WebhookProgress): Promise<void>;
  /** Called when the hook has failed for too long. */
  onDisabled(delivery: WebhookDelivery): void;
  /** Counts an attempt: its fault, or null for success with the number of events. */
  count(fault: DeliveryFault | null, events: number): void;
  onError(error: unknown): void;
  readonly clock: Clock;
  /** Longest pause between two attempts, and time of failures after which the hook is disabled, milliseconds. */
  readonly maxPauseMs: number;
  readonly disableAfterMs: number;
  /** Time after which a read ends with the events that it has found, milliseconds; `IDLE_MS` by default. */
  readonly idleMs?: number;
}

/** The state of a hook for its owner. */
export interface WebhookState {
  readonly status: WebhookStatus;
  readonly cursor: string;
  /** Event numbers between the position and the end of the log, and age of the oldest undelivered event, seconds. */
  readonly lag: { readonly events: number; readonly seconds: number };
  readonly failures: number;
  /** Unix seconds. */
  readonly failingSince: number | null;
  readonly nextAttemptAt: number | null;
  readonly deliveredAt: number | null;
  readonly lastError: WebhookError | null;
}

/** Interval in which a position moves durably past events of other types, milliseconds. */
const IDLE_MS = 15_000;
/** Longest pause where events cannot be read now, milliseconds. */
const MAX_READ_PAUSE_MS = 15_000;

/**
 * Delivers the events of one hook in order, one delivery at a time. It holds no events: it reads them from the log at each
 * attempt, behind a position that is stored after each accepted delivery. So a restart repeats one delivery at most.
 */
export class WebhookDelivery {
  readonly record: WebhookRecord;
  readonly #deps: WebhookDeliveryDependencies;
  readonly #types: ReadonlySet<string>;
  readonly #ended = new AbortController();
  #status: WebhookStatus;
  /** Cursor of the position, which is stored; and the position, null until the cursor is located in the log. */
  #cursor: string;
  #position: EventPosition | ResumePoint | null = null;
  /** Whether the cursor is not in the log. */
  #isLost = false;
  /** Whether everything that was read is delivered, and the hook waits for events. */
  #isCaughtUp = false;
  /** Grows when the owner changes the position, so that a running attempt does not change it back. */
  #moves = 0;
  #gapTo = 0;
  /** Number of events of the delivery that failed; 0 without one. */
  #retried = 0;
  /** The delivery that failed, if it has gaps alone: a later one could end elsewhere, and so have another id. */
  #unacceptedGaps: WebhookBatch | null = null;
  /** Time of the oldest undelivered event, Unix seconds. */
  #oldestTime: number | null = null;
  #failures = 0;
  #readFailures = 0;
  /** Since when events cannot be read. It shows the hook as failing, and does not count towards disabling it. */
  #readFailingSinceMs: number | null = null;
  #failingSinceMs: number | null;
  /** The moment at which the present failures began, as it is shown: in Unix seconds. */
  #failingSince: { readonly ms: number; readonly time: number } | null = null;
  #lastError: WebhookError | null;
  #deliveredAt: number | null;
  #nextAttemptMs = 0;
  #wakeUp = new AbortController();
  #rights: KeyRights | null = null;
  #done: Promise<void> | null = null;

  constructor(record: WebhookRecord, deps: WebhookDeliveryDependencies) {
    const { status, position, lastError, deliveredAt, failingFor, types } = record;
    this.record = record;
    this.#deps = deps;
    this.#types = new Set(types);
    this.#status = status;
    this.#cursor = position;
    this.#lastError = lastError;
    this.#deliveredAt = deliveredAt;
    // The time while the node was stopped does not count.
    this.#failingSinceMs = failingFor === null ? null : this.#now() - failingFor * 1000;
  }

  get status(): WebhookStatus {
    return this.#status;
  }

  get isFailing(): boolean {
    return this.#failingSinceMs !== null || this.#readFailingSinceMs !== null;
  }

  /** Begins to deliver. The event log must be attached. */
  start(): void {
    const { events } = this.#deps.sources;
    const found = events.locate(this.#cursor);
    this.#isLost = typeof found === 'string';
    this.#position = typeof found === 'string' ? events.end : found;
    this.#done = this.#run();
  }

  /** Ends. Resolves when a running attempt has ended. */
  async end(): Promise<void> {
    this.#ended.abort();
    this.#wakeUp.abort();
    await this.#done;
  }

  pause(): void {
    this.#status = 'paused';
    this.#wakeUp.abort();
  }

  /** Delivers again from now on, without the pause after a failure. */
  resume(): void {
    this.#status = 'active';
    this.#failingSinceMs = null;
    this.#failures = this.#readFailures = 0;
    this.#readFailingSinceMs = null;
    this.#nextAttemptMs = 0;
    this.#wakeUp.abort();
  }

  /** Moves to a point of the log. Resolves when the new position is stored. */
  async moveTo(point: ResumePoint): Promise<void> {
    this.#moves++;
    this.#setPosition(point);
    this.#gapTo = 0;
    this.#oldestTime = null;
    this.#readFailures = 0;
    this.#readFailingSinceMs = null;
    this.#nextAttemptMs = 0;
    this.#forgetFailures();
    this.#wakeUp.abort();
    await this.#deps.save(this.#progress());
  }

  /** Applies changes of the key. */
  checkRights(): void {
    if (this.#deps.rightsOf(this.record.owner) !== this.#rights) this.#wakeUp.abort();
  }

  get state(): WebhookState {
    const { sources, clock } = this.#deps;
    const now = unixSeconds(clock);
    const at = (ms: number) => Math.floor((clock.nowMs() + ms - this.#now()) / 1000);
    const seq = this.#position?.seq ?? sources.events.end.seq;
    const failingSinceMs = this.#failingSinceMs ?? this.#readFailingSinceMs;
    // Converted once: the two clocks differ by a little in each conversion, and every answer shows the same second.
    if (failingSinceMs === null) this.#failingSince = null;
    else if (this.#failingSince?.ms !== failingSinceMs)
      this.#failingSince = { ms: failingSinceMs, time: at(failingSinceMs) };
    const isPausing = this.#status === 'active' && this.#nextAttemptMs > this.#now();
    return {
      status: this.#status,
      cursor: this.#cursor,
      lag: {
        events: this.#isCaughtUp ? 0 : Math.max(0, sources.events.latest - seq),
        seconds: this.#oldestTime === null ? 0 : Math.max(0, now - this.#oldestTime),
      },
      failures: this.#failures + this.#readFailures,
      failingSince: this.#failingSince?.time ?? null,
      nextAttemptAt: isPausing ? at(this.#nextAttemptMs) : null,
      deliveredAt: this.#deliveredAt,
      lastError: this.#lastError,
    };
  }

  async #run(): Promise<void> {
    const { sources, onError } = this.#deps;
    await this.#deps.watchesLoaded();
    while (!this.#ended.signal.aborted && !sources.events.closed) {
      this.#wakeUp = new AbortController();
      // An end between two steps has aborted the one before.
      if (this.#ended.signal.aborted) return;
      try {
        await this.#step(this.#wakeUp);
      } catch (error) {
        onError(error);
        this.#nextAttemptMs = this.#now() + MAX_READ_PAUSE_MS;
      }
    }
  }

  async #step(wakeUp: AbortController): Promise<void> {
    this.#rights = this.#deps.rightsOf(this.record.owner);
    const rights = this.#usableRights(this.#rights);
    if (this.#status !== 'active' || rights === null) return woken(wakeUp.signal, null);
    const pause = this.#nextAttemptMs - this.#now();
    if (pause > 0) return woken(wakeUp.signal, pause);
    const moves = this.#moves;
    const batch = await this.#read(rights, wakeUp);
    if (batch === null || moves !== this.#moves || this.#ended.signal.aborted) return;
    if (batch.texts.length === 0) await this.#skipTo(batch.end);
    else if (!wakeUp.signal.aborted) await this.#attempt(batch, moves);
  }

  /** Returns the rights if they allow the events of the hook. */
  #usableRights(rights: KeyRights | null): KeyRights | null {
    const required = ['webhooks', 'read', scopeOfTypes(this.#types)] as const;
    const missing = rights && required.find((scope) => !hasScope(rights.scopes, scope));
    if (rights === null) this.#report('invalid_credentials', 'the key is not valid');
    else if (missing) this.#report('insufficient_scope', `the key needs the scope ${missing}`);
    else return rights;
    return null;
  }

  /** Reads the next batch; null if it cannot be read now. */
  async #read({ wallets }: KeyRights, wakeUp: AbortController): Promise<WebhookBatch | null> {
    const { sources, watchesOf, idleMs = IDLE_MS } = this.#deps;
    const { owner, maxEvents } = this.record;
    if (this.#unacceptedGaps) return this.#unacceptedGaps;
    if (this.#isLost) return batchOfLostPosition(sources.events);
    // It ends a long read with the events found so far, which are delivered: `wakeUp` would discard them.
    const idle = new AbortController();
    const timer = setTimeout(() => idle.abort(), idleMs);
    this.#isCaughtUp = this.#retried === 0;
    try {
      const batch = await nextWebhookBatch(
        sources,
        {
          from: this.#position!,
          gapTo: this.#gapTo,
          types: this.#types,
          watches: watchesOf(owner),
          wallets: commonWallets(this.record.wallets, wallets),
          // An attempt that is repeated has the same last event, and so the same id, unless the log lost events meanwhile.
          limit: this.#retried > 0 ? this.#retried : maxEvents,
        },
        AbortSignal.any([wakeUp.signal, idle.signal]),
      );
      this.#readSucceeded();
      return batch;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#report(error.failure, error.message);
      this.#readFailingSinceMs ??= this.#now();
      this.#nextAttemptMs = this.#now() + retryPauseMs(++this.#readFailures, MAX_READ_PAUSE_MS, Math.random());
      return null;
    } finally {
      clearTimeout(timer);
      this.#isCaughtUp = false;
    }
  }

  #readSucceeded(): void {
    if (this.#readFailingSinceMs !== null && this.#failingSinceMs === null) this.#lastError = null;
    this.#readFailures = 0;
    this.#readFailingSinceMs = null;
  }

  /** Moves past events of other types. */
  async #skipTo(end: EventPosition): Promise<void> {
    const { seq, within } = this.#position!;
    this.#oldestTime = null;
    // The events of a failed attempt are gone, for example with their watch.
    if (end.seq >= this.#deps.sources.events.seq) this.#forgetFailures();
    if (end.seq === seq && end.within === within) return;
    this.#setPosition(end);
    await this.#save();
  }

  /** A failure counts towards disabling the hook only while its events are still to be delivered. */
  #forgetFailures(): void {
    this.#failures = 0;
    this.#failingSinceMs = null;
    this.#retried = 0;
    this.#unacceptedGaps = null;
  }

  async #attempt(batch: WebhookBatch, moves: number): Promise<void> {
    const { deliver, count, clock } = this.#deps;
    const { id, cursor, texts, end, gapTo } = batch;
    this.#oldestTime = batch.time;
    const body = `{"webhook":"${this.record.id}","cursor":"${cursor}","events":[${texts.join(',')}]}`;
    const outcome = await deliver(this.record, id, body);
    count(outcome.ok ? null : outcome.code, batch.count);
    // The owner has moved the hook meanwhile: the failure is of events that it no longer delivers.
    if (!outcome.ok) return moves === this.#moves ? this.#failed(outcome, batch) : undefined;
    this.#forgetFailures();
    this.#nextAttemptMs = 0;
    this.#oldestTime = null;
    this.#lastError = null;
    this.#deliveredAt = unixSeconds(clock);
    if (moves === this.#moves) {
      this.#setPosition(end);
      this.#gapTo = gapTo;
    }
    await this.#save();
  }

  async #failed(
    { code, message, status }: Extract<DeliveryOutcome, { ok: false }>,
    batch: WebhookBatch,
  ): Promise<void> {
    const { maxPauseMs, disableAfterMs, onDisabled } = this.#deps;
    const now = this.#now();
    this.#failures++;
    this.#failingSinceMs ??= now;
    this.#retried = batch.count;
    this.#unacceptedGaps = batch.count === 0 ? batch : null;
    this.#report(code, message, status);
    this.#nextAttemptMs = now + retryPauseMs(this.#failures, maxPauseMs, Math.random());
    if (now - this.#failingSinceMs >= disableAfterMs && this.#status === 'active') {
      this.#status = 'disabled';
      onDisabled(this);
    }
    await this.#save();
  }

  #report(code: string, message: string, status: number | null = null): void {
    this.#lastError = { code, message, status, at: unixSeconds(this.#deps.clock) };
  }

  /** Stores the progress before the next delivery. Where that fails, the next delivery waits. */
  async #save(): Promise<void> {
    try {
      await this.#deps.save(this.#progress());
    } catch (error) {
      // At the stop the thread that stores is closed, and the delivery is repeated after the next start.
      if (this.#ended.signal.aborted) return;
      this.#deps.onError(error);
      this.#nextAttemptMs = Math.max(this.#nextAttemptMs, this.#now() + MAX_READ_PAUSE_MS);
    }
  }

  #progress(): WebhookProgress {
    const failingFor = this.#failingSinceMs === null ? null : Math.round((this.#now() - this.#failingSinceMs) / 1000);
    const { id } = this.record;
    return { id, position: this.#cursor, failingFor, lastError: this.#lastError, deliveredAt: this.#deliveredAt };
  }

  #setPosition(position: EventPosition): void {
    this.#position = position;
    this.#cursor = this.#deps.sources.events.cursorAt(position);
    this.#isLost = false;
  }

  #now(): number {
    return this.#deps.clock.monotonicMs();
  }
}

/** Returns the wallets of a hook that its key may see; null for all. */
function commonWallets(
  ofHook: readonly string[] | null,
  ofKey: ReadonlySet<string> | null,
): ReadonlySet<string> | null {
  return ofHook === null ? ofKey : new Set(ofHook.filter((name) => ofKey === null || ofKey.has(name)));
}

/** Resolves when the signal aborts, or after a time. */
function woken(signal: AbortSignal, ms: number | null): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = ms === null ? undefined : setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done);
  });
}
