import { t } from 'elysia';
import { count, named, namedWords, nullable } from '../../http/reply-schema.ts';
import { SCOPES } from '../../http/scopes.ts';

const PAGE = named('PageLimits', { default: count(), max: count() });

export const LIMITS = named(
  'Limits',
  {
    key: named('Caller', {
      kind: namedWords('CallerKind', ['key', 'static', 'cookie', 'rpcauth', 'session'], 'the kind of its credentials'),
      id: t.String({ description: 'public id of the key, or of the session' }),
      scopes: t.Array(namedWords('Scope', SCOPES, 'a right of a key')),
      wallets: nullable(t.Array(t.String(), { description: 'wallets that it may use; null for all' })),
      methods: nullable(t.Array(t.String(), { description: 'JSON-RPC methods that it may call; null for all' })),
    }),
    rate: nullable(
      named(
        'CallRate',
        {
          perSecond: t.Number(),
          burst: t.Number(),
          remaining: count('calls that are possible now'),
          resetAfter: count('seconds until all of the burst is available'),
        },
        'null without a limit',
      ),
    ),
    use: named('Use', {
      sockets: count('open WebSocket connections'),
      storedWatches: count(),
    }),
    limits: named('CallerLimits', {
      urlBytes: count('bytes of path and query'),
      txBodyBytes: count('bytes of the body of POST /api/tx'),
      rpcBodyBytes: count('bytes of the body of JSON-RPC'),
      requestSeconds: t.Number({ description: 'seconds of a REST read; 0 without a limit' }),
      parallelRequests: count('unanswered REST requests'),
      rpcBatch: count('calls of a batch'),
      rpcRunning: count('JSON-RPC requests that run'),
      rpcQueued: count('JSON-RPC requests that wait'),
      sockets: count('WebSocket connections'),
      socketFrameBytes: count('bytes of a message of a client'),
      socketMessagesPer10s: count('messages of a client in ten seconds'),
      socketWatches: count('watched items of a connection'),
      storedWatches: count(),
      eventWaits: count('requests that wait for events'),
      tickets: count('unused tickets'),
    }),
    unitsPerCall: named(
      'UnitsPerCall',
      {
        xpubKeys: count('keys that a request of /api/xpub derives'),
        chartPoints: count('points of a chart'),
        fullTxs: count('full transactions of a page'),
        txDetails: count('transactions of POST /api/txs/details'),
        addresses: count('addresses of POST /api/balances and POST /api/utxos'),
        watches: count('watches of one POST /api/watches'),
      },
      'parts of a long read that cost as much of `rate` as one call; each further part of them costs one call more',
    ),
    pages: t.Record(t.String(), PAGE, { description: 'entries on a page of each list' }),
  },
  'the rights and limits of the caller',
);
