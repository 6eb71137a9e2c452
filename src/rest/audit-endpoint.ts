import { boundTo, invalid, nextPage, pageInput, type Query } from '../http/input.ts';
import { json } from '../http/route-description.ts';
import { decodeCursor, encodeCursor } from '../queries/cursor.ts';
import { endpoint } from './endpoint.ts';
import { CURSOR, LIMIT, text, wholeNumber } from './parameters.ts';
import type { RestContext } from './rest-context.ts';
import { AUDIT_PAGE } from './schemas/audit-schemas.ts';

const PATH = '/api/audit';
const TIME = /^(?:0|[1-9][0-9]{0,11})$/;

/** Rows of the audit log, newest first. */
export const auditEndpoint = endpoint({
  name: 'audit',
  path: PATH,
  tag: 'operations',
  summary: 'Audit log: administrative, spending and key-management calls, newest first',
  access: 'admin',
  query: {
    who: text('id of a key, static, cookie, rpcauth:USER, session:ID, anonymous or cli:UID'),
    method: text('a method, such as sendtoaddress'),
    since: wholeNumber('Unix seconds; nothing older'),
    limit: LIMIT,
    cursor: CURSOR,
  },
  response: json(AUDIT_PAGE),
  errors: ['invalid_cursor'],
  serve:
    (ctx) =>
    ({ query }) =>
      pageOf(ctx, query),
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

/** The log does not depend on blocks, so its cursor names none. */
function cursorBehind(bound: string, id: number): string {
  return encodeCursor(bound, { position: 0, sub: 0, seq: id, blockHash: new Uint8Array(32) });
}
