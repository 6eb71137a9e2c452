import { Elysia, t } from 'elysia';
import { pageInput } from '../http/input.ts';
import { access } from '../http/route-access.ts';
import { jsonAnswer } from '../queries/answer.ts';
import { tipView } from '../queries/block-facts.ts';
import { checkNotSyncing } from '../queries/broadcast.ts';
import { mempoolTotals } from '../queries/mempool-totals.ts';
import type { ReadEnv } from '../queries/read-env.ts';
import type { ReadService } from '../queries/read-service.ts';
import { readScriptInput } from '../queries/script-input.ts';
import { systemClock, unixSeconds } from '../util/clock.ts';
import { feesView } from '../views/rest/fees-view.ts';
import type { RestContext } from './context.ts';
import { mempoolAddressEndpoint, mempoolAnswer, mempoolRecentAnswer, mempoolTxidsAnswer } from './mempool-endpoints.ts';
import { ADDRESS, CURSOR, LIMIT } from './schemas.ts';

/** What waits for a block, and what it costs to be in one. */
export const mempoolRoutes = (ctx: RestContext, service: ReadService) =>
  new Elysia({ name: 'rest.mempool', tags: ['mempool'] })
    .get('/api/mempool', ({ request }) => service.reply(mempoolAnswer, request), {
      detail: { summary: 'The mempool', ...access('read') },
    })
    .get(
      '/api/mempool/address/:address',
      ({ params, query, request }) => {
        const script = readScriptInput(params.address, ctx.params);
        const path = `/api/mempool/address/${script.address}`;
        const page = pageInput(query, path, ctx.options.pages.mempoolAddress);
        return service.respond(mempoolAddressEndpoint, { ...page, ...script }, request);
      },
      {
        params: ADDRESS,
        query: t.Object({ limit: LIMIT, cursor: CURSOR }),
        detail: { summary: 'Unconfirmed transactions of an address', ...access('read') },
      },
    )
    .get(
      '/api/mempool/txids',
      ({ query, request }) => {
        const page = pageInput(query, '/api/mempool/txids', ctx.options.pages.mempoolTxids);
        return service.reply((env) => mempoolTxidsAnswer(env, page), request);
      },
      {
        query: t.Object({ limit: LIMIT, cursor: CURSOR }),
        detail: { summary: 'Ids of unconfirmed transactions', ...access('read') },
      },
    )
    .get('/api/mempool/recent', ({ request }) => service.reply(mempoolRecentAnswer, request), {
      detail: { summary: 'The last transactions accepted', ...access('read') },
    })
    .get(
      '/api/mempool/blocks',
      ({ request }) => service.reply(({ mempool }) => jsonAnswer(mempool.fees?.blocks ?? []), request),
      { detail: { summary: 'The next blocks, as they would be mined from the mempool', ...access('read') } },
    )
    .get('/api/fees', ({ request }) => service.reply((env) => feesAnswer(ctx, env), request), {
      detail: { summary: 'Fee rates', ...access('read') },
    });

function feesAnswer({ node, params }: RestContext, env: ReadEnv) {
  const { tip, mempool } = env;
  checkNotSyncing(node().status(), params.name, tip.height);
  const { minFeerate } = mempoolTotals(env);
  return jsonAnswer(feesView(mempool.fees, minFeerate, tipView(tip), unixSeconds(systemClock)));
}
