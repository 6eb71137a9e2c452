import { type TSchema, t } from 'elysia';
import { EVENT_DESCRIPTIONS, SNAPSHOT_MESSAGES } from '../../feed/event-messages.ts';
import { named, TIP, time } from '../../http/reply-schema.ts';
import { BLOCK } from '../../rest/schemas/block-schemas.ts';
import { FEES, PROJECTED_BLOCKS } from '../../rest/schemas/mempool-schemas.ts';
import { TX } from '../../rest/schemas/tx-schemas.ts';
import { CLIENT_MESSAGES, ERROR_REPLY } from '../../ws/client-messages.ts';
import { finishedSchemas, type Json, sortedMembers } from './finished-schemas.ts';
import { messageExamples } from './route-examples.ts';

/** Schemas that events with the details full refer to. */
const FULL_BODIES = [BLOCK, TX];

interface MessageDescription {
  readonly type: string;
  readonly summary: string;
  readonly schema: TSchema;
}

const FEE_UPDATE: MessageDescription = {
  type: 'feeUpdate',
  summary: 'A fee rate of GET /api/fees changed.',
  schema: named('FeeUpdate', { type: t.Literal('feeUpdate'), data: FEES }),
};

const MEMPOOL_BLOCKS: MessageDescription = {
  type: 'mempoolBlocks',
  summary: 'The next blocks of GET /api/mempool/blocks changed; at most one a second.',
  schema: named('MempoolBlocks', {
    type: t.Literal('mempoolBlocks'),
    data: t.Object({ blocks: PROJECTED_BLOCKS, tip: TIP, updatedAt: time() }),
  }),
};

const CLOSED: MessageDescription = {
  type: 'closed',
  summary: 'The node ends the stream, whose key may no longer read the events.',
  schema: named('Closed', { type: t.Literal('closed'), data: t.Object({ code: t.String(), message: t.String() }) }),
};

const TEST_DATA = t.Object({ cursor: t.String({ description: 'begins with test-' }), time: time() });

/** The body of a webhook. */
function webhookDelivery(streamed: readonly MessageDescription[]): MessageDescription {
  const test = named('WebhookTestMessage', { type: t.Literal('test'), data: TEST_DATA });
  return {
    type: 'webhookDelivery',
    summary: 'Events that the node posts to the URL of a webhook, with the headers of Standard Webhooks.',
    schema: named('WebhookDelivery', {
      webhook: t.String({ description: 'id of the webhook' }),
      cursor: t.String({ description: 'cursor of the last event' }),
      events: t.Array(t.Union([...streamed.map(({ schema }) => schema), test]), { minItems: 1 }),
    }),
  };
}

const ERROR: MessageDescription = {
  type: 'error',
  summary: 'A message of the client cannot be carried out.',
  schema: ERROR_REPLY,
};

