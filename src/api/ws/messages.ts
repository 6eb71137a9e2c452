import { hasScope } from '../auth/scopes.ts';
import { type Connection, DEFAULT_EVENTS } from './connection.ts';

/** What replies tell of the node's state. */
export interface MessageWorld {
  /** Number of the newest event. */
  readonly seq: number;
  /** Number of the oldest event that is kept; 0 when there is none. */
  readonly oldestSeq: number;
  readonly time: number;
  readonly status: { readonly height: number; readonly hash: string; readonly synced: boolean } | null;
}

export interface MessageReply {
  readonly type: string;
  readonly text: string;
  readonly failed: boolean;
  /** Messages that go out right behind the reply, before any event. */
  readonly followedBy?: readonly string[];
}

type MessageErrorCode =
  | 'invalid_message'
  | 'unknown_type'
  | 'invalid_parameter'
  | 'limit_exceeded'
  | 'insufficient_scope'
  | 'resume_unavailable';

type MessageId = string | number | undefined;
type Data = Readonly<Record<string, unknown>>;

class MessageError extends Error {
  readonly code: MessageErrorCode;
  readonly details: Data | null;

  constructor(code: MessageErrorCode, message: string, details: Data | null = null) {
    super(message);
    this.code = code;
    this.details = details;
  }
}

/** Events a client may ask for beside the default three. */
const OPTIONAL_EVENTS = ['blockDisconnected', 'reorg', 'transactionRemoved', 'heartbeat'];
const KNOWN_EVENTS: ReadonlySet<string> = new Set([...DEFAULT_EVENTS, ...OPTIONAL_EVENTS]);
const MAX_ID_LENGTH = 128;
/** Far more than any message needs; writing thousands of nested lists back would hold up everybody for seconds. */
const MAX_OPENINGS = 500;

/** The reply to one message of a client's; every message has exactly one. */
export function answerMessage(text: string, connection: Connection, world: MessageWorld): MessageReply {
  let id: MessageId;
  try {
    const message = parseMessage(text);
    id = message.id;
    const { reply, data, followedBy } = answer(message.type, message.data, connection, world);
    return { type: reply, text: withId(reply, id, data), failed: false, ...(followedBy && { followedBy }) };
  } catch (error) {
    if (!(error instanceof MessageError)) throw error;
    const { code, message, details } = error;
    return { type: 'error', text: withId('error', id, { code, message, details }), failed: true };
  }
}

interface Answer {
  readonly reply: 'ack' | 'pong' | 'status';
  readonly data: Data;
  readonly followedBy?: readonly string[];
}

function answer(type: string, data: Data, connection: Connection, world: MessageWorld): Answer {
  switch (type) {
    case 'ping':
      return {
        reply: 'pong',
        data: { ...data, time: world.time, seq: world.seq, height: world.status?.height ?? null },
      };
    case 'status':
      return { reply: 'status', data: statusData(connection, world) };
    case 'subscribe':
      return subscribe(data, connection, world);
    case 'unsubscribe': {
      for (const event of eventList(data.events)) connection.events.delete(event);
      return { reply: 'ack', data: { events: [...connection.events] } };
    }
    case 'resume':
      return resume(data.after, connection, world);
    default:
      throw new MessageError('unknown_type', 'no such message type');
  }
}

function statusData({ events }: Connection, { seq, oldestSeq, status }: MessageWorld): Data {
  return {
    seq,
    oldestSeq,
    height: status?.height ?? null,
    hash: status?.hash ?? null,
    events: [...events],
    watched: 0,
    synced: status?.synced ?? false,
  };
}

function subscribe(data: Data, connection: Connection, world: MessageWorld): Answer {
  requireKey(connection);
  const events = eventList(data.events);
  if (data.details !== undefined && data.details !== 'summary')
    throw new MessageError('invalid_parameter', 'details must be summary', { parameter: 'details' });
  if (data.replace !== undefined && typeof data.replace !== 'boolean')
    throw new MessageError('invalid_parameter', 'replace must be true or false', { parameter: 'replace' });
  const resumed = data.after === undefined ? null : checkAfter(data.after, world);
  if (data.replace === true) connection.events.clear();
  for (const event of events) connection.events.add(event);
  const acknowledged = { events: [...connection.events] };
  if (resumed === null) return { reply: 'ack', data: acknowledged };
  const { data: range, followedBy } = resumeAfter(resumed, connection, world);
  return { reply: 'ack', data: { ...acknowledged, ...range }, ...(followedBy && { followedBy }) };
}

function resume(after: unknown, connection: Connection, world: MessageWorld): Answer {
  requireKey(connection);
  return resumeAfter(checkAfter(after, world), connection, world);
}

/** Moves the connection's cursor back; the hub then sends everything behind it, and goes on with what is new. */
function resumeAfter(after: number, connection: Connection, { seq, oldestSeq }: MessageWorld): Answer {
  const lost = oldestSeq > 0 && after < oldestSeq - 1;
  const gap = lost ? { scope: 'all', fromSeq: after + 1, toSeq: oldestSeq - 1, lastChainSeq: null } : null;
  connection.cursor = lost ? oldestSeq - 1 : after;
  return {
    reply: 'ack',
    data: { from: connection.cursor + 1, to: seq, gap },
    ...(gap && { followedBy: [JSON.stringify({ type: 'gap', data: gap })] }),
  };
}

function checkAfter(after: unknown, { seq }: MessageWorld): number {
  if (typeof after !== 'number' || !Number.isSafeInteger(after) || after < 0)
    throw new MessageError('invalid_parameter', 'after must be the seq of an event', { parameter: 'after' });
  if (after > seq) throw new MessageError('resume_unavailable', 'no event has that number yet', { seq });
  return after;
}

function eventList(value: unknown): string[] {
  if (!Array.isArray(value) || value.length > 100)
    throw new MessageError('invalid_parameter', 'events must be a list', { parameter: 'events' });
  for (const event of value)
    if (typeof event !== 'string' || !KNOWN_EVENTS.has(event))
      throw new MessageError('invalid_parameter', 'unknown event', { parameter: 'events', known: [...KNOWN_EVENTS] });
  return value as string[];
}

/** Without a key there is the default stream and nothing else. */
function requireKey({ principal }: Connection): void {
  if (!hasScope(principal.scopes, 'read'))
    throw new MessageError('insufficient_scope', 'this needs a key with the scope read', { required: 'read' });
}

function parseMessage(text: string): { type: string; id: MessageId; data: Data } {
  if (hasManyOpenings(text)) throw new MessageError('invalid_message', 'too many lists and objects');
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new MessageError('invalid_message', 'not JSON');
  }
  if (!isObject(message) || typeof message.type !== 'string')
    throw new MessageError('invalid_message', 'a message is an object with a type');
  const { type, id, data = {} } = message;
  const idIsFine = typeof id === 'string' ? id.length <= MAX_ID_LENGTH : id === undefined || typeof id === 'number';
  if (!idIsFine) throw new MessageError('invalid_message', 'id must be a number or a short string');
  // Only a ping may carry anything; it comes back as it is when it is an object.
  if (!isObject(data)) {
    if (type !== 'ping') throw new MessageError('invalid_message', 'data must be an object');
    return { type, id: id as MessageId, data: { echo: data } };
  }
  return { type, id: id as MessageId, data };
}

/** Counts those within strings too; it is a bound and no more. */
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
