import { t } from 'elysia';
import { named, nullable, wholeNumberSchema } from '../../http/reply-schema.ts';
import { type Content, json, type RouteDescription } from '../../http/route-description.ts';

const ID = t.Union([t.String(), t.Number(), t.Null()]);

const CALL = named('RpcCall', {
  jsonrpc: t.Optional(t.Unsafe<string>({ type: 'string', enum: ['2.0', '1.1', '1.0'] })),
  id: t.Optional(ID),
  method: t.String(),
  params: t.Optional(
    t.Union([t.Array(t.Unknown()), t.Object({}, { additionalProperties: true })], {
      description: 'by position or by name; docs/json-rpc.md and rpc.discover describe them',
    }),
  ),
});

const ERROR = named('RpcError', {
  code: wholeNumberSchema({ description: "Bitcoin Core's code" }),
  message: t.String(),
  data: t.Optional(t.Unknown({ description: 'the code of the REST interface, and details' })),
});

/** Replies of 2.0 have either `result` or `error`; older ones have both, one of which is null. */
const REPLY = named('RpcReply', {
  jsonrpc: t.Optional(t.Literal('2.0')),
  result: t.Optional(t.Unknown()),
  error: t.Optional(nullable(ERROR)),
  id: t.Optional(ID),
});

const REPLIES: Content = json(t.Union([REPLY, t.Array(REPLY)]));

/** Parts that the routes of JSON-RPC share. */
export const RPC_ROUTE: Omit<RouteDescription, 'name' | 'summary' | 'limits'> = {
  tag: 'json-rpc',
  access: 'rpc',
  body: [json(t.Union([CALL, t.Array(CALL, { description: 'a batch' })]))],
  response: REPLIES,
  errorContent: json(REPLY),
  errors: ['origin_not_allowed', 'misdirected_request'],
  otherResponses: {
    204: { description: 'notifications alone have no reply' },
    404: { description: 'no such method, for callers of versions before 2.0', content: json(REPLY) },
    500: { description: 'the error of a method, for callers of versions before 2.0', content: json(REPLY) },
  },
};
