import { Elysia, t } from 'elysia';
import {
  choiceInput,
  flagInput,
  hashInput,
  heightInput,
  heightOption,
  numberInput,
  pageInput,
  type Query,
} from '../http/input.ts';
import { access } from '../http/route-access.ts';
import type { ReadService } from '../queries/read-service.ts';
import { readScriptInput } from '../queries/script-input.ts';
import { addressEndpoint, balanceEndpoint, validateEndpoint } from './address-endpoints.ts';
import { addressTxsEndpoint } from './address-txs.ts';
import { addressUtxosEndpoint } from './address-utxos.ts';
import { auditRoutes } from './audit-endpoints.ts';
import {
  blockByHeightEndpoint,
  blockEndpoint,
  blockHeaderEndpoint,
  blockRawEndpoint,
  blockStatusEndpoint,
  blocksEndpoint,
  blockTxidsEndpoint,
  blockTxsEndpoint,
  headersEndpoint,
  tipEndpoint,
} from './block-endpoints.ts';
import { broadcastRoutes } from './broadcast-routes.ts';
import { difficultyEndpoint, SUPPLY_KINDS, supplyEndpoint } from './chain-endpoints.ts';
import type { RestContext } from './context.ts';
import { eventRoutes } from './event-endpoints.ts';
import { mempoolRoutes } from './mempool-routes.ts';
import { infoReply, listingAnswer, peersReply } from './node-answers.ts';
import { ADDRESS, CURSOR, LIMIT, text } from './schemas.ts';
import { ticketRoutes } from './ticket-routes.ts';
import { txEndpoint, txProofEndpoint, txRawEndpoint, txStatusEndpoint, txsStatusEndpoint } from './tx-endpoints.ts';
import { readTxids, TXIDS_BODY } from './txids-body.ts';
import { watchRoutes } from './watch-endpoints.ts';

const MAX_COUNT = 2 ** 31 - 1;

const HASH = t.Object({ hash: t.String({ description: 'block hash, 64 hex digits' }) });
const TXID = t.Object({ txid: t.String({ description: 'transaction id, 64 hex digits' }) });

/** The REST interface. */
export const restRoutes = (ctx: RestContext) => {
  const service = ctx.queries;
  return new Elysia({ name: 'rest' })
    .use(blockRoutes(ctx, service))
    .use(txRoutes(service))
    .use(broadcastRoutes(ctx, service))
    .use(addressRoutes(ctx, service))
    .use(mempoolRoutes(ctx, service))
    .use(chainRoutes(ctx, service))
    .use(eventRoutes(ctx))
    .use(watchRoutes(ctx, service))
    .use(ticketRoutes(ctx))
    .use(auditRoutes(ctx));
};

