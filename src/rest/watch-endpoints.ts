import { Elysia, t } from 'elysia';
import type { WatchDone } from '../feed/stored-watches.ts';
import type { WatchRecord } from '../feed/watch-store.ts';
import { readTarget, WATCH_KINDS } from '../feed/watch-values.ts';
import { ApiError, fail } from '../http/errors.ts';
import { boundTo, invalid, nextPage, type PageInput, pageInput, type Query } from '../http/input.ts';
import { access } from '../http/route-access.ts';
import { type Answer, jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { decodeCursor, encodeCursor, endOfChain } from '../queries/cursor.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import type { ReadService } from '../queries/read-service.ts';
import type { RestContext } from './context.ts';
import { CURSOR, LIMIT, text } from './schemas.ts';
import { isWatchId, MAX_BULK, readRemoval, readWatches, WATCHES_BODY } from './watch-body.ts';
import { REMOVAL_SCHEMA, WATCHES_SCHEMA } from './watch-schemas.ts';

const PATH = '/api/watches';
/** Watches of one request that cost one call. */
const PER_CALL = 100;

/** What a key is told of on all its connections, and across restarts. */
export const watchRoutes = (ctx: RestContext, service: ReadService) => {
  const { watches } = ctx;
  const ownerOf = (request: Request) => ctx.call(request).principal.id;
  return new Elysia({ name: 'rest.watches', tags: ['events'] })
    .get(PATH, ({ query, request }) => service.reply((env) => listAnswer(ctx, env, ownerOf(request), query), request), {
      query: t.Object({
        kind: text(WATCH_KINDS.join(', ')),
        value: text('an address, a script, a transaction id or txid:n'),
        label: text('exactly this label'),
        limit: LIMIT,
        cursor: CURSOR,
      }),
      detail: { summary: 'What this key watches, oldest first', ...access('read') },
    })
    .post(
      PATH,
      async ({ request }) => {
        const { wishes, isList } = await readWatches(request, ctx.params);
        ctx.call(request).charge(Math.ceil(wishes.length / PER_CALL) - 1);
        const owner = ownerOf(request);
        const done = await watches.put(owner, wishes);
        if (!isList) return doneView(done[0]!);
        const createdCount = done.filter(({ created }) => created).length;
        return { items: done.map(doneView), createdCount, total: watches.of(owner).size };
      },
      {
        parse: 'none',
        detail: {
          summary: 'Watch something, or change what is told of it',
          requestBody: WATCHES_SCHEMA,
          ...access('read', { bodyLimit: WATCHES_BODY }),
        },
      },
    )
    .delete(
      PATH,
      async ({ query, request }) => {
        const ids = await readRemoval(request, query);
        const owner = ownerOf(request);
        if (ids === null) {
          const deleted = await watches.removeAll(owner);
          return { deleted, missing: [], total: watches.of(owner).size };
        }
        const removed = new Set(await watches.remove(owner, ids));
        const missing = [...new Set(ids)].filter((id) => !removed.has(id));
        return { deleted: removed.size, missing, total: watches.of(owner).size };
      },
      {
        parse: 'none',
        query: t.Object({ ids: text(`up to ${MAX_BULK} ids, by comma`), all: text('true removes all of this key') }),
        detail: {
          summary: 'Stop watching: the ids that are named, or all',
          requestBody: REMOVAL_SCHEMA,
          ...access('read', { bodyLimit: WATCHES_BODY }),
        },
      },
    )
    .get(
      `${PATH}/:id`,
      ({ params, request }) => {
        const watch = isWatchId(params.id) ? watches.byId(ownerOf(request), params.id) : null;
        return fresh(watchView(watch ?? unknown()));
      },
      { params: WATCH_ID, detail: { summary: 'One watch', ...access('read') } },
    )
    .delete(
      `${PATH}/:id`,
      async ({ params, request }) => {
        const owner = ownerOf(request);
        const removed = isWatchId(params.id) ? await watches.remove(owner, [params.id]) : [];
        if (removed.length === 0) unknown();
        return { deleted: 1, missing: [], total: watches.of(owner).size };
      },
      { params: WATCH_ID, detail: { summary: 'Stop watching one', ...access('read') } },
    );
};

const WATCH_ID = t.Object({ id: t.String({ description: 'id of a watch' }) });

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
  const total = ctx.watches.of(owner).size;
  const body = { tip: tipView(env.tip), total, items: items.map(watchView), nextCursor, next };
  // It changes without the chain.
  return { ...jsonAnswer(body, next), freshness: 'none' };
}

function cursorOf(env: ReadEnv, page: PageInput, seq: number): string {
  return encodeCursor(boundTo(page), { ...endOfChain(env), sub: 0, seq });
}

/** All that the text may name: hex can be a script and an id. */
function targetsOf({ params }: RestContext, value: string): string[] {
  const targets = new Set<string>();
  for (const kind of WATCH_KINDS)
    try {
      targets.add(readTarget(kind, value, params).key);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
  return targets.size > 0 ? [...targets] : invalid('value', 'names nothing that can be watched');
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

/** Not to be kept by anybody. */
function fresh(body: object): Response {
  return new Response(JSON.stringify(body), {
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store' },
  });
}
