import { Elysia, t } from 'elysia';
import { boundTo, invalid, nextPage, pageInput, type Query } from '../http/input.ts';
import { access } from '../http/route-access.ts';
import { decodeCursor, encodeCursor } from '../queries/cursor.ts';
import type { RestContext } from './context.ts';
import { CURSOR, LIMIT, text } from './schemas.ts';

const PATH = '/api/audit';
const TIME = /^(?:0|[1-9][0-9]{0,11})$/;

/** `GET /api/audit`: who did what, newest first. */
export const auditRoutes = (ctx: RestContext) =>
  new Elysia({ name: 'rest.audit', tags: ['operations'] }).get(PATH, ({ query }) => pageOf(ctx, query), {
    query: t.Object({
      who: text('id of a key, static, cookie, rpcauth:USER or cli:UID'),
      method: text('a method, such as sendtoaddress'),
      since: text('Unix seconds; nothing older'),
      limit: LIMIT,
      cursor: CURSOR,
    }),
    detail: {
      summary: 'Audit log: administrative, spending and key-management calls, newest first',
      ...access('admin'),
    },
  });

async function pageOf(ctx: RestContext, query: Query): Promise<Response> {
  const page = pageInput(query, PATH, ctx.options.pages.audit, ['who', 'method', 'since']);
  const bound = boundTo(page);
  const { who = null, method = null, since } = query;
  if (since !== undefined && !TIME.test(since)) invalid('since', 'must be Unix seconds');
  const before = page.cursor === null ? null : decodeCursor(bound, page.cursor).seq;
  const filter = { who, method, since: since === undefined ? null : Number(since) };
  const found = await ctx.audit.page(filter, before, page.limit + 1);
  const items = found.slice(0, page.limit);
  const nextCursor = found.length > page.limit ? cursorBehind(bound, items.at(-1)!.id) : null;
  const next = nextCursor && nextPage(page, nextCursor);
  const tip = ctx.tip();
  const body = { tip: tip && { height: tip.height, hash: tip.hash }, items, nextCursor, next };
  return new Response(JSON.stringify(body), {
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(next && { link: `<${next}>; rel="next"` }),
    },
  });
}

/** The log has nothing to do with blocks, so the cursor names none. */
function cursorBehind(bound: string, id: number): string {
  return encodeCursor(bound, { position: 0, sub: 0, seq: id, blockHash: new Uint8Array(32) });
}
