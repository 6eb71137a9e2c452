import {
  defaultThresholds,
  itemOf,
  MAX_THRESHOLDS_IN_ALL,
  readTarget,
  readThresholds,
  type WatchKind,
  type WatchTarget,
} from '../feed/watch-values.ts';
import type { WatchItem } from '../feed/watches.ts';
import { ApiError } from '../http/errors.ts';
import { slicePauses } from '../http/slice-pauses.ts';
import type { MessageContext, MessageOutcome } from './message-context.ts';
import { type Data, invalidParameter, requireSocketScope, WsMessageError } from './message-error.ts';
import { DERIVED_EVENTS, type WsConnection } from './ws-connection.ts';

const SLICE_MS = 1.5;

/** Adds the items of a message, all or none. */
export async function watch(data: Data, connection: WsConnection, context: MessageContext): Promise<MessageOutcome> {
  requireSocketScope(connection.principal);
  const { snapshot = false } = data;
  if (typeof snapshot !== 'boolean') invalidParameter('snapshot', 'must be true or false');
  const items = await readItems(data, context);
  const { own } = connection.watches;
  const added = items.filter(({ key }) => !own.has(key)).length;
  const { maxWatched, maxWatchedInAll } = context;
  if (own.size + added > maxWatched)
    throw new WsMessageError('limit_exceeded', 'a connection cannot watch that much', { limit: maxWatched });
  if (context.watchedInAll() + added > maxWatchedInAll)
    throw new WsMessageError('limit_exceeded', 'all connections together watch too much', { limit: maxWatchedInAll });
  if (snapshot && connection.snapshotItems + items.length > maxWatched)
    throw new WsMessageError('limit_exceeded', 'the snapshots of earlier messages are still being sent', {
      limit: maxWatched,
    });
  const thresholds = new Set([...own.thresholds(), ...items.flatMap((item) => item.thresholds)]);
  if (thresholds.size > MAX_THRESHOLDS_IN_ALL)
    throw new WsMessageError('limit_exceeded', 'too many different numbers of confirmations', {
      limit: MAX_THRESHOLDS_IN_ALL,
    });
  // The client has left meanwhile. Items added now would never be removed.
  if (!connection.closed) for (const item of items) own.add(item);
  if (items.length > 0) connection.want(DERIVED_EVENTS);
  return {
    reply: 'ack',
    data: { count: items.length, total: own.size },
    ...(snapshot && items.length > 0 && { snapshot: items }),
  };
}

export async function unwatch(data: Data, connection: WsConnection, context: MessageContext): Promise<MessageOutcome> {
  requireSocketScope(connection.principal);
  const { own } = connection.watches;
  const before = own.size;
  if (data.all === true) own.clear();
  else if (data.all !== undefined && data.all !== false) invalidParameter('all', 'must be true or false');
  else for (const { key } of await readItems(data, context)) own.remove(key);
  return { reply: 'ack', data: { count: before - own.size, total: own.size } };
}

const LISTS: readonly (readonly [string, WatchKind])[] = [
  ['addresses', 'address'],
  ['scripts', 'script'],
  ['txids', 'tx'],
  ['outpoints', 'outpoint'],
];

/** Returns the distinct items of a message. It yields between slices, since parsing an address takes microseconds. */
async function readItems(data: Data, context: MessageContext): Promise<WatchItem[]> {
  const given = thresholdList(data.confirmations);
  const items = new Map<string, WatchItem>();
  const pause = slicePauses(SLICE_MS);
  for (const [name, kind] of LISTS) {
    const list = data[name] ?? [];
    if (!Array.isArray(list)) return invalidParameter(name, 'must be a list');
    for (const text of list) {
      if (typeof text !== 'string') return invalidParameter(name, 'must be a list of strings');
      const item = itemOf(targetOf(name, kind, text, context), given ?? defaultThresholds(kind), context);
      items.set(item.key, item);
      await pause();
    }
  }
  return [...items.values()];
}

function targetOf(name: string, kind: WatchKind, text: string, { params }: MessageContext): WatchTarget {
  try {
    return readTarget(kind, text, params);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.failure !== 'invalid_address') return invalidParameter(name, error.message);
    throw new WsMessageError('invalid_address', error.message, { address: text.slice(0, 100), ...error.details });
  }
}

/** Returns null if none are given. */
function thresholdList(value: unknown): readonly number[] | null {
  if (value === undefined) return null;
  const read = readThresholds(value);
  return typeof read === 'string' ? invalidParameter('confirmations', read) : read;
}
