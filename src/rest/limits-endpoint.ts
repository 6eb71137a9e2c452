import { json } from '../http/route-description.ts';
import { UNITS_PER_CALL } from './call-costs.ts';
import { endpoint } from './endpoint.ts';
import { LIMITS } from './schemas/limit-schemas.ts';

/** The rights of the caller, its limits, and how much of them it uses. */
export const limitsEndpoint = endpoint({
  name: 'config-limits',
  path: '/api/config/limits',
  tag: 'chain',
  summary: 'Rights, limits and present use of the caller',
  response: json(LIMITS),
  serve:
    (ctx) =>
    ({ request }) => {
      const { limits, pages, http } = ctx.options;
      const call = ctx.call(request);
      const { kind, id, scopes, wallets, rpcWhitelist, readsAdmin } = call.principal;
      return {
        key: {
          kind,
          id,
          scopes: [...scopes, ...(readsAdmin ? ['admin'] : [])].sort(),
          wallets: wallets && [...wallets].sort(),
          methods: rpcWhitelist && [...rpcWhitelist].sort(),
        },
        rate: call.rate,
        use: ctx.useOf(call),
        limits: {
          urlBytes: limits.urlBytes,
          txBodyBytes: limits.txBodyBytes,
          rpcBodyBytes: limits.rpcBodyBytes,
          requestSeconds: http.requestTimeoutMs / 1000,
          parallelRequests: limits.parallelPerKey,
          rpcBatch: limits.rpcMaxBatch,
          rpcRunning: limits.rpcMaxRunning,
          rpcQueued: limits.rpcMaxQueued,
          sockets: limits.wsPerKey,
          socketFrameBytes: limits.wsFrameBytes,
          socketMessagesPer10s: limits.wsMessagesPer10s,
          socketWatches: limits.wsWatched,
          storedWatches: limits.watchesPerKey,
          eventWaits: limits.eventWaitsPerKey,
          tickets: limits.wsTicketsPerKey,
        },
        pages,
        unitsPerCall: UNITS_PER_CALL,
      };
    },
});
