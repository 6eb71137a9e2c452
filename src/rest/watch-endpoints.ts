import { t } from 'elysia';
import type { WatchDone } from '../feed/stored-watches.ts';
import type { WatchRecord } from '../feed/watch-store.ts';
import { readTarget, WATCH_KINDS } from '../feed/watch-values.ts';
import { ApiError, fail } from '../http/errors.ts';
import { boundTo, invalid, nextPage, type PageInput, pageInput, type Query } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { type Answer, jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { decodeCursor, encodeCursor, endOfChain } from '../queries/cursor.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { endpoint } from './endpoint.ts';
import { uncachedJson } from './json-body.ts';
import { CURSOR, LIMIT, text } from './parameters.ts';
import type { RestContext } from './rest-context.ts';
import {
  REMOVAL_BODY,
  REMOVED_WATCHES,
  STORED_WATCHES,
  WATCH,
  WATCHES_BODY_SCHEMA,
  WATCHES_PAGE,
} from './schemas/watch-schemas.ts';
import { isWatchId, MAX_BULK, readRemoval, readWatches, WATCHES_BODY } from './watch-body.ts';

const PATH = '/api/watches';
const WATCH_ID = t.String({ description: 'id of a watch' });

/** Returns the id of the key that a request belongs to. Throws ApiError for a session, which ends without its watches. */
function ownerOf(ctx: RestContext, request: Request): string {
  const { kind, id } = ctx.call(request).principal;
  return kind === 'session' ? fail('insufficient_scope', 'stored watches belong to a key') : id;
}

/** The items that a key watches on all its connections, and across restarts. */
export const watchesEndpoint = endpoint({
  name: 'watches',
  path: PATH,
  tag: 'events',
  summary: 'Watches of this key, oldest first',
  query: {
    kind: text(WATCH_KINDS.join(', ')),
    value: text('an address, a script, a transaction id or txid:n'),
    label: text('exactly this label'),
    limit: LIMIT,
    cursor: CURSOR,
  },
  response: json(WATCHES_PAGE),
  errors: ['invalid_cursor'],
  serve:
    (ctx, service) =>
    ({ query, request }) =>
      service.reply((env) => listAnswer(ctx, env, ownerOf(ctx, request), query), request),
});

export const putWatchesEndpoint = endpoint({
  name: 'put-watches',
  method: 'POST',
  path: PATH,
  tag: 'events',
  summary: 'Watch something, or change what is reported of it',
  body: [json(WATCHES_BODY_SCHEMA)],
  bodyLimit: WATCHES_BODY,
  response: json(STORED_WATCHES),
  errors: ['invalid_address', 'limit_exceeded'],
  serve:
    (ctx) =>
    async ({ request }) => {
      const { watches } = ctx;
      const owner = ownerOf(ctx, request);
      const { requests, isList } = await readWatches(request, ctx.params);
      ctx.call(request).charge(Math.ceil(requests.length / UNITS_PER_CALL.watches) - 1);
      const done = await watches.addWatches(owner, requests);
      if (!isList) return doneView(done[0]!);
      const createdCount = done.filter(({ created }) => created).length;
      return { items: done.map(doneView), createdCount, total: watches.watchesOf(owner).size };
    },
});

export const removeWatchesEndpoint = endpoint({
  name: 'remove-watches',
  method: 'DELETE',
  path: PATH,
  tag: 'events',
  summary: 'Stop watching: the ids that are named, or all',
  query: { ids: text(`up to ${MAX_BULK} ids, by comma`), all: text('true removes all of this key') },
  body: [json(REMOVAL_BODY)],
  bodyRequired: false,
  bodyLimit: WATCHES_BODY,
  response: json(REMOVED_WATCHES),
  serve:
    (ctx) =>
    async ({ query, request }) => {
      const { watches } = ctx;
      const owner = ownerOf(ctx, request);
      const ids = await readRemoval(request, query);
      if (ids === null) {
        const deleted = await watches.removeAll(owner);
        return { deleted, missing: [], total: watches.watchesOf(owner).size };
      }
      const removed = new Set(await watches.removeWatches(owner, ids));
      const missing = [...new Set(ids)].filter((id) => !removed.has(id));
      return { deleted: removed.size, missing, total: watches.watchesOf(owner).size };
    },
});

export const watchEndpoint = endpoint({
  name: 'watch',
  path: `${PATH}/:id`,
  tag: 'events',
  summary: 'One watch',
  params: { id: WATCH_ID },
  response: json(WATCH),
  errors: ['not_found'],
  serve:
    (ctx) =>
    ({ params, request }) => {
      const watch = isWatchId(params.id) ? ctx.watches.byId(ownerOf(ctx, request), params.id) : null;
      return uncachedJson(watchView(watch ?? unknown()));
    },
});

export const removeWatchEndpoint = endpoint({
  name: 'remove-watch',
  method: 'DELETE',
  path: `${PATH}/:id`,
  tag: 'events',
  summary: 'Stop watching one',
  params: { id: WATCH_ID },
  response: json(REMOVED_WATCHES),
  errors: ['not_found'],
  serve:
    (ctx) =>
    async ({ params, request }) => {
      const { watches } = ctx;
      const owner = ownerOf(ctx, request);
      const removed = isWatchId(params.id) ? await watches.removeWatches(owner, [params.id]) : [];
      if (removed.length === 0) unknown();
      return { deleted: 1, missing: [], total: watches.watchesOf(owner).size };
    },
});

function listAnswer(ctx: RestContext, env: ReadEnv, owner: string, query: Query): Answer {
  const page = pageInput(query, PATH, ctx.options.pages.watches, ['kind', 'value', 'label']);
  const bound = boundTo(page);
  const { kind = null, value, label = null } = query;
  if (kind !== null && !WATCH_KINDS.some((each) => each === kind))
    invalid('kind', `must be one of ${WATCH_KINDS.join(', ')}`);
  const found = ctx.watches.page(owner, {
    kind,
    label,
    targets: value === undefined ? null : targetsOf(ctx, value),
    after: page.cursor === null ? 0 : decodeCursor(bound, page.cursor).seq,
    limit: page.limit + 1,
  });
  const items = found.slice(0, page.limit);
  const nextCursor = found.length > page.limit ? cursorOf(env, page, items.at(-1)!.seq) : null;
  const next = nextCursor && nextPage(page, nextCursor);
  const total = ctx.watches.watchesOf(owner).size;
  const body = { tip: tipView(env.tip), total, items: items.map(watchView), nextCursor, next };
  // The watches change without the chain.
  return { ...jsonAnswer(body, next), freshness: 'none' };
}

function cursorOf(env: ReadEnv, page: PageInput, seq: number): string {
  return encodeCursor(boundTo(page), { ...endOfChain(env), sub: 0, seq });
}

/** Returns all targets that the text may name, since hex can be a script or an id. */
function targetsOf({ params }: RestContext, value: string): string[] {
  const targets = new Set<string>();
  for (const kind of WATCH_KINDS)
    try {
      targets.add(readTarget(kind, value, params).key);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  return targets.size > 0 ? [...targets] : invalid('value', 'must be an address, a script, a transaction id or txid:n');
}

function watchView({ id, kind, value, confirmations, label, createdAt }: WatchRecord) {
  return { id, kind, value, confirmations, label, createdAt };
}

function doneView({ watch, created }: WatchDone) {
  return { ...watchView(watch), created };
}

function unknown(): never {
  return fail('not_found', 'this key has no such watch');
}
