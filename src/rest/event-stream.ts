import type { EventPosition } from '../feed/event-cursor.ts';
import { type Gap, type ResumePoint, startBehind } from '../feed/event-history.ts';
import { type EventPage, type EventPageRequest, nextEventPage } from '../feed/event-pages.ts';
import { headOfMessage } from '../feed/log-entry.ts';
import { ApiError } from '../http/errors.ts';
import type { EventWait } from './event-waits.ts';
import type { RestContext } from './rest-context.ts';

/** Events that are read at once. */
const PAGE = 100;
/** Limit of the bytes that one stream holds for a client that reads slowly. */
const PAGE_BYTES = 256 * 1024;
const LONGEST_PAUSE_MS = 15_000;
/** Pause of a client before it connects again, milliseconds. */
const RETRY_MS = 1000;

export interface StreamRequest extends Pick<EventPageRequest, 'types' | 'watches' | 'wallets'> {
  readonly from: ResumePoint;
  readonly wait: EventWait;
}

/**
 * Returns the body of a stream of server-sent events (WHATWG HTML, section 9.2): the gaps behind a point, the events
 * behind it, and each new event. The `id` of an event is its cursor. After 15 seconds without an event, an `id` alone
 * moves the position of the client past events of other types. The stream ends when the node stops, and with an event
 * `closed` when the key may no longer read the events.
 */
export function eventStream(ctx: RestContext, request: StreamRequest): ReadableStream<Uint8Array> {
  const parts = streamParts(ctx, request);
  const encoder = new TextEncoder();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await parts.next().catch((error: unknown) => {
          // A stream that fails here is not cancelled.
          request.wait.end();
          throw error;
        });
        if (!done) controller.enqueue(encoder.encode(value));
        else {
          request.wait.end();
          controller.close();
        }
      },
      async cancel() {
        request.wait.end();
        await parts.return();
      },
    },
    // A part is read only when the client has read the one before.
    { highWaterMark: 0 },
  );
}

async function* streamParts(
  ctx: RestContext,
  { from, wait, ...filter }: StreamRequest,
): AsyncGenerator<string, void, void> {
  const { events } = ctx;
  const pageRequest = { ...filter, limit: PAGE, maxBytes: PAGE_BYTES, byCursor: true, signal: wait.signal };
  let gaps = events.gapsBehind(from, filter.types);
  let page: EventPage = { items: [], end: startBehind(from, gaps) };
  yield `retry: ${RETRY_MS}\n${idLine(ctx, page.end)}\n${gaps.map(gapFrame).join('')}`;
  try {
    while (!wait.signal.aborted && !events.closed) {
      const before = page.end;
      page = await withinTime(wait.signal, heartbeatMs(ctx), (until) => nextEventPage(ctx, page, pageRequest, until));
      if (wait.signal.aborted) break;
      // Events that were evicted while the page was read are missing on it; the gap may name delivered ones as well.
      if (before.seq < events.lostTo && page.end.seq >= events.lostTo)
        yield gapsBehindPosition(ctx, before, filter.types).map(gapFrame).join('');
      yield page.items.length > 0 ? page.items.map(eventFrame).join('') : `${idLine(ctx, page.end)}\n`;
      // Events that were evicted while the client read slowly are a gap.
      gaps = page.end.seq < events.lostTo ? gapsBehindPosition(ctx, page.end, filter.types) : [];
      if (gaps.length > 0) {
        page = { items: [], end: startBehind(pointOf(ctx, page.end)!, gaps) };
        yield gaps.map(gapFrame).join('');
      }
    }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    yield closedFrame(error);
    return;
  }
  if (wait.signal.reason instanceof ApiError) yield closedFrame(wait.signal.reason);
}

function gapsBehindPosition(ctx: RestContext, position: EventPosition, types: ReadonlySet<string>): Gap[] {
  const point = pointOf(ctx, position);
  return point ? ctx.events.gapsBehind(point, types) : [];
}

function pointOf({ events }: RestContext, position: EventPosition): ResumePoint | null {
  const point = events.locate(events.cursorAt(position));
  return typeof point === 'string' ? null : point;
}

/** Runs `read` with a signal that aborts with `signal`, and after a time. */
async function withinTime<T>(signal: AbortSignal, ms: number, read: (until: AbortSignal) => Promise<T>): Promise<T> {
  const until = new AbortController();
  const end = () => until.abort();
  const timer = setTimeout(end, ms);
  signal.addEventListener('abort', end, { once: true });
  try {
    if (signal.aborted) end();
    return await read(until.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/** The runtime closes a connection on which nothing is sent for its idle timeout. */
function heartbeatMs({ options }: RestContext): number {
  const { idleTimeout } = options.http;
  return idleTimeout > 0 ? Math.min(LONGEST_PAUSE_MS, idleTimeout * 500) : LONGEST_PAUSE_MS;
}

const idLine = ({ events }: RestContext, position: EventPosition) => `id: ${events.cursorAt(position)}\n`;

/** JSON texts have no line breaks, so one line of `data` holds a whole message. */
function eventFrame(text: string): string {
  const { type, cursor } = headOfMessage(text);
  return `id: ${cursor}\nevent: ${type}\ndata: ${text}\n\n`;
}

function gapFrame(gap: Gap): string {
  return `id: ${gap.cursor}\nevent: gap\ndata: ${JSON.stringify({ type: 'gap', data: gap })}\n\n`;
}

function closedFrame({ failure, message }: ApiError): string {
  return `event: closed\ndata: ${JSON.stringify({ type: 'closed', data: { code: failure, message } })}\n\n`;
}
