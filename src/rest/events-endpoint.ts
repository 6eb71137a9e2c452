import { completeUpTo, type EventPosition, WHOLE } from '../feed/event-cursor.ts';
import { type Gap, type ResumePoint, startBehind } from '../feed/event-history.ts';
import type { EventLog } from '../feed/event-log.ts';
import { type EventPage, type EventPageRequest, nextEventPage, readEventPage } from '../feed/event-pages.ts';
import { eventTypes, scopeOfTypes } from '../feed/event-types.ts';
import { numberInput, type Query } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { endpoint } from './endpoint.ts';
import { resumePoint, watchesLoaded } from './event-query.ts';
import { text, wholeNumber } from './parameters.ts';
import type { RestContext } from './rest-context.ts';
import { EVENTS_PAGE } from './schemas/event-schemas.ts';

const MAX_WAIT_SECONDS = 60;

interface Asked {
  readonly from: ResumePoint;
  /** Whether `after` was a cursor. */
  readonly byCursor: boolean;
  readonly limit: number;
  readonly types: ReadonlySet<string>;
  readonly waitMs: number;
}

/** The log as a list, for clients that poll instead of using a WebSocket. */
export const eventsEndpoint = endpoint({
  name: 'events',
  path: '/api/events',
  tag: 'events',
  summary: 'Events of the chain and the mempool',
  query: {
    after: text(
      'lastCursor of the page before, or data.cursor of an event: the page begins right behind it. Or lastSeq of the ' +
        'page before. Without it the page begins at the current end of the log',
    ),
    limit: wholeNumber('entries on a page; behind a seq, those of one more event may come with them', { minimum: 1 }),
    types: text('types of events, separated by commas'),
    wait: wholeNumber('seconds to wait if there is no event', { maximum: MAX_WAIT_SECONDS, default: 0 }),
  },
  unlimitedTime: true,
  response: json(EVENTS_PAGE),
  errors: ['invalid_cursor', 'too_many_connections', 'block_pruned'],
  serve(ctx) {
    return ({ query, request }) => eventsReply(ctx, query, request);
  },
});

async function eventsReply(ctx: RestContext, query: Query, request: Request): Promise<Response> {
  const { events, watches } = ctx;
  ctx.reads();
  const { from, waitMs, ...asked } = requestOf(query, ctx);
  const call = ctx.call(request);
  call.require(scopeOfTypes(asked.types));
  const { lostTo } = events;
  const known = events.gapsBehind(from, asked.types);
  await watchesLoaded(ctx);
  const { signal } = request;
  const pageRequest = {
    ...asked,
    signal,
    watches: watches.watchesOfCaller(call.principal),
    wallets: call.principal.wallets,
  };
  const endRead = ctx.eventWaits.beginRead(ctx, request);
  let page: EventPage;
  try {
    page = await readEventPage(ctx, startBehind(from, known), pageRequest);
  } finally {
    endRead();
  }
  // A gap is reported at once.
  if (page.items.length === 0 && known.length === 0 && waitMs > 0)
    page = await waitForPage(ctx, page, { ...pageRequest, request, waitMs });
  // Some events may have been dropped in the meantime.
  const gaps = known.length > 0 && events.lostTo === lostTo ? known : events.gapsBehind(from, asked.types);
  const end = endOf(page, gaps, events);
  const body =
    `{"items":[${page.items.join(',')}],"lastSeq":${completeUpTo(end)},"lastCursor":"${events.cursorAt(end)}",` +
    `"gap":${JSON.stringify(gaps[0] ?? null)}}`;
  return new Response(body, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
}

/** Resolves with the first page that is not empty; with an empty one after a time, or when the client disconnects. */
async function waitForPage(
  ctx: RestContext,
  empty: EventPage,
  { request, waitMs, ...pageRequest }: EventPageRequest & { readonly request: Request; readonly waitMs: number },
): Promise<EventPage> {
  const wait = ctx.eventWaits.begin(ctx, request, scopeOfTypes(pageRequest.types));
  const until = AbortSignal.any([wait.signal, AbortSignal.timeout(waitMs)]);
  try {
    const page = await nextEventPage(ctx, empty, pageRequest, until);
    if (!request.signal.aborted) wait.signal.throwIfAborted();
    return page;
  } finally {
    wait.end();
  }
}

/**
 * Returns the position where the client resumes: behind the page, and behind the gap if the page ends at the end of the
 * log.
 */
function endOf({ end }: EventPage, gaps: readonly Gap[], events: EventLog): EventPosition {
  const missingTo = events.endOfGaps(gaps);
  return completeUpTo(end) >= events.seq && missingTo >= end.seq ? { seq: missingTo, within: WHOLE } : end;
}

function requestOf(query: Query, { options, events }: RestContext): Asked {
  const { default: fallback, max } = options.pages.events;
  return {
    types: eventTypes(query.types?.split(',')),
    ...resumePoint(query.after, events, 'after'),
    limit: numberInput(query, 'limit', { min: 1, max, fallback: Math.min(fallback, max) }),
    waitMs: numberInput(query, 'wait', { min: 0, max: MAX_WAIT_SECONDS, fallback: 0 }) * 1000,
  };
}
