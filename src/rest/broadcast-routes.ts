import { Elysia } from 'elysia';
import { access } from '../http/route-access.ts';
import { checkNotSyncing, readBroadcast, readTxs, TXS_BODY } from '../queries/broadcast.ts';
import { broadcastReply, packageReply, testReply } from '../queries/broadcast-reply.ts';
import type { ReadService } from '../queries/read-service.ts';
import type { RestContext } from './context.ts';

/** Bound of what a package may cost by mistake, satoshis per 1,000 virtual bytes; the same as for one transaction. */
const PACKAGE_LIMITS = { maxFeerate: 10_000_000, maxBurn: 0 };

/** Handing in transactions, and trying whether they would be taken. */
export const broadcastRoutes = (ctx: RestContext, service: ReadService) => {
  const notSyncing = () => {
    const tip = ctx.tip();
    checkNotSyncing(ctx.node().status(), ctx.params.name, tip?.height ?? 0);
  };
  return new Elysia({ name: 'rest.broadcast', tags: ['transactions'] })
    .post(
      '/api/tx',
      async ({ request }) => broadcastReply(ctx, service, await readBroadcast(request), request.signal),
      {
        parse: 'none',
        detail: {
          summary: 'Broadcast a transaction',
          ...access('broadcast', { bodyLimit: ctx.options.limits.txBodyBytes }),
        },
      },
    )
    .post(
      '/api/tx/test',
      async ({ request }) => {
        const txs = await readTxs(request);
        notSyncing();
        return testReply(txs, await ctx.node().testTransactions(txs.map(({ raw }) => raw)));
      },
      {
        parse: 'none',
        detail: {
          summary: 'Whether transactions would be taken',
          ...access('broadcast', { bodyLimit: TXS_BODY }),
        },
      },
    )
    .post(
      '/api/txs/package',
      async ({ request }) => {
        const txs = await readTxs(request);
        notSyncing();
        const result = await ctx.node().submitPackage(
          txs.map(({ raw }) => raw),
          PACKAGE_LIMITS,
        );
        await ctx.mempool.drained();
        return packageReply(txs, result);
      },
      {
        parse: 'none',
        detail: {
          summary: 'Broadcast a child with its parents',
          ...access('broadcast', { bodyLimit: TXS_BODY }),
        },
      },
    );
};