const blockRoutes = (ctx: RestContext, service: ReadService) =>
  new Elysia({ name: 'rest.blocks', tags: ['blocks'] })
    .get(
      '/api/block/:hash',
      ({ params, query, request }) => {
        ctx.call(request).charge(1);
        return service.respond(blockEndpoint, { hash: hashInput(params.hash), summary: isSummary(query) }, request);
      },
      {
        params: HASH,
        query: t.Object({ fields: text('summary leaves out txids') }),
        detail: { summary: 'Block by hash', ...access('read') },
      },
    )
    .get(
      '/api/block-by-height/:height',
      ({ params, query, request }) => {
        ctx.call(request).charge(1);
        const input = { height: heightInput(params.height), summary: isSummary(query) };
        return service.respond(blockByHeightEndpoint, input, request);
      },
      {
        params: t.Object({ height: t.String() }),
        query: t.Object({ fields: text('summary leaves out txids') }),
        detail: { summary: 'Block of the active chain by height', ...access('read') },
      },
    )
    .get(
      '/api/blocks',
      ({ query, request }) => {
        const page = pageInput(query, '/api/blocks', ctx.options.pages.blocks, ['before']);
        return service.respond(blocksEndpoint, { ...page, before: heightOption(query, 'before') }, request);
      },
      {
        query: t.Object({ before: text('height above the first block'), limit: LIMIT, cursor: CURSOR }),
        detail: { summary: 'Blocks of the active chain, newest first', ...access('read') },
      },
    )
    .get('/api/blocks/tip', ({ request }) => service.respond(tipEndpoint, null, request), {
      detail: { summary: 'The tip of the active chain', ...access('read') },
    })
    .get(
      '/api/block/:hash/txs',
      ({ params, query, request }) => {
        const hash = hashInput(params.hash);
        const page = pageInput(query, `/api/block/${hash}/txs`, ctx.options.pages.blockTxs);
        ctx.call(request).charge(Math.ceil(page.limit / 100) - 1);
        return service.respond(blockTxsEndpoint, { ...page, hash }, request);
      },
      {
        params: HASH,
        query: t.Object({ limit: LIMIT, cursor: CURSOR }),
        detail: { summary: 'Transactions of a block, in block order', ...access('read') },
      },
    )
    .get(
      '/api/block/:hash/txids',
      ({ params, request }) => service.respond(blockTxidsEndpoint, { hash: hashInput(params.hash) }, request),
      { params: HASH, detail: { summary: 'Transaction ids of a block', ...access('read') } },
    )
    .get(
      '/api/block/:hash/header',
      ({ params, request }) => service.respond(blockHeaderEndpoint, { hash: hashInput(params.hash) }, request),
      { params: HASH, detail: { summary: 'Header of a block as hex', ...access('read') } },
    )
    .get(
      '/api/block/:hash/raw',
      ({ params, request }) =>
        service.respond(blockRawEndpoint, { hash: hashInput(params.hash), as: 'bytes' }, request),
      { params: HASH, detail: { summary: 'A block as bytes', ...access('read') } },
    )
    .get(
      '/api/block/:hash/hex',
      ({ params, request }) => service.respond(blockRawEndpoint, { hash: hashInput(params.hash), as: 'hex' }, request),
      { params: HASH, detail: { summary: 'A block as hex', ...access('read') } },
    )
    .get(
      '/api/block/:hash/status',
      ({ params, request }) => service.respond(blockStatusEndpoint, { hash: hashInput(params.hash) }, request),
      { params: HASH, detail: { summary: 'Whether a block is in the active chain', ...access('read') } },
    )
    .get(
      '/api/headers',
      ({ query, request }) => {
        const from = numberInput(query, 'from', { min: 0, max: MAX_COUNT, fallback: 0 });
        const count = numberInput(query, 'count', { min: 1, max: 2000, fallback: 2000 });
        return service.respond(headersEndpoint, { from, count }, request);
      },
      {
        query: t.Object({ from: text('first height'), count: text('1 to 2000') }),
        detail: { summary: 'Headers of the active chain', ...access('read') },
      },
    );

function isSummary(query: Query): boolean {
  return choiceInput(query, 'fields', ['all', 'summary']) === 'summary';
}

const txRoutes = (service: ReadService) =>
  new Elysia({ name: 'rest.txs', tags: ['transactions'] })
    .get('/api/tx/:txid', ({ params, request }) => service.respond(txEndpoint, { txid: txidInput(params) }, request), {
      params: TXID,
      detail: { summary: 'Transaction by id', ...access('read') },
    })
    .get(
      '/api/tx/:txid/proof',
      ({ params, query, request }) => {
        const input = { txid: txidInput(params), coinbase: flagInput(query, 'coinbase') };
        return service.respond(txProofEndpoint, input, request);
      },
      {
        params: TXID,
        query: t.Object({ coinbase: text('true adds the branch of the coinbase') }),
        detail: { summary: 'Merkle proof that a transaction is in a block', ...access('read') },
      },
    )
    .get(
      '/api/tx/:txid/status',
      ({ params, request }) => service.respond(txStatusEndpoint, { txid: txidInput(params) }, request),
      { params: TXID, detail: { summary: 'Where a transaction stands', ...access('read') } },
    )
    .get(
      '/api/tx/:txid/hex',
      ({ params, request }) => service.respond(txRawEndpoint, { txid: txidInput(params), as: 'hex' }, request),
      { params: TXID, detail: { summary: 'A transaction as hex', ...access('read') } },
    )
    .get(
      '/api/tx/:txid/raw',
      ({ params, request }) => service.respond(txRawEndpoint, { txid: txidInput(params), as: 'bytes' }, request),
      { params: TXID, detail: { summary: 'A transaction as bytes', ...access('read') } },
    )
    .post(
      '/api/txs/status',
      async ({ request }) => service.respond(txsStatusEndpoint, { txids: await readTxids(request) }, request),
      {
        parse: 'none',
        detail: { summary: 'Where many transactions stand', ...access('read', { bodyLimit: TXIDS_BODY }) },
      },
    );

