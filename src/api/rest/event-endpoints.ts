import { Elysia, t } from 'elysia';
import type { ApiContext } from '../context.ts';
import { ApiError, fail } from '../errors.ts';
import type { EventLog, Gap } from '../events/event-log.ts';
import { access } from '../route-access.ts';
import { invalid, numberInput, type Query } from './input.ts';

const TYPES = [
  'newBlock',
  'newTransaction',
  'mempoolUpdate',
  'blockDisconnected',
  'reorg',
  'transactionRemoved',
] as const;
const DEFAULT_TYPES: ReadonlySet<string> = new Set(TYPES.slice(0, 3));
const MAX_WAIT_SECONDS = 60;
/** A page ends where its items take more. */
const MAX_BODY = 4 * 1024 ** 2;
/** One turn of looking for events; then others have theirs. */
const SLICE_MS = 1.5;
const SCAN = 200;
const SEQ = /^(?:0|[1-9][0-9]{0,15})$/;

interface Asked {
  /** null asks for nothing older than now. */
  readonly after: number | null;
  readonly limit: number;
  readonly types: ReadonlySet<string>;
  readonly waitMs: number;
}

interface Page {
  readonly items: readonly string[];
  /** Go on behind this. */
  readonly lastSeq: number;
}

/** `GET /api/events`: the log as a list, for those who would rather ask than keep a WebSocket. */
export const eventRoutes = (ctx: ApiContext) => {
  const waits = new Waits(ctx);
  return new Elysia({ name: 'rest.events', tags: ['events'] }).get(
    '/api/events',
    async ({ query, request }) => {
      const { events } = ctx;
      ctx.reads();
      const { after, ...asked } = askedFor(query, ctx);
      const from = after ?? events.latest;
      if (!events.isKnown(from)) invalid('after', 'must be the seq of an event');
      const known = gapAfter(events, from);
      const start = Math.max(from, known?.scope === 'all' ? known.toSeq : 0);
      let page = await readPage(events, start, asked);
      // What is missing is told at once.
      if (page.items.length === 0 && known === null && asked.waitMs > 0)
        page = await waits.for(request, asked.waitMs, (until) => nextPage(events, page.lastSeq, asked, until));
      // The first event may have shown that some are missing.
      const gap = known ?? gapAfter(events, from);
      const body = `{"items":[${page.items.join(',')}],"lastSeq":${page.lastSeq},"gap":${JSON.stringify(gap)}}`;
      return new Response(body, { headers: { 'content-type': 'application/json', 'cache-control': 'no-store' } });
    },
    {
      query: t.Object({
        after: t.Optional(t.String({ description: 'lastSeq of the answer before; without it nothing older than now' })),
        limit: t.Optional(t.String({ description: 'entries on a page' })),
        types: t.Optional(t.String({ description: 'types of events, by comma' })),
        wait: t.Optional(t.String({ description: 'seconds to wait where there is none, up to 60' })),
      }),
      detail: { summary: 'Events of the chain and the mempool', ...access('read', { unlimitedTime: true }) },
    },
  );
};

function gapAfter(events: EventLog, seq: number): Gap | null {
  return events.gapsAfter(seq, { sure: true })[0] ?? null;
}

function askedFor(query: Query, { options }: ApiContext): Asked {
  const { default: fallback, max } = options.pages.events;
  if (query.after !== undefined && !SEQ.test(query.after)) invalid('after', 'must be the seq of an event');
  const types = query.types?.split(',') ?? null;
  for (const type of types ?? [])
    if (!TYPES.some((known) => known === type)) invalid('types', `must be of ${TYPES.join(', ')}`);
  return {
    after: query.after === undefined ? null : Number(query.after),
    limit: numberInput(query, 'limit', { min: 1, max, fallback: Math.min(fallback, max) }),
    types: types ? new Set(types) : DEFAULT_TYPES,
    waitMs: numberInput(query, 'wait', { min: 0, max: MAX_WAIT_SECONDS, fallback: 0 }) * 1000,
  };
}

/** What there is behind a number, up to a page. */
async function readPage(events: EventLog, after: number, { limit, types }: Omit<Asked, 'after'>): Promise<Page> {
  const items: string[] = [];
  let lastSeq = after;
  let bytes = 0;
  let until = performance.now() + SLICE_MS;
  while (items.length < limit) {
    const { entries, scanned } = events.after(lastSeq, Math.min(SCAN, limit - items.length), types);
    if (scanned === lastSeq) break;
    for (const { seq, text } of entries) {
      bytes += text.length;
      if (bytes > MAX_BODY && items.length > 0) return { items, lastSeq };
      items.push(text);
      lastSeq = seq;
    }
    lastSeq = scanned;
    if (performance.now() < until) continue;
    await new Promise((resolve) => setImmediate(resolve));
    until = performance.now() + SLICE_MS;
  }
  return { items, lastSeq };
}

/** The first page that holds something; an empty one when `until` aborts or the log is closed. */
async function nextPage(
  events: EventLog,
  after: number,
  asked: Omit<Asked, 'after'>,
  until: AbortSignal,
): Promise<Page> {
  let page: Page = { items: [], lastSeq: after };
  while (!until.aborted && !events.closed) {
    page = await readPage(events, page.lastSeq, asked);
    if (page.items.length > 0) break;
    if (events.seq <= page.lastSeq) await grown(events, until);
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

/** Requests that wait, counted: each holds a connection and some memory. */
class Waits {
  readonly #ctx: ApiContext;
  readonly #byKey = new Map<string, number>();
  #total = 0;

  constructor(ctx: ApiContext) {
    this.#ctx = ctx;
  }

  /** Runs `wait` with a signal that aborts after a time, or when the client leaves. Throws where too many wait. */
  async for<T>(request: Request, ms: number, wait: (until: AbortSignal) => Promise<T>): Promise<T> {
    const { eventWaitsPerKey, eventWaitsTotal } = this.#ctx.options.limits;
    const { id } = this.#ctx.call(request).principal;
    const mine = this.#byKey.get(id) ?? 0;
    if (this.#total >= eventWaitsTotal) throw new ApiError('overloaded', 'too many requests wait for events');
    if (mine >= eventWaitsPerKey) fail('too_many_connections', 'this key has too many requests that wait for events');
    this.#byKey.set(id, mine + 1);
    this.#total++;
    const until = new AbortController();
    const end = () => until.abort();
    const timer = setTimeout(end, ms);
    request.signal.addEventListener('abort', end, { once: true });
    try {
      if (request.signal.aborted) end();
      return await wait(until.signal);
    } finally {
      clearTimeout(timer);
      request.signal.removeEventListener('abort', end);
      const left = this.#byKey.get(id)! - 1;
      if (left > 0) this.#byKey.set(id, left);
      else this.#byKey.delete(id);
      this.#total--;
    }
  }
}
