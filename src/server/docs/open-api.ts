import { toOpenAPISchema } from '@elysiajs/openapi/openapi';
import type { AnyElysia } from 'elysia';
import { FAILURES, type FailureCode } from '../../http/errors.ts';
import { ERROR } from '../../http/reply-schema.ts';
import { json } from '../../http/route-description.ts';
import { SESSION_COOKIE } from '../../http/session-cookie.ts';
import { errorResponses, finishedOperations, headerComponents } from './finished-operations.ts';
import { finishedSchemas, type Json, sortedMembers } from './finished-schemas.ts';
import { routeExamples } from './route-examples.ts';
import { shareResponses } from './shared-responses.ts';
import { withStateHeader } from './state-header.ts';

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

const OF_NODE = 'REST interface of an Obverse node. JSON-RPC is at `POST /`, events are at `/ws`.';
const OF_SERVER =
  'REST interface of an Obverse server that answers from a database. Events are at `/ws`. It shows confirmed transactions ' +
  'only. A request that carries X-Chain-Height, or the cursor of an event, is answered from that state or a later one; a ' +
  'server that does not have it within two seconds answers 503 `syncing`.';
const COMMON =
  'Amounts are integers of satoshis, fee rates are satoshis per virtual byte, times are Unix seconds, and hashes have the ' +
  'byte order that explorers show. A member that may be missing is not required; a member without a value is null. ' +
  'A client must accept further members.\n\n' +
  'A reply about the chain belongs to one tip, which `tip` and the headers X-Chain-Height and X-Chain-Hash name. A list ' +
  'comes in pages: `nextCursor` is the parameter `cursor` of the next page, `next` its path, and both are null on the last ' +
  'page.\n\n' +
  'Every error has the form `Error`, with a code that never changes; each response lists its codes in `x-error-codes`.';

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'A key: obv1_…' },
  basic: { type: 'http', scheme: 'basic', description: 'The cookie file, or a user of rpcauth' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: SESSION_COOKIE,
    description:
      'The session of a browser, from POST /api/session. POST and DELETE also need the header X-CSRF-Token with the ' +
      'csrfToken of GET /api/session, and an Origin that is the one of this server.',
  },
};

/** Returns the OpenAPI 3.1 document of all routes of an app as JSON text. */
export function openApiDocument(
  app: AnyElysia,
  { version, hasNode = true }: { readonly version: string; readonly hasNode?: boolean },
): string {
  const { paths } = toOpenAPISchema(app);
  const schemas: Json = {};
  const described = { ...paths, '/ws': WEB_SOCKET };
  const finished = finishedSchemas(hasNode ? described : withStateHeader(described), schemas) as Json;
  const { paths: shared, responses } = shareResponses(finishedOperations(finished, routeExamples()));
  const used = tagsIn(shared);
  const document = {
    openapi: '3.1.0',
    info: {
      title: 'Obverse',
      version,
      description: `${hasNode ? OF_NODE : OF_SERVER}\n\n${COMMON}`,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: hasNode ? 'this node' : 'this server' }],
    tags: TAGS.filter(([name]) => used.has(name)).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }, { session: [] }],
    paths: shared,
    components: {
      securitySchemes: SECURITY_SCHEMES,
      headers: headerComponents(),
      responses,
      schemas: sortedMembers(schemas),
    },
  };
  return JSON.stringify(document);
}

const SOCKET_ERRORS: readonly FailureCode[] = [
  'invalid_request',
  'missing_credentials',
  'invalid_credentials',
  'insufficient_scope',
  'origin_not_allowed',
  'upgrade_required',
  'too_many_connections',
  'warming_up',
];
const ERROR_CONTENT = json(ERROR);

const WEB_SOCKET = {
  get: {
    tags: ['events'],
    summary: 'Upgrade to a WebSocket of events, subprotocol obverse.events.v1; docs/events.md describes the messages',
    operationId: 'openWebSocket',
    security: [{ bearer: [] }, { session: [] }, {}],
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
      ...errorResponses(
        Map.groupBy(SOCKET_ERRORS, (code) => FAILURES[code].http),
        { [ERROR_CONTENT.type]: { schema: ERROR_CONTENT.schema } },
      ),
    },
  },
};

/** Returns the tags of the operations of paths. */
function tagsIn(paths: Json): ReadonlySet<string> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods as Json));
  return new Set(operations.flatMap((operation) => (operation as { tags?: readonly string[] }).tags ?? []));
}
