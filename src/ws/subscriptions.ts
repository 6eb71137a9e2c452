import { ITSELF } from '../feed/event-cursor.ts';
import { CURSOR_FAULTS, type ResumePoint, startBehind } from '../feed/event-history.ts';
import type { EventLog } from '../feed/event-log.ts';
import type { Scope } from '../http/scopes.ts';
import type { MessageOutcome } from './message-context.ts';
import { type Data, invalidParameter, requireSocketScope, WsMessageError } from './message-error.ts';
import { DEFAULT_EVENTS, DERIVED_EVENTS, type WsConnection } from './ws-connection.ts';

/** Events that a client may subscribe to besides the default three, with the scope that some need. */
const OPTIONAL_EVENTS: Readonly<Record<string, Scope>> = {
  blockDisconnected: 'read',
  reorg: 'read',
  transactionRemoved: 'read',
  addressTransaction: 'read',
  confirmation: 'read',
  feeUpdate: 'read',
  mempoolBlocks: 'read',
  syncStatus: 'read',
  walletTransaction: 'wallet.read',
  peerConnected: 'admin',
  peerDisconnected: 'admin',
  webhookDisabled: 'webhooks',
  gap: 'read',
  heartbeat: 'read',
};
const KNOWN_EVENTS: ReadonlySet<string> = new Set([...DEFAULT_EVENTS, ...Object.keys(OPTIONAL_EVENTS)]);
const MAX_EVENTS = 100;

export function subscribe(data: Data, connection: WsConnection, log: EventLog): MessageOutcome {
  requireSocketScope(connection.principal);
  const { replace, details, after } = data;
  const events = eventList(data.events);
  if (details !== undefined && details !== 'summary' && details !== 'full')
    invalidParameter('details', 'must be summary or full');
  if (replace !== undefined && typeof replace !== 'boolean') invalidParameter('replace', 'must be true or false');
  for (const event of events) requireSocketScope(connection.principal, OPTIONAL_EVENTS[event] ?? 'read');
  const resumed = after === undefined ? null : resumePoint(after, log);
  if (replace === true) connection.decline([...connection.events, ...DERIVED_EVENTS]);
  connection.want(events);
  if (details !== undefined) connection.full = details === 'full';
  const acknowledged = { events: [...connection.events] };
  if (resumed === null) return { reply: 'ack', data: acknowledged };
  const { data: range, followedBy } = resumeBehind(resumed, connection, log);
  return { reply: 'ack', data: { ...acknowledged, ...range }, ...(followedBy && { followedBy }) };
}

export function unsubscribe(data: Data, connection: WsConnection): MessageOutcome {
  connection.decline(eventList(data.events));
  return { reply: 'ack', data: { events: [...connection.events] } };
}

export function resume({ after }: Data, connection: WsConnection, log: EventLog): MessageOutcome {
  requireSocketScope(connection.principal);
  return resumeBehind(resumePoint(after, log), connection, log);
}

/** Sets the filter of `newTransaction`; an absent member removes its limit. */
export function filter({ onlyWatched = false, minFeeRate = 0 }: Data, connection: WsConnection): MessageOutcome {
  requireSocketScope(connection.principal);
  if (typeof onlyWatched !== 'boolean') invalidParameter('onlyWatched', 'must be true or false');
  if (typeof minFeeRate !== 'number' || !(minFeeRate >= 0))
    invalidParameter('minFeeRate', 'must be a number, 0 or more');
  connection.onlyWatched = onlyWatched;
  connection.minFeeRate = minFeeRate;
  return { reply: 'ack', data: { onlyWatched, minFeeRate } };
}

/** Moves the connection to a point. The hub then sends everything behind it, and continues with new events. */
function resumeBehind(point: ResumePoint, connection: WsConnection, log: EventLog): MessageOutcome {
  const gaps = log.gapsBehind(point, connection.events);
  const start = startBehind(point, gaps);
  connection.resumeAt(start, log.endOfGaps(gaps));
  return {
    reply: 'ack',
    data: { from: start.seq + 1, to: Math.max(log.latest, start.seq), gap: gaps[0] ?? null },
    ...(gaps.length > 0 && { followedBy: gaps.map((gap) => JSON.stringify({ type: 'gap', data: gap })) }),
  };
}

/** A number names a received event, of which some derived messages may be missing. */
function resumePoint(after: unknown, log: EventLog): ResumePoint {
  if (typeof after === 'string') {
    const found = log.locate(after);
    if (typeof found !== 'string') return found;
    throw new WsMessageError('invalid_cursor', CURSOR_FAULTS[found], { parameter: 'after', reason: found });
  }
  if (typeof after !== 'number' || !Number.isSafeInteger(after) || after < 0)
    return invalidParameter('after', 'must be the cursor of an event, or a seq');
  const point = log.behind(after, ITSELF);
  if (!point) throw new WsMessageError('resume_unavailable', 'no event has that number yet', { seq: log.latest });
  return point;
}

function eventList(value: unknown): string[] {
  if (!Array.isArray(value) || value.length > MAX_EVENTS) return invalidParameter('events', 'must be a list');
  for (const event of value)
    if (typeof event !== 'string' || !KNOWN_EVENTS.has(event))
      throw new WsMessageError('invalid_parameter', 'unknown event', { parameter: 'events', known: [...KNOWN_EVENTS] });
  return value as string[];
}
