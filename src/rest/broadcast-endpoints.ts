import { HEX, TX_REJECTED } from '../http/reply-schema.ts';
import { BYTES, json, plainText } from '../http/route-description.ts';
import { checkNotSyncing } from '../queries/broadcast.ts';
import { broadcastReply, packageReply, testReply } from '../queries/broadcast-reply.ts';
import { readBroadcast, readTxs, TXS_BODY } from './broadcast-body.ts';
import { endpoint } from './endpoint.ts';
import type { RestContext } from './rest-context.ts';
import { BROADCAST, PACKAGE_RESULT, TEST_RESULTS, TX_BODY, TXS_LIST } from './schemas/broadcast-schemas.ts';

/** Default fee limits of a package, satoshis per 1,000 virtual bytes; the same as for one transaction. */
const PACKAGE_LIMITS = { maxFeerate: 10_000_000, maxBurn: 0 };

export const broadcastEndpoint = endpoint({
  name: 'broadcast-tx',
  method: 'POST',
  path: '/api/tx',
  tag: 'transactions',
  summary: 'Broadcast a transaction',
  access: 'broadcast',
  body: [json(TX_BODY), plainText(HEX), BYTES],
  bodyLimit: ({ limits }) => limits.txBodyBytes,
  response: json(BROADCAST),
  errors: ['tx_decode_failed', 'tx_rejected', 'syncing'],
  otherResponses: { 422: { description: '', content: json(TX_REJECTED) } },
  serve:
    (ctx, service) =>
    async ({ request }) =>
      broadcastReply(ctx, service, await readBroadcast(request), request.signal),
});

export const testTxsEndpoint = endpoint({
  name: 'test-txs',
  method: 'POST',
  path: '/api/tx/test',
  tag: 'transactions',
  summary: 'Whether the mempool would accept transactions',
  access: 'broadcast',
  body: [json(TXS_LIST)],
  bodyLimit: TXS_BODY,
  response: json(TEST_RESULTS),
  errors: ['tx_decode_failed', 'syncing'],
  serve:
    (ctx) =>
    async ({ request }) => {
      const txs = await readSyncedTxs(ctx, request);
      return testReply(
        txs,
        await ctx.node().call(
          'testTransactions',
          txs.map(({ raw }) => raw),
        ),
      );
    },
});

export const packageEndpoint = endpoint({
  name: 'broadcast-package',
  method: 'POST',
  path: '/api/txs/package',
  tag: 'transactions',
  summary: 'Broadcast a child with its parents',
  access: 'broadcast',
  body: [json(TXS_LIST)],
  bodyLimit: TXS_BODY,
  response: json(PACKAGE_RESULT),
  errors: ['tx_decode_failed', 'syncing'],
  serve:
    (ctx) =>
    async ({ request }) => {
      const txs = await readSyncedTxs(ctx, request);
      const raw = txs.map((tx) => tx.raw);
      const result = await ctx.node().call('submitPackage', raw, PACKAGE_LIMITS);
      await ctx.mempool.drained();
      return packageReply(txs, result);
    },
});

/** Returns the transactions of a request. Throws ApiError: of the body, or `syncing`. */
async function readSyncedTxs(ctx: RestContext, request: Request): ReturnType<typeof readTxs> {
  const txs = await readTxs(request);
  checkNotSyncing(ctx.node().status(), ctx.params.name, ctx.tip()?.height ?? 0);
  return txs;
}
