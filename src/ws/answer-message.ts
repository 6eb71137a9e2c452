import type { MessageContext, MessageOutcome } from './message-context.ts';
import { type Data, WsMessageError } from './message-error.ts';
import { filter, resume, subscribe, unsubscribe } from './subscriptions.ts';
import { unwatch, watch } from './watch-messages.ts';
import type { WsConnection } from './ws-connection.ts';

export interface MessageReply extends Pick<MessageOutcome, 'followedBy' | 'snapshot'> {
  readonly type: string;
  readonly text: string;
  readonly failed: boolean;
}

type MessageId = string | number | undefined;

const MAX_ID_LENGTH = 128;
/** Limit of brackets in a message. Writing thousands of nested lists would block the main thread for seconds. */
const MAX_OPENINGS = 500;

/** Returns the reply to one message of a client; every message has exactly one. Long lists are processed in slices. */
export function answerMessage(
  text: string,
  connection: WsConnection,
  context: MessageContext,
): MessageReply | Promise<MessageReply> {
  let id: MessageId;
  const failed = (error: unknown): MessageReply => {
    if (!(error instanceof WsMessageError)) throw error;
    const { code, message, details } = error;
    return { type: 'error', text: withId('error', id, { code, message, details }), failed: true };
  };
  try {
    const message = parseMessage(text);
    id = message.id;
    const made = answer(message.type, message.data, connection, context);
    return made instanceof Promise ? made.then((done) => replyOf(done, id)).catch(failed) : replyOf(made, id);
  } catch (error) {
    return failed(error);
  }
}

function replyOf({ reply, data, followedBy, snapshot }: MessageOutcome, id: MessageId): MessageReply {
  return {
    type: reply,
    text: withId(reply, id, data),
    failed: false,
    ...(followedBy && { followedBy }),
    ...(snapshot && { snapshot }),
  };
}

function answer(
  type: string,
  data: Data,
  connection: WsConnection,
  context: MessageContext,
): MessageOutcome | Promise<MessageOutcome> {
  const { time, status, log } = context;
  /** Another server may have sent an event that this one reads in a moment. */
  const behindEvent = (run: () => MessageOutcome) => context.awaitEvent(data.after)?.then(run) ?? run();
  switch (type) {
    case 'ping':
      return { reply: 'pong', data: { ...data, time, seq: log.latest, height: status?.height ?? null } };
    case 'status':
      return { reply: 'status', data: statusData(connection, context) };
    case 'subscribe':
      return behindEvent(() => subscribe(data, connection, log));
    case 'unsubscribe':
      return unsubscribe(data, connection);
    case 'resume':
      return behindEvent(() => resume(data, connection, log));
    case 'filter':
      return filter(data, connection);
    case 'watch':
      return watch(data, connection, context);
    case 'unwatch':
      return unwatch(data, connection, context);
    default:
      throw new WsMessageError('unknown_type', 'no such message type');
  }
}

function statusData({ events, watches }: WsConnection, { log, status }: MessageContext): Data {
  const oldest = log.oldest();
  return {
    seq: log.latest,
    cursor: log.latestCursor,
    oldestSeq: oldest.chain,
    oldestMempoolSeq: oldest.mempool,
    height: status?.height ?? null,
    hash: status?.hash ?? null,
    events: [...events],
    watched: watches.own.size,
    stored: watches.stored.size,
    synced: status?.synced ?? false,
  };
}

function parseMessage(text: string): { type: string; id: MessageId; data: Data } {
  if (hasManyOpenings(text)) throw new WsMessageError('invalid_message', 'too many lists and objects');
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new WsMessageError('invalid_message', 'not JSON');
  }
  if (!isObject(message) || typeof message.type !== 'string')
    throw new WsMessageError('invalid_message', 'a message is an object with a type');
  const { type, id, data = {} } = message;
  const idIsFine = typeof id === 'string' ? id.length <= MAX_ID_LENGTH : id === undefined || typeof id === 'number';
  if (!idIsFine) throw new WsMessageError('invalid_message', 'id must be a number or a short string');
  // Only the data of a ping may be any value. An object is returned unchanged.
  if (!isObject(data)) {
    if (type !== 'ping') throw new WsMessageError('invalid_message', 'data must be an object');
    return { type, id: id as MessageId, data: { echo: data } };
  }
  return { type, id: id as MessageId, data };
}

/** Also counts brackets within strings, since the bound need not be exact. */
function hasManyOpenings(text: string): boolean {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if ((code === 0x5b || code === 0x7b) && ++count > MAX_OPENINGS) return true;
  }
  return false;
}

function withId(type: string, id: MessageId, data: Data): string {
  return JSON.stringify(id === undefined ? { type, data } : { type, id, data });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