function txidInput({ txid }: { txid: string }): string {
  return hashInput(txid, 'invalid_txid');
}

const addressRoutes = (ctx: RestContext, service: ReadService) =>
  new Elysia({ name: 'rest.addresses', tags: ['addresses'] })
    .get(
      '/api/balance/:address',
      ({ params, request }) => service.respond(balanceEndpoint, readScriptInput(params.address, ctx.params), request),
      { params: ADDRESS, detail: { summary: 'Balance of an address', ...access('read') } },
    )
    .get(
      '/api/address/:address',
      ({ params, request }) => service.respond(addressEndpoint, readScriptInput(params.address, ctx.params), request),
      { params: ADDRESS, detail: { summary: 'An address and its balance', ...access('read') } },
    )
    .get(
      '/api/address/:address/txs',
      ({ params, query, request }) => {
        const script = readScriptInput(params.address, ctx.params);
        const page = pageInput(query, `/api/address/${script.address}/txs`, ctx.options.pages.addressTxs, [
          'order',
          'fromHeight',
          'toHeight',
          'confirmed',
          'minConfirmations',
          'details',
        ]);
        const full = choiceInput(query, 'details', ['summary', 'full']) === 'full';
        if (full) ctx.call(request).charge(Math.ceil(page.limit / 100) - 1);
        const input = {
          ...page,
          ...script,
          full,
          confirmed: flagInput(query, 'confirmed'),
          order: choiceInput(query, 'order', ['desc', 'asc']),
          fromHeight: heightOption(query, 'fromHeight'),
          toHeight: heightOption(query, 'toHeight'),
          minConfirmations: numberInput(query, 'minConfirmations', { min: 0, max: MAX_COUNT, fallback: 0 }),
        };
        return service.respond(addressTxsEndpoint, input, request);
      },
      {
        params: ADDRESS,
        query: t.Object({
          limit: LIMIT,
          cursor: CURSOR,
          order: text('desc or asc'),
          fromHeight: text('lowest height'),
          toHeight: text('highest height'),
          confirmed: text('true leaves out the mempool'),
          minConfirmations: text('fewest confirmations'),
          details: text('full adds the transaction'),
        }),
        detail: { summary: 'Transactions of an address', ...access('read') },
      },
    )
    .get(
      '/api/address/:address/utxos',
      ({ params, query, request }) => {
        const script = readScriptInput(params.address, ctx.params);
        const path = `/api/address/${script.address}/utxos`;
        const page = pageInput(query, path, ctx.options.pages.utxos, ['confirmed']);
        const input = { ...page, ...script, confirmed: flagInput(query, 'confirmed') };
        return service.respond(addressUtxosEndpoint, input, request);
      },
      {
        params: ADDRESS,
        query: t.Object({ limit: LIMIT, cursor: CURSOR, confirmed: text('true: the UTXO set alone') }),
        detail: { summary: 'Unspent outputs of an address', ...access('read') },
      },
    )
    .get(
      '/api/validate/:address',
      ({ params, request }) => service.respond(validateEndpoint, { text: params.address }, request),
      { params: ADDRESS, detail: { summary: 'Whether an address is valid', ...access('read') } },
    );

const chainRoutes = (ctx: RestContext, service: ReadService) => {
  const app = new Elysia({ name: 'rest.chain', tags: ['chain'] })
    .get('/api/info', () => infoReply(ctx, (make) => service.read(make)), {
      detail: { summary: 'The node and its chain', ...access('public') },
    })
    .get('/api/peers', () => peersReply(ctx), { detail: { summary: 'Connected peers', ...access('read') } })
    .get('/api/listing', ({ request }) => service.reply((env) => listingAnswer(ctx, env), request), {
      detail: { summary: 'The listing record of the coin', ...access('read') },
    })
    .get('/api/difficulty', ({ request }) => service.respond(difficultyEndpoint, null, request), {
      detail: { summary: 'Difficulty now, next and before', ...access('read') },
    });
  for (const kind of SUPPLY_KINDS)
    app.get(`/api/supply/${kind}`, ({ request }) => service.respond(supplyEndpoint, { kind }, request), {
      detail: { summary: `Supply: ${kind}`, ...access('public') },
    });
  return app;
};
