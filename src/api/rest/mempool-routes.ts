import { Elysia, t } from 'elysia';
import { systemClock, unixSeconds } from '../../util/clock.ts';
import type { ApiContext } from '../context.ts';
import type { ReadService } from '../read-service.ts';
import { jsonAnswer } from '../readers/answer.ts';
import { tipView } from '../readers/block-facts.ts';
import { mempoolTotals } from '../readers/mempool-totals.ts';
import type { ReadEnv } from '../readers/read-env.ts';
import { readScriptInput } from '../readers/script-input.ts';
import { access } from '../route-access.ts';
import { checkNotSyncing } from './broadcast.ts';
import { pageInput } from './input.ts';
import { mempoolAddressEndpoint, mempoolAnswer, mempoolRecentAnswer, mempoolTxidsAnswer } from './mempool-endpoints.ts';
import { ADDRESS, CURSOR, LIMIT } from './schemas.ts';

const CONFIRM_TARGETS = ['1', '2', '6', '12', '144', '1008'];

/** What waits for a block, and what it costs to be in one. */
export const mempoolRoutes = (ctx: ApiContext, service: ReadService) =>
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
    .get('/api/fees', ({ request }) => service.reply((env) => jsonAnswer(feesView(ctx, env)), request), {
      detail: { summary: 'Fee rates', ...access('read') },
    });

/** Without history there is nothing to estimate from but the least rate that is relayed. */
function feesView({ node, params }: ApiContext, env: ReadEnv) {
  const { tip } = env;
  checkNotSyncing(node().status(), params.name, tip.height);
  const { minFeerate } = mempoolTotals(env);
  const floor = minFeerate / 1000;
  return {
    fastest: floor,
    halfHour: floor,
    hour: floor,
    economy: floor,
    minimum: floor,
    estimator: 'floor',
    targets: Object.fromEntries(CONFIRM_TARGETS.map((target) => [target, floor])),
    tip: tipView(tip),
    updatedAt: unixSeconds(systemClock),
  };
}
