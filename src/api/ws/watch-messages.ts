import { hashFromHex, type Txid } from '../../primitives/hash.ts';
import { addressOf } from '../../script/address.ts';
import { hexToBytes, isHex } from '../../util/bytes.ts';
import { ApiError } from '../errors.ts';
import type { WatchItem } from '../events/watches.ts';
import { readScriptInput } from '../readers/script-input.ts';
import type { Connection } from './connection.ts';
import { type Data, invalidParameter, MessageError, requireScope } from './message-error.ts';
import type { Answer, MessageWorld } from './messages.ts';

const MAX_THRESHOLDS = 10;
/** Each different one is one more block that a new block is told with. */
const MAX_THRESHOLDS_IN_ALL = 20;
const MAX_THRESHOLD = 1000;
/** A script that nobody could spend from in a standard transaction is no longer than this. */
const MAX_SCRIPT_BYTES = 10_000;
const SLICE_MS = 1.5;
/** A transaction or an outpoint that is watched says something only through `confirmation`. */
const DEFAULT_THRESHOLDS = [0, 1];

const TXID = /^[0-9a-fA-F]{64}$/;
const OUTPOINT = /^([0-9a-fA-F]{64}):(0|[1-9][0-9]{0,9})$/;

/** Adds what a message lists, all of it or nothing. */
export async function watch(data: Data, connection: Connection, world: MessageWorld): Promise<Answer> {
  requireScope(connection.principal);
  const { snapshot = false } = data;
  if (typeof snapshot !== 'boolean') invalidParameter('snapshot', 'must be true or false');
  const items = await readItems(data, world);
  const { watches, events } = connection;
  const added = items.filter(({ key }) => !watches.has(key)).length;
  const { maxWatched, maxWatchedInAll, registry } = world;
  if (watches.size + added > maxWatched)
    throw new MessageError('limit_exceeded', 'a connection cannot watch that much', { limit: maxWatched });
  if (registry.size + added > maxWatchedInAll)
    throw new MessageError('limit_exceeded', 'all connections together watch too much', { limit: maxWatchedInAll });
  const thresholds = new Set([...watches.thresholds(), ...items.flatMap((item) => item.thresholds)]);
  if (thresholds.size > MAX_THRESHOLDS_IN_ALL)
    throw new MessageError('limit_exceeded', 'too many different numbers of confirmations', {
      limit: MAX_THRESHOLDS_IN_ALL,
    });
  // It has left while its addresses were read, and nobody would take them out again.
  if (!connection.closed) for (const item of items) watches.add(item);
  if (items.length > 0) events.add('addressTransaction').add('confirmation');
  return {
    reply: 'ack',
    data: { count: items.length, total: watches.size },
    ...(snapshot && items.length > 0 && { snapshot: items }),
  };
}

export async function unwatch(data: Data, connection: Connection, world: MessageWorld): Promise<Answer> {
  requireScope(connection.principal);
  const { watches } = connection;
  const before = watches.size;
  if (data.all === true) watches.clear();
  else if (data.all !== undefined && data.all !== false) invalidParameter('all', 'must be true or false');
  else for (const { key } of await readItems(data, world)) watches.remove(key);
  return { reply: 'ack', data: { count: before - watches.size, total: watches.size } };
}

/** Each item once. Addresses take microseconds each to check, so others have their turn in between. */
async function readItems(data: Data, { registry, params }: MessageWorld): Promise<WatchItem[]> {
  const given = thresholdList(data.confirmations);
  const forScripts = given ?? [];
  const forTxs = given ?? DEFAULT_THRESHOLDS;
  const items = new Map<string, WatchItem>();
  const readers: Readonly<Record<string, (text: string) => WatchItem>> = {
    addresses(text) {
      const { script, address } = scriptInput(text, params);
      return registry.scriptItem(script, address, forScripts);
    },
    scripts(text) {
      if (text === '' || text.length > MAX_SCRIPT_BYTES * 2 || !isHex(text)) invalidParameter('scripts', 'takes hex');
      const script = hexToBytes(text);
      const label = addressOf(script, params.address) ?? `script:${script.toHex()}`;
      return registry.scriptItem(script, label, forScripts);
    },
    txids(text) {
      if (!TXID.test(text)) invalidParameter('txids', 'takes 64 hex digits');
      const hex = text.toLowerCase();
      return registry.txidItem(hashFromHex<Txid>(hex), hex, forTxs);
    },
    outpoints(text) {
      const [, id, vout] = OUTPOINT.exec(text) ?? invalidParameter('outpoints', 'takes txid:n');
      const hex = id!.toLowerCase();
      if (Number(vout) > 0xffff_ffff) invalidParameter('outpoints', 'takes txid:n');
      return registry.outpointItem(hashFromHex<Txid>(hex), Number(vout), `${hex}:${vout}`, forTxs);
    },
  };
  let until = performance.now() + SLICE_MS;
  for (const [name, read] of Object.entries(readers)) {
    const list = data[name] ?? [];
    if (!Array.isArray(list)) return invalidParameter(name, 'must be a list');
    for (const text of list) {
      if (typeof text !== 'string') return invalidParameter(name, 'must be a list of strings');
      const item = read(text);
      items.set(item.key, item);
      if (performance.now() < until) continue;
      await new Promise((resolve) => setImmediate(resolve));
      until = performance.now() + SLICE_MS;
    }
  }
  return [...items.values()];
}

function scriptInput(text: string, params: MessageWorld['params']) {
  try {
    return readScriptInput(text, params);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new MessageError('invalid_address', error.message, { address: text.slice(0, 100), ...error.details });
  }
}

/** Ascending, each once; null where none are given. */
function thresholdList(value: unknown): number[] | null {
  if (value === undefined) return null;
  if (!Array.isArray(value) || value.length > MAX_THRESHOLDS)
    return invalidParameter('confirmations', `must be a list of at most ${MAX_THRESHOLDS} numbers`);
  for (const n of value)
    if (!Number.isInteger(n) || n < 0 || n > MAX_THRESHOLD)
      return invalidParameter('confirmations', `must be from 0 to ${MAX_THRESHOLD}`);
  return [...new Set(value as number[])].sort((a, b) => a - b);
}
