import { ApiError } from '../http/errors.ts';
import { slicePauses } from '../http/slice-pauses.ts';
import type { Log } from '../util/log.ts';
import { framesOf, isPlain, type Subscription } from './derived.ts';
import { completeUpTo, type EventPosition, WHOLE } from './event-cursor.ts';
import type { EventLog } from './event-log.ts';
import type { LogEntry } from './log-entry.ts';
import type { Matcher } from './matcher.ts';
import type { Watched } from './watches.ts';

/** The request for a page of events. */
export interface EventPageRequest {
  readonly limit: number;
  /** Whether the client resumes by a cursor, which can point within an event. */
  readonly byCursor: boolean;
  readonly types: ReadonlySet<string>;
  /** Watched items that derived events depend on. */
  readonly watches: Watched;
  /** Wallets whose transactions the client may see; null for all. */
  readonly wallets: ReadonlySet<string> | null;
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal;
  /** Limit of the page, bytes; the page ends at the item that exceeds it. 4 MiB by default. */
  readonly maxBytes?: number;
}

export interface EventPage {
  /** Events as JSON texts. */
  readonly items: readonly string[];
  /** Position behind which the next page begins. */
  readonly end: EventPosition;
}

/** Where events are read, and messages about watched items derived. */
export interface EventSources {
  readonly events: EventLog;
  readonly matcher: Matcher;
  readonly log: Log;
}

const MAX_BODY = 4 * 1024 ** 2;
/** Time limit of one slice, milliseconds; the thread yields between two slices. */
const SLICE_MS = 1.5;
const SCAN = 200;
/** Types of events that others are derived from. */
const CAUSES = ['newBlock', 'blockDisconnected', 'newTransaction', 'transactionRemoved', 'walletAbandoned'];
const DERIVED = ['addressTransaction', 'confirmation', 'walletTransaction'];
const UNBOUNDED: Room = { items: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY };

/**
 * Reads the events behind a position, up to a page. A client that resumes behind a number gets an event together with
 * its derived events, since they share one number: its page may exceed the limit by a few.
 */
export async function readEventPage(
  sources: EventSources,
  from: EventPosition,
  request: EventPageRequest,
): Promise<EventPage> {
  const { events } = sources;
  const { limit, types, maxBytes = MAX_BODY } = request;
  const items: string[] = [];
  let end = from;
  let bytes = 0;
  const pause = slicePauses(SLICE_MS);
  while (items.length < limit && !request.signal.aborted) {
    const { watches, wallets } = request;
    const subscription: Subscription = {
      events: types,
      watches,
      full: false,
      onlyWatched: false,
      minFeeRate: 0,
      wallets,
    };
    const derives = !isPlain(subscription) && DERIVED.some((type) => types.has(type));
    const after = derives ? completeUpTo(end) : end.seq;
    const scan = derives ? SCAN : Math.min(SCAN, limit - items.length);
    const { entries, scanned } = events.after(after, scan, derives ? new Set([...types, ...CAUSES]) : types);
    if (scanned === after) break;
    for (const entry of entries) {
      const left = { items: limit - items.length, bytes: items.length > 0 ? maxBytes - bytes : maxBytes };
      if (left.items <= 0 || left.bytes <= 0) return { items, end };
      const behind = entry.seq === end.seq ? end.within : null;
      const read = derives
        ? await readEntry(
            entry,
            behind,
            { subscription, left: request.byCursor ? left : UNBOUNDED, isFirst: items.length === 0 },
            sources,
            pause,
          )
        : { texts: [entry.text], bytes: entry.text.length, within: WHOLE };
      if (read === null) return items.length > 0 ? { items, end } : cannot();
      bytes += read.bytes;
      if (bytes > maxBytes && items.length > 0 && !request.byCursor) return { items, end };
      for (const text of read.texts) items.push(text);
      end = { seq: entry.seq, within: read.within };
      if (read.within !== WHOLE) return { items, end };
    }
    end = { seq: scanned, within: WHOLE };
    await pause();
  }
  return { items, end };
}

/** Resolves with the first page that is not empty; with an empty one when `until` aborts or the log closes. */
export async function nextEventPage(
  ctx: EventSources,
  empty: EventPage,
  pageRequest: EventPageRequest,
  until: AbortSignal,
): Promise<EventPage> {
  const { events } = ctx;
  let page = empty;
  while (!until.aborted && !events.closed) {
    page = await readEventPage(ctx, page.end, { ...pageRequest, signal: until });
    if (page.items.length > 0) break;
    if (events.seq <= page.end.seq) await grown(events, until);
  }
  return page;
}

function grown(events: EventLog, until: AbortSignal): Promise<void> {
  if (until.aborted || events.closed) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      end();
      until.removeEventListener('abort', done);
      resolve();
    };
    const end = events.onGrown(done);
    until.addEventListener('abort', done, { once: true });
  });
}

interface Room {
  readonly items: number;
  readonly bytes: number;
}

/**
 * Returns an event and its derived events behind a position, as far as they are requested: as many as fit, but at least
 * one. Returns null if they cannot be derived now. Throws ApiError `block_pruned` for the first item of a page.
 */
async function readEntry(
  entry: LogEntry,
  behind: string | null,
  { subscription, left, isFirst }: { subscription: Subscription; left: Room; isFirst: boolean },
  { matcher, log }: EventSources,
  pause: ReturnType<typeof slicePauses>,
): Promise<{ texts: string[]; bytes: number; within: string } | null> {
  const texts: string[] = [];
  let bytes = 0;
  try {
    for (const step of framesOf(entry, subscription, matcher, behind)) {
      if (step instanceof Promise) await step;
      else if (step !== null) {
        texts.push(step.text);
        bytes += step.text.length;
        if (texts.length >= left.items || bytes >= left.bytes) return { texts, bytes, within: step.within! };
      }
      // Without a promise where the slice has not ended, since a page has many steps.
      const pausing = pause();
      if (pausing) await pausing;
    }
  } catch (error) {
    if (error instanceof ApiError && error.failure === 'block_pruned') {
      if (isFirst) throw error;
      return null;
    }
    log.warn('events could not be derived', { error });
    return null;
  }
  return { texts, bytes, within: WHOLE };
}

function cannot(): never {
  throw new ApiError('overloaded', 'the derived events of this key are not available now');
}
