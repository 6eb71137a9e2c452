import { type TSchema, t } from 'elysia';
import { GAP } from '../feed/event-messages.ts';
import { ERROR_CODES } from '../http/errors.ts';
import { count, height, named, nullable, type Properties, time, words } from '../http/reply-schema.ts';
import { MESSAGE_ERROR_CODES } from './message-error.ts';

const MESSAGE_ID = t.Union([t.String({ maxLength: 128 }), t.Number()], { description: 'repeated in the reply' });
const POSITION = t.Union([t.String(), count()], { description: 'a cursor, or a number of the log' });
const EVENT_NAMES = t.Array(t.String(), { description: 'types of events' });
const RANGE = {
  from: count('number of the first event that can follow'),
  to: count('number of the newest event'),
  gap: nullable(GAP),
};

const WATCHED = {
  addresses: t.Optional(t.Array(t.String())),
  scripts: t.Optional(t.Array(t.String({ description: 'hex' }))),
  txids: t.Optional(t.Array(t.String())),
  outpoints: t.Optional(t.Array(t.String({ description: 'txid:n' }))),
  confirmations: t.Optional(t.Array(count(), { description: 'numbers at which a confirmation is sent' })),
};
const WATCH_REPLY = { count: count('items of the message'), total: count('items of the connection') };

/** A type of message that clients send, with the schema of its data and that of the data of its reply. */
export interface ClientMessage {
  readonly type: string;
  readonly summary: string;
  readonly schema: TSchema;
  readonly reply: TSchema;
}

function clientMessage(
  type: string,
  summary: string,
  data: Properties,
  {
    reply,
    name = 'ack',
    more = false,
  }: { readonly reply: Properties; readonly name?: string; readonly more?: boolean },
): ClientMessage {
  const title = `${type[0]!.toUpperCase()}${type.slice(1)}`;
  return {
    type,
    summary,
    schema: named(`${title}Message`, {
      type: t.Literal(type),
      id: t.Optional(MESSAGE_ID),
      data: t.Optional(t.Object(data, { additionalProperties: more })),
    }),
    reply: named(`${title}Reply`, {
      type: t.Literal(name),
      id: t.Optional(MESSAGE_ID),
      data: t.Object(reply, { additionalProperties: more }),
    }),
  };
}

/** All messages that clients send. */
export const CLIENT_MESSAGES: readonly ClientMessage[] = [
  clientMessage(
    'subscribe',
    'Adds types of events, and continues behind a position.',
    {
      events: EVENT_NAMES,
      replace: t.Optional(t.Boolean({ description: 'whether all other types are removed' })),
      details: t.Optional(words(['summary', 'full'], 'full adds the bodies of REST')),
      after: t.Optional(POSITION),
    },
    { reply: { events: EVENT_NAMES, ...optional(RANGE) } },
  ),
  clientMessage('unsubscribe', 'Removes types of events.', { events: EVENT_NAMES }, { reply: { events: EVENT_NAMES } }),
  clientMessage(
    'watch',
    'Watches items on this connection, and subscribes to their events.',
    { ...WATCHED, snapshot: t.Optional(t.Boolean({ description: 'whether the present state is sent first' })) },
    { reply: WATCH_REPLY },
  ),
  clientMessage(
    'unwatch',
    'Ends watches of this connection.',
    { ...WATCHED, all: t.Optional(t.Boolean()) },
    { reply: WATCH_REPLY },
  ),
  clientMessage(
    'filter',
    'Limits newTransaction; an absent member removes its limit.',
    {
      onlyWatched: t.Optional(t.Boolean()),
      minFeeRate: t.Optional(t.Number({ minimum: 0, description: 'satoshis per virtual byte' })),
    },
    { reply: { onlyWatched: t.Boolean(), minFeeRate: t.Number() } },
  ),
  clientMessage('resume', 'Continues behind a position.', { after: POSITION }, { reply: RANGE }),
  clientMessage(
    'status',
    'Requests the state of the connection.',
    {},
    {
      name: 'status',
      reply: {
        seq: count('number of the newest event'),
        cursor: t.String({ description: 'the present end of the log' }),
        oldestSeq: count('number of the oldest event of the chain'),
        oldestMempoolSeq: count('number of the oldest event of the mempool'),
        height: nullable(height()),
        hash: nullable(t.String()),
        events: EVENT_NAMES,
        watched: count('watches of the connection'),
        stored: count('stored watches of the key'),
        synced: t.Boolean(),
      },
    },
  ),
  clientMessage(
    'ping',
    'Requests a reply with the same data.',
    {},
    { name: 'pong', more: true, reply: { time: time(), seq: count(), height: nullable(height()) } },
  ),
];

/** The reply to a message that cannot be carried out, and what is sent before the node closes a connection. */
export const ERROR_REPLY = named('ErrorReply', {
  type: t.Literal('error'),
  id: t.Optional(MESSAGE_ID),
  data: t.Object({
    code: words([...new Set([...MESSAGE_ERROR_CODES, ...ERROR_CODES])], 'stable'),
    message: t.String({ description: 'for humans' }),
    details: nullable(t.Object({}, { additionalProperties: true })),
    snapshot: t.Optional(t.Literal(true, { description: 'in place of a snapshot' })),
  }),
});

function optional(properties: Properties): Properties {
  return Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, t.Optional(schema)]));
}
