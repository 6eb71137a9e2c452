import { type AnyElysia, Elysia, t } from 'elysia';
import { ApiError, FAILURES, RPC_TYPE } from '../../http/errors.ts';
import { ownerOf } from '../../http/owner.ts';
import { asResponse, type PlainReply } from '../../http/plain-reply.ts';
import { BYTES, describeRoute, plainText } from '../../http/route-description.ts';
import { RpcDispatcher } from '../engine/dispatcher.ts';
import { KeyQueue, type QueueSlot } from '../engine/key-queue.ts';
import { readCall } from '../engine/protocol.ts';
import { replyBody } from '../engine/reply-body.ts';
import type { RpcContext } from '../engine/rpc-context.ts';
import { RPC_METHODS } from '../methods/methods.ts';
import { coreRestEndpoint } from './core-rest-endpoint.ts';
import { CORE_REST_ERROR, noFormat, restFail } from './rest-reply.ts';
import { queryValue, type RestTarget, restReadTarget, restTarget } from './rest-target.ts';

/** Limit of the body of getutxos, bytes: fifteen outpoints in hex, and enough more to report larger numbers. */
const MAX_BODY = 64 * 1024;

/** Reads of a whole block, each of which costs as much as two requests. */
const LONG_READS: ReadonlySet<string> = new Set<RestTarget['prefix']>([
  '/rest/block/',
  '/rest/block/notxdetails/',
  '/rest/spenttxouts/',
]);

/** Transactions of the mempool whose entries, and whose txids, cost as much as a whole block. */
const ENTRIES_PER_CHARGE = 5000;
const TXIDS_PER_CHARGE = 50_000;

/** Slot of short results, which are not queued. */
const UNQUEUED: QueueSlot = { releaseDuring: (wait) => wait() };

/** The routes, as patterns with a summary. The last one finds every other path that Core would answer. */
const ROUTES: readonly (readonly [pattern: string, name: string, summary: string])[] = [
  ['/rest/tx/:file', 'core-rest-tx', 'A transaction: TXID.bin, .hex or .json'],
  ['/rest/block/:file', 'core-rest-block', 'A block: HASH.bin, .hex or .json'],
  [
    '/rest/block/notxdetails/:file',
    'core-rest-block-txids',
    'A block with the txids of its transactions alone in JSON',
  ],
  ['/rest/blockpart/:file', 'core-rest-block-part', 'A part of a block: HASH.bin or .hex, with ?offset= and ?size='],
  ['/rest/blockfilter/:type/:file', 'core-rest-block-filter', 'The filter of a block (BIP-158); needs index.filter'],
  [
    '/rest/blockfilterheaders/:type/:file',
    'core-rest-filter-headers',
    'Filter headers (BIP-157) from a block on, with ?count=; needs index.filter',
  ],
  ['/rest/headers/:file', 'core-rest-headers', 'Headers from a block of the active chain on, with ?count='],
  [
    '/rest/blockhashbyheight/:file',
    'core-rest-block-hash',
    'The hash of the block at a height: HEIGHT.bin, .hex or .json',
  ],
  ['/rest/spenttxouts/:file', 'core-rest-spent', 'The outputs that the transactions of a block spent'],
  [
    '/rest/:file',
    'core-rest-file',
    'chaininfo.json and deploymentinfo.json: the results of getblockchaininfo and getdeploymentinfo; getutxos.bin and .hex with a body (BIP-64)',
  ],
  ['/rest/deploymentinfo/:file', 'core-rest-deployments-at', 'The result of getdeploymentinfo at a block: HASH.json'],
  [
    '/rest/mempool/:file',
    'core-rest-mempool',
    'info.json, or contents.json with ?verbose= and ?mempool_sequence=: the results of getmempoolinfo and getrawmempool',
  ],
  ['/rest/getutxos/*', 'core-rest-coins', 'Unspent outputs: checkmempool/TXID-N/….json, .hex or .bin (BIP-64)'],
  ['/rest/*', 'core-rest-other', 'Other spellings of these paths'],
];

