import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import type { AnyElysia } from 'elysia';
import { FAILURES, type FailureCode } from '../../http/errors.ts';
import { ERROR } from '../../http/reply-schema.ts';
import { json } from '../../http/route-description.ts';

type Json = Record<string, unknown>;

const TAGS = [
  ['blocks', 'Blocks and headers'],
  ['transactions', 'Transactions, and their broadcast'],
  ['addresses', 'Balances, histories and unspent outputs of addresses'],
  ['mempool', 'Unconfirmed transactions and fee rates'],
  ['chain', 'The node, its peers and its chain'],
  ['events', 'Events, watches and the WebSocket'],
  ['operations', 'Health, metrics and the audit log'],
  ['json-rpc', "Bitcoin Core's JSON-RPC; docs/json-rpc.md describes the methods"],
] as const;

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A key: obv1_…' },
  basic: { type: 'http', scheme: 'basic', description: 'The cookie file, or a user of rpcauth' },
};

/** Returns the OpenAPI 3.1 document of all routes of an app as JSON text. */
export function openApiDocument(app: AnyElysia, version: string): string {
  const { paths } = toOpenAPISchema(app);
  const schemas: Json = {};
  const finished = finish({ ...paths, '/ws': WEB_SOCKET }, schemas) as Json;
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Obverse',
      version,
      description: 'REST interface of an Obverse node. JSON-RPC is at POST /, events are at /ws.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: TAGS.map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths: finished,
    components: { securitySchemes: SECURITY_SCHEMES, schemas: sorted(schemas) },
  };
  return JSON.stringify(document);
}

/**
 * Copies a part of the document. Named schemas move to the components, and parameters that are decoded from text show
 * their decoded type and put their description where clients expect it.
 */
function finish(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map((each) => finish(each, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { $id, documented, error: _, patternProperties, ...rest } = value as Json;
  if (typeof $id === 'string') {
    schemas[$id] ??= finish(rest, schemas);
    return { $ref: `#/components/schemas/${$id}` };
  }
  const plain = isErrorMember(value as Json) ? { ...rest, error: _ } : rest;
  const copy = Object.fromEntries(Object.entries(plain).map(([key, member]) => [key, finish(member, schemas)]));
  // TypeBox represents a record as a pattern that matches every name.
  if (patternProperties) copy.additionalProperties = finish(Object.values(patternProperties as Json)[0], schemas);
  if (typeof copy.in === 'string') return finishedParameter(copy, schemas);
  return documented === undefined ? copy : { ...copy, documented };
}

/** A schema under `error` is a member of that name; a text under `error` is Elysia's message for an invalid value. */
function isErrorMember({ error }: Json): boolean {
  return typeof error === 'object';
}

function finishedParameter(parameter: Json, schemas: Json): Json {
  const { description, documented, ...schema } = parameter.schema as Json;
  return {
    ...parameter,
    ...(description !== undefined && { description }),
    schema: documented === undefined ? schema : finish(documented, schemas),
  };
}

function sorted(members: Json): Json {
  return Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const WEB_SOCKET = {
  get: {
    tags: ['events'],
    summary: 'Upgrade to a WebSocket of events, subprotocol obverse.events.v1; docs/events.md describes the messages',
    operationId: 'webSocket',
    security: [{ bearer: [] }, {}],
    'x-access': 'read',
    parameters: [
      {
        name: 'ticket',
        in: 'query',
        required: false,
        schema: { type: 'string', description: 'from POST /api/ws-ticket, in place of a key' },
      },
    ],
    responses: {
      101: { description: 'switching protocols' },
      ...webSocketErrors([
        'invalid_request',
        'missing_credentials',
        'invalid_credentials',
        'insufficient_scope',
        'origin_not_allowed',
        'upgrade_required',
        'too_many_connections',
        'warming_up',
      ]),
    },
  },
};

function webSocketErrors(codes: readonly FailureCode[]): Json {
  const { type, schema } = json(ERROR);
  return Object.fromEntries(
    [...Map.groupBy(codes, (code) => FAILURES[code].http)].map(([status, some]) => [
      status,
      { description: some.join(', '), content: { [type]: { schema } } },
    ]),
  );
}
