import { type EventPosition, WHOLE } from '../feed/event-cursor.ts';
import { type Gap, type ResumePoint, startBehind } from '../feed/event-history.ts';
import type { EventLog } from '../feed/event-log.ts';
import {
  type EventPage,
  type EventPageRequest,
  type EventSources,
  nextEventPage,
  readEventPage,
} from '../feed/event-pages.ts';
import { headOfMessage } from '../feed/log-entry.ts';

/** Limit of the events of one delivery, bytes; the event that exceeds it is the last one. */
const BATCH_BYTES = 256 * 1024;

/** The events of one delivery. */
export interface WebhookBatch {
  /** Value of webhook-id: the cursor of the last event, or the name of the last gap. */
  readonly id: string;
  /** Cursor of the last message. */
  readonly cursor: string;
  /** Time of the first event, Unix seconds; null without events. */
  readonly time: number | null;
  /** JSON texts of the gaps and the events, in order; empty if there is none. */
  readonly texts: readonly string[];
  /** Number of events without the gaps. */
  readonly count: number;
  /** Position behind the batch. */
  readonly end: EventPosition;
  /** Number up to which missing events have been reported. */
  readonly gapTo: number;
}

export interface BatchRequest extends Pick<EventPageRequest, 'types' | 'watches' | 'wallets' | 'limit'> {
  /** A point knows the newest block event that the receiver has seen, which a power failure may have removed. */
  readonly from: EventPosition | ResumePoint;
  /** Number up to which missing events of the mempool were reported before. Other gaps move the position. */
  readonly gapTo: number;
}

/**
 * Resolves with the events behind a position: at once if there are any or if events are missing, otherwise with the next
 * ones. The batch is empty when `until` aborts or the log closes. Throws ApiError if events cannot be derived.
 */
export async function nextWebhookBatch(
  sources: EventSources,
  { from, gapTo, ...filter }: BatchRequest,
  until: AbortSignal,
): Promise<WebhookBatch> {
  const { events } = sources;
  const request = { ...filter, byCursor: true, maxBytes: BATCH_BYTES, signal: until };
  const point = pointAt(events, from);
  const unreported = () =>
    events.gapsBehind(point, filter.types).filter(({ scope, toSeq }) => scope === 'all' || toSeq > gapTo);
  const { lostTo } = events;
  let gaps = unreported();
  const page: EventPage =
    gaps.length > 0
      ? await readEventPage(sources, startBehind(point, gaps), request)
      : await nextEventPage(sources, { items: [], end: from }, request, until);
  // Events that were evicted while the page was read are missing on it; the gap may name delivered ones as well.
  if (events.lostTo > lostTo && from.seq < events.lostTo) gaps = unreported();
  return {
    ...headOf(gaps, page.items),
    texts: [...gaps.map(gapText), ...page.items],
    count: page.items.length,
    end: page.items.length === 0 && gaps.length > 0 ? behindGaps(events, page.end, gaps) : page.end,
    gapTo: Math.max(gapTo, ...gaps.filter(({ scope }) => scope === 'mempool').map(({ toSeq }) => toSeq)),
  };
}

/**
 * Returns the batch of a hook whose position is not in the log: a gap, after which the receiver reconciles, and events go
 * on from now.
 */
export function batchOfLostPosition(events: EventLog): WebhookBatch {
  const gap = events.gapUpToLatest();
  return {
    ...headOf([gap], []),
    texts: [gapText(gap)],
    count: 0,
    end: { seq: gap.toSeq, within: WHOLE },
    gapTo: gap.toSeq,
  };
}

/** Returns the position where events go on behind gaps without an event, so that a restart does not report them again. */
function behindGaps(events: EventLog, end: EventPosition, gaps: readonly Gap[]): EventPosition {
  const found = events.locate(gaps.at(-1)!.cursor);
  return typeof found === 'string' || found.seq < end.seq ? end : { seq: found.seq, within: found.within };
}

function pointAt(events: EventLog, position: EventPosition | ResumePoint): ResumePoint {
  if ('chainSeq' in position) return position;
  const point = events.locate(events.cursorAt(position));
  return typeof point === 'string' ? { ...position, chainSeq: null } : point;
}

function headOf(gaps: readonly Gap[], items: readonly string[]): Pick<WebhookBatch, 'id' | 'cursor' | 'time'> {
  if (items.length > 0) {
    const { type, cursor } = headOfMessage(items.at(-1)!);
    // A gap among the events has no time.
    const first = items.find((text) => headOfMessage(text).time !== null);
    const time = first === undefined ? null : headOfMessage(first).time;
    return { id: type === 'gap' ? idOfGap(cursor) : cursor, cursor, time };
  }
  const cursor = gaps.at(-1)?.cursor ?? '';
  return { id: idOfGap(cursor), cursor, time: null };
}

/** The cursor of a gap is a position, which an event may have as well. */
function idOfGap(cursor: string): string {
  return `gap-${cursor}`;
}

function gapText(gap: Gap): string {
  return JSON.stringify({ type: 'gap', data: gap });
}