/** Core's REST interface at `/rest/`; null if it is switched off. */
export function coreRestRoutes(ctx: RpcContext): AnyElysia | null {
  const { coreRest } = ctx.options.http;
  if (coreRest === 'off') return null;
  const app: AnyElysia = new Elysia({ name: 'core-rest' });
  const answer = answerer(ctx);
  for (const [pattern, name, summary] of ROUTES)
    for (const method of ['GET', 'POST'] as const) {
      // A request of getutxos may have a body.
      if (method === 'POST' && !pattern.endsWith('*') && pattern !== '/rest/:file') continue;
      app.route(method, pattern, ({ request }) => answer(request), {
        ...(pattern.includes(':') && { params: t.Object(paramsOf(pattern)) }),
        ...(method === 'POST' && { parse: 'none' as const }),
        detail: {
          ...describeRoute({
            tag: 'core-rest',
            name: method === 'GET' ? name : `${name}-post`,
            summary,
            description: 'As in Bitcoin Core (`doc/REST-interface.md`). Errors are text.',
            access: coreRest === 'public' ? 'public' : 'read',
            keyOnly: coreRest === 'keyed',
            response: BYTES,
            errorContent: plainText(t.String()),
            errors: ['not_found'],
            ...(method === 'POST' && { body: [BYTES], limits: { bodyLimit: MAX_BODY } }),
          }),
          ...(pattern === '/rest/*' && { hide: true }),
        },
      });
    }
  return app;
}

function paramsOf(pattern: string) {
  const names = [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  // Any value, since the undecoded path is read: Core answers a path with a bad escape sequence like another bad name.
  return Object.fromEntries(names.map((name) => [name, t.Any({ type: 'string' })]));
}

/** Returns the function that answers requests. */
function answerer(ctx: RpcContext): (request: Request) => Promise<Response> {
  const dispatcher = new RpcDispatcher(ctx, RPC_METHODS);
  const { queries } = ctx;
  const { limits } = ctx.options;
  const queue = new KeyQueue(limits, ctx.sharedCounts);

  /** Returns the result of a method that needs the node. The caller may read, as its route has required. */
  const methodReply = async (
    request: Request,
    method: string,
    params: readonly boolean[] = [],
    queueSlot: QueueSlot = UNQUEUED,
  ) => {
    const pieces = await dispatcher.run(readCall({ jsonrpc: '2.0', method, params: [...params] }), {
      call: null,
      wallet: null,
      request,
      queueSlot,
    });
    const to = { owner: ownerOf(ctx.call(request)), signal: request.signal };
    const body = replyBody([...pieces, '\n'], (parts, length) => {
      ctx.replies.admit(to.owner);
      return ctx.replies.stream(parts, length, to);
    });
    return new Response(body, { headers: { 'content-type': RPC_TYPE, 'cache-control': 'no-store' } });
  };

  const answerTarget = async (request: Request, target: RestTarget): Promise<Response | PlainReply> => {
    const { prefix, param, format, query } = target;
    if (prefix === '/rest/chaininfo')
      return format === 'json' ? methodReply(request, 'getblockchaininfo') : noFormat('json');
    if (prefix !== '/rest/mempool/') {
      if (LONG_READS.has(prefix)) ctx.call(request).charge(1);
      const body = request.method === 'POST' && prefix === '/rest/getutxos' ? (await request.bytes()).toHex() : '';
      return queries.respond(coreRestEndpoint, { target: restReadTarget(target), body }, request);
    }
    if (param !== 'contents' && param !== 'info')
      return restFail(400, 'Invalid URI format. Expected /rest/mempool/<info|contents>.json');
    if (format !== 'json') return noFormat('json');
    if (param === 'info') return methodReply(request, 'getmempoolinfo');
    const verbose = flagOf(query, 'verbose', true);
    const withSequence = flagOf(query, 'mempool_sequence', false);
    if (verbose && withSequence)
      return restFail(400, 'Verbose results cannot contain mempool sequence values. (hint: set "verbose=false")');
    const call = ctx.call(request);
    call.charge(1 + Math.floor(ctx.mempool.mirror.entries.count / (verbose ? ENTRIES_PER_CHARGE : TXIDS_PER_CHARGE)));
    const owner = ownerOf(call);
    ctx.replies.admit(owner);
    return queue.run(`rest ${owner}`, (slot) => methodReply(request, 'getrawmempool', [verbose, withSequence], slot));
  };

  return async (request) => {
    const target = restTarget(request.url.slice(request.url.indexOf('/', 'https://'.length)));
    if (target === null) throw new ApiError('not_found', 'no such route');
    if (request.method === 'POST' && target.prefix !== '/rest/getutxos')
      throw new ApiError('method_not_allowed', 'only getutxos has a body', null, { allow: 'GET, HEAD' });
    try {
      return asResponse(await answerTarget(request, target));
    } catch (error) {
      if (!(error instanceof ApiError) || error.details?.coreRest !== CORE_REST_ERROR.coreRest) throw error;
      const headers = { 'content-type': 'text/plain', 'cache-control': 'no-store' };
      return new Response(`${error.message}\r\n`, { status: FAILURES[error.failure].http, headers });
    }
  };
}

function flagOf(query: string, name: string, fallback: boolean): boolean {
  const text = queryValue(query, name) ?? String(fallback);
  if (text === 'true' || text === 'false') return text === 'true';
  return restFail(400, `The "${name}" query parameter must be either "true" or "false".`);
}