/** Returns the AsyncAPI 3.0 document of the events and of the WebSocket as JSON text. */
export function asyncApiDocument(version: string): string {
  const kept = EVENT_DESCRIPTIONS.filter((event) => event.kept);
  const gap = EVENT_DESCRIPTIONS.filter(({ type }) => type === 'gap');
  const sent: readonly MessageDescription[] = [
    ...EVENT_DESCRIPTIONS,
    ...SNAPSHOT_MESSAGES,
    FEE_UPDATE,
    MEMPOOL_BLOCKS,
    ERROR,
  ];
  const streamed: readonly MessageDescription[] = [...kept, ...gap, CLOSED];
  const delivery = webhookDelivery([...kept, ...gap]);
  const requests = CLIENT_MESSAGES.map(({ type, summary, schema }) => ({ type: `${type}Message`, summary, schema }));
  const replies = CLIENT_MESSAGES.map(({ type, reply }) => ({
    type: `${type}Reply`,
    summary: `The reply to ${type}.`,
    schema: reply,
  }));
  const schemas: Json = {};
  for (const body of FULL_BODIES) finishedSchemas(body, schemas);
  const examples = messageExamples();
  const messages = Object.fromEntries(
    [...new Set([...sent, CLOSED, delivery, ...requests, ...replies])].map((each) => [
      each.type,
      messageOf(each, schemas, examples[each.type]),
    ]),
  );
  return JSON.stringify({
    asyncapi: '3.0.0',
    info: {
      title: 'Obverse',
      version,
      description:
        'Events of an Obverse node: over a WebSocket at /ws, as server-sent events at GET /api/stream, and to webhooks.',
      license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
      tags: [{ name: 'events', description: 'Events, and the messages of clients' }],
    },
    defaultContentType: 'application/json',
    channels: {
      webSocket: {
        address: '/ws',
        description: 'Each text frame is one message. The subprotocol obverse.events.v1 is optional.',
        messages: references('components', [...sent, ...requests, ...replies]),
        bindings: { ws: { method: 'GET' } },
      },
      stream: {
        address: '/api/stream',
        description: 'The data of each server-sent event is one message; its id is the cursor.',
        messages: references('components', streamed),
        bindings: { http: {} },
      },
      webhook: {
        description: 'The URL of a webhook of POST /api/webhooks. The body of each POST is one message.',
        messages: references('components', [delivery]),
        bindings: { http: {} },
      },
    },
    operations: {
      sendEvents: operation('Sends the events of the subscribed types.', 'webSocket', sent),
      streamEvents: operation('Sends events as server-sent events.', 'stream', streamed),
      deliverEvents: operation('Posts events to the URL of a webhook.', 'webhook', [delivery]),
      ...Object.fromEntries(CLIENT_MESSAGES.map(({ type, summary }) => [type, requestOperation(type, summary)])),
    },
    components: {
      messages,
      schemas: sortedMembers(schemas),
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', description: 'A key: obv1_…' } },
    },
  });
}

function messageOf({ type, summary, schema }: MessageDescription, schemas: Json, example: object | undefined): Json {
  return {
    name: type,
    summary,
    payload: finishedSchemas(schema, schemas),
    ...(example && { examples: [{ name: 'regtest', payload: example }] }),
  };
}

/**
 * Returns a JSON Schema of draft 7 as JSON text: that of any event, with a definition for the message of each type and for
 * what it refers to.
 */
export function eventSchemas(): string {
  const schemas: Json = {};
  for (const body of FULL_BODIES) finishedSchemas(body, schemas);
  const events = [...EVENT_DESCRIPTIONS, ...SNAPSHOT_MESSAGES, FEE_UPDATE, MEMPOOL_BLOCKS, CLOSED];
  const anyOf = events.map(({ schema }) => finishedSchemas(schema, schemas));
  const document = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:obverse:events',
    title: 'Events of an Obverse node',
    description: 'A message of the WebSocket, the data of a server-sent event, or an item of GET /api/events.',
    anyOf,
    definitions: sortedMembers(schemas),
  };
  return JSON.stringify(document).replaceAll('"#/components/schemas/', '"#/definitions/');
}

function references(place: string, messages: readonly MessageDescription[]): Json {
  return Object.fromEntries(messages.map(({ type }) => [type, { $ref: `#/${place}/messages/${type}` }]));
}

const inChannel = (channel: string, type: string) => ({ $ref: `#/channels/${channel}/messages/${type}` });
const SECURITY = [{ $ref: '#/components/securitySchemes/bearer' }];

function operation(summary: string, channel: string, messages: readonly MessageDescription[]): Json {
  return {
    action: 'send',
    summary,
    channel: { $ref: `#/channels/${channel}` },
    security: SECURITY,
    messages: messages.map(({ type }) => inChannel(channel, type)),
  };
}

/** A message of the client, and the reply that it gets. */
function requestOperation(type: string, summary: string): Json {
  const channel = { $ref: '#/channels/webSocket' };
  return {
    action: 'receive',
    channel,
    summary,
    security: SECURITY,
    messages: [inChannel('webSocket', `${type}Message`)],
    reply: { channel, messages: [`${type}Reply`, 'error'].map((name) => inChannel('webSocket', name)) },
  };
}
