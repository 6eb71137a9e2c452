import { t } from 'elysia';
import { eventTypes, scopeOfTypes } from '../feed/event-types.ts';
import type { Query } from '../http/input.ts';
import { endpoint } from './endpoint.ts';
import { resumePoint, watchesLoaded } from './event-query.ts';
import { eventStream } from './event-stream.ts';
import { text } from './parameters.ts';
import type { RestContext } from './rest-context.ts';

const LAST_EVENT_ID = 'last-event-id';

/** The log as server-sent events, for clients that keep an HTTP request open instead of a WebSocket. */
export const streamEndpoint = endpoint({
  name: 'stream-events',
  path: '/api/stream',
  tag: 'events',
  summary: 'Events as server-sent events',
  description:
    'The header Last-Event-ID resumes behind the event with that id, which is its cursor. The parameter `after` does ' +
    'the same for the first request; without either the stream begins at the current end of the log. An event `gap` ' +
    'reports missing events, and an event `closed` that the key may no longer read them.',
  query: {
    after: text('data.cursor or seq of the event behind which the stream begins'),
    types: text('types of events, separated by commas'),
  },
  unlimitedTime: true,
  response: { type: 'text/event-stream', schema: t.String() },
  errors: ['invalid_cursor', 'too_many_connections'],
  serve(ctx) {
    return ({ query, request }) => openStream(ctx, query, request);
  },
});

async function openStream(ctx: RestContext, query: Query, request: Request): Promise<Response> {
  const { events, watches } = ctx;
  ctx.reads();
  const types = eventTypes(query.types?.split(','));
  const scope = scopeOfTypes(types);
  const call = ctx.call(request);
  call.require(scope);
  const lastEventId = request.headers.get(LAST_EVENT_ID);
  const { from } = lastEventId
    ? resumePoint(lastEventId, events, 'Last-Event-ID')
    : resumePoint(query.after, events, 'after');
  await watchesLoaded(ctx);
  const wait = ctx.eventWaits.begin(ctx, request, scope);
  const body = eventStream(ctx, {
    from,
    types,
    wait,
    watches: watches.watchesOfCaller(call.principal),
    wallets: call.principal.wallets,
  });
  // A connection that carries a stream is not used for another request; proxies must not collect its events.
  const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-store', connection: 'close' };
  return new Response(body, { headers: { ...headers, 'x-accel-buffering': 'no' } });
}
