import { completeUpTo, type EventPosition, WHOLE } from '../feed/event-cursor.ts';
import { CURSOR_FAULTS, type Gap, type ResumePoint, startBehind } from '../feed/event-history.ts';
import type { EventLog } from '../feed/event-log.ts';
import { ApiError, fail } from '../http/errors.ts';
import { invalid, numberInput, type Query } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import type { Scope } from '../http/scopes.ts';
import { endpoint } from './endpoint.ts';
import { type EventPage, type EventPageRequest, readEventPage } from './event-pages.ts';
import { text, wholeNumber } from './parameters.ts';
import type { RestContext } from './rest-context.ts';
import { EVENTS_PAGE } from './schemas/event-schemas.ts';

const TYPES = [
  'newBlock',
  'newTransaction',
  'mempoolUpdate',
  'addressTransaction',
  'confirmation',
  'blockDisconnected',
  'reorg',
  'transactionRemoved',
  'walletTransaction',
] as const;
/** The first five types. The last two of them report only items that the key watches. */
const DEFAULT_TYPES: ReadonlySet<string> = new Set(TYPES.slice(0, 5));
const MAX_WAIT_SECONDS = 60;
/** Time limit for loading the watches of keys, milliseconds. */
const LOAD_MS = 5000;
const SEQ = /^(?:0|[1-9][0-9]{0,15})$/;
const NUMBER = /^-?[0-9.]+$/;

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
    const waits = new Waits(ctx);
    return ({ query, request }) => eventsReply(ctx, waits, query, request);
  },
});

async function eventsReply(ctx: RestContext, waits: Waits, query: Query, request: Request): Promise<Response> {
  const { events, watches } = ctx;
  ctx.reads();
  const { from, waitMs, ...asked } = requestOf(query, ctx);
  const call = ctx.call(request);
  call.require(scopeOf(asked.types));
  const known = events.gapsBehind(from);
  if (!watches.isLoaded) await Promise.race([watches.loaded, Bun.sleep(LOAD_MS)]);
  if (!watches.isLoaded) fail('warming_up', 'the watches of keys are still loading');
  const { signal } = request;
  const pageRequest = {
    ...asked,
    signal,
    watches: watches.watchesOf(call.principal.id),
    wallets: call.principal.wallets,
  };
  let page = await readEventPage(ctx, startBehind(from, known), pageRequest);
  // A gap is reported at once.
  if (page.items.length === 0 && known.length === 0 && waitMs > 0)
    page = await waits.for(request, { ms: waitMs, scope: scopeOf(asked.types) }, (until) =>
      nextPage(ctx, page, pageRequest, until),
    );
  // Some events may have been dropped in the meantime.
  const gaps = known.length > 0 ? known : events.gapsBehind(from);
  const end = endOf(page, gaps, events);
  const body =
    `{"items":[${page.items.join(',')}],"lastSeq":${completeUpTo(end)},"lastCursor":"${events.cursorAt(end)}",` +
    `"gap":${JSON.stringify(gaps[0] ?? null)}}`;
  return new Response(body, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
}

/** Returns the scope that the types require. The route requires `read`, and one type requires more. */
function scopeOf(types: ReadonlySet<string>): Scope {
  return types.has('walletTransaction') ? 'wallet.read' : 'read';
}

/**
 * Returns the position where the client resumes: behind the page, and behind the gap if the page ends at the end of the
 * log.
 */
function endOf({ end }: EventPage, gaps: readonly Gap[], events: EventLog): EventPosition {
  const missingTo = gaps.at(-1)?.toSeq ?? 0;
  return completeUpTo(end) >= events.seq && missingTo >= end.seq ? { seq: missingTo, within: WHOLE } : end;
}

function requestOf(query: Query, { options, events }: RestContext): Asked {
  const { default: fallback, max } = options.pages.events;
  const types = query.types?.split(',') ?? null;
  for (const type of types ?? [])
    if (!TYPES.some((known) => known === type)) invalid('types', `must be of ${TYPES.join(', ')}`);
  return {
    ...pointFor(query.after, events),
    limit: numberInput(query, 'limit', { min: 1, max, fallback: Math.min(fallback, max) }),
    types: types ? new Set(types) : DEFAULT_TYPES,
    waitMs: numberInput(query, 'wait', { min: 0, max: MAX_WAIT_SECONDS, fallback: 0 }) * 1000,
  };
}

function pointFor(after: string | undefined, events: EventLog): Pick<Asked, 'from' | 'byCursor'> {
  if (after === undefined || NUMBER.test(after)) {
    const seq = after === undefined ? events.latest : SEQ.test(after) ? Number(after) : Number.POSITIVE_INFINITY;
    const from = events.behind(seq, WHOLE);
    return from ? { from, byCursor: false } : invalid('after', 'must be the cursor or the seq of an event');
  }
  const found = events.locate(after);
  if (typeof found !== 'string') return { from: found, byCursor: true };
  return fail('invalid_cursor', CURSOR_FAULTS[found], { parameter: 'after', reason: found });
}

/** Resolves with the first page that is not empty; with an empty one when `until` aborts or the log closes. */
async function nextPage(
  ctx: RestContext,
  empty: EventPage,
  pageRequest: EventPageRequest,
  until: AbortSignal,
): Promise<EventPage> {
  const { events } = ctx;
  let page = empty;
  while (!until.aborted && !events.closed) {
    page = await readEventPage(ctx, page.end, pageRequest);
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

/** Counts waiting requests, since each holds a connection and memory. */
class Waits {
  readonly #ctx: RestContext;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(ctx: RestContext) {
    this.#ctx = ctx;
  }

  /**
   * Runs `wait` with a signal that aborts after a time or when the client disconnects. Throws ApiError if too many
   * requests wait, or when the key loses the required scope.
   */
  async for<T>(
    request: Request,
    { ms, scope }: { readonly ms: number; readonly scope: Scope },
    wait: (until: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { eventWaitsPerKey, eventWaitsTotal } = this.#ctx.options.limits;
    const call = this.#ctx.call(request);
    const { id } = call.principal;
    const mine = this.#byKey.get(id) ?? 0;
    if (this.#total >= eventWaitsTotal) throw new ApiError('overloaded', 'too many requests are waiting for events');
    if (mine >= eventWaitsPerKey) fail('too_many_connections', 'too many requests of this key are waiting for events');
    this.#byKey.set(id, mine + 1);
    this.#total++;
    const until = new AbortController();
    const end = () => until.abort();
    const timer = setTimeout(end, ms);
    request.signal.addEventListener('abort', end, { once: true });
    const following = this.#ctx.follow(call, scope);
    following.signal.addEventListener('abort', end, { once: true });
    try {
      if (request.signal.aborted) end();
      const found = await wait(until.signal);
      following.signal.throwIfAborted();
      return found;
    } finally {
      following.end();
      clearTimeout(timer);
      request.signal.removeEventListener('abort', end);
      const left = this.#byKey.get(id)! - 1;
      if (left > 0) this.#byKey.set(id, left);
      else this.#byKey.delete(id);
      this.#total--;
    }
  }
}
