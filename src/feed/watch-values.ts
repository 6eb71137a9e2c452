import { fail } from '../http/errors.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { hashFromHex, type Txid } from '../primitives/hash.ts';
import { readScriptInput } from '../queries/script-input.ts';
import { addressOf } from '../script/address.ts';
import { hexToBytes, isHex } from '../util/bytes.ts';
import { scriptKey, txidKey, type WatchItem, type WatchRegistry, watchedOutpointKey } from './watches.ts';

export const WATCH_KINDS = ['address', 'script', 'tx', 'outpoint'] as const;
export type WatchKind = (typeof WATCH_KINDS)[number];

/** A watched item in canonical form, and the key by which it is found. */
export interface WatchTarget {
  readonly kind: WatchKind;
  readonly value: string;
  readonly key: string;
}

const MAX_THRESHOLDS = 10;
const MAX_THRESHOLD = 1000;
/**
 * Limit of distinct thresholds of one connection and of one key. For each, a new block is matched against one more earlier
 * block.
 */
export const MAX_THRESHOLDS_IN_ALL = 20;
/** Bytes of a watched script; longer ones are unspendable. */
const MAX_SCRIPT_BYTES = 10_000;

const TXID = /^[0-9a-fA-F]{64}$/;
const OUTPOINT = /^([0-9a-fA-F]{64}):(0|[1-9][0-9]{0,9})$/;

/** Throws ApiError: `invalid_address`, `invalid_txid` or `invalid_parameter`. */
export function readTarget(kind: WatchKind, text: string, params: NetworkParams): WatchTarget {
  switch (kind) {
    case 'address': {
      const { script, address } = readScriptInput(text, params);
      return script.length <= MAX_SCRIPT_BYTES ? { kind, value: address, key: scriptKey(script.toHex()) } : notHex();
    }
    case 'script': {
      if (text === '' || text.length > MAX_SCRIPT_BYTES * 2 || !isHex(text)) return notHex();
      const value = text.toLowerCase();
      return { kind, value, key: scriptKey(value) };
    }
    case 'tx': {
      if (!TXID.test(text)) fail('invalid_txid', 'takes 64 hex digits', { reason: 'takes 64 hex digits' });
      const value = text.toLowerCase();
      return { kind, value, key: txidKey(value) };
    }
    case 'outpoint': {
      const [, txid, vout] = OUTPOINT.exec(text) ?? [];
      if (txid === undefined || Number(vout) > 0xffff_ffff)
        fail('invalid_parameter', 'takes txid:n', { reason: 'takes txid:n' });
      const value = `${txid.toLowerCase()}:${vout}`;
      return { kind, value, key: watchedOutpointKey(value) };
    }
  }
}

function notHex(): never {
  const reason = `takes the hex of a script, up to ${MAX_SCRIPT_BYTES} bytes`;
  return fail('invalid_parameter', reason, { reason });
}

/** Returns the item to match. `watchId` names a stored watch. */
export function itemOf(
  { kind, value, key }: WatchTarget,
  thresholds: readonly number[],
  { registry, params }: { readonly registry: WatchRegistry; readonly params: NetworkParams },
  watchId: string | null = null,
): WatchItem {
  const hex = key.slice(1);
  switch (kind) {
    case 'tx':
      return registry.txidItem(hashFromHex<Txid>(hex), hex, thresholds, watchId);
    case 'outpoint': {
      const [txid, vout] = hex.split(':') as [string, string];
      return registry.outpointItem(hashFromHex<Txid>(txid), Number(vout), hex, thresholds, watchId);
    }
    case 'address':
      return registry.scriptItem(hexToBytes(hex), value, thresholds, watchId);
    case 'script': {
      const script = hexToBytes(hex);
      const label = addressOf(script, params.address) ?? `script:${hex}`;
      return registry.scriptItem(script, label, thresholds, watchId);
    }
  }
}

/** Returns the default thresholds. A transaction or an outpoint has no events except `confirmation`. */
export function defaultThresholds(kind: WatchKind): readonly number[] {
  return kind === 'tx' || kind === 'outpoint' ? [0, 1] : [];
}

/** Returns distinct numbers of confirmations in ascending order, or an error text. */
export function readThresholds(value: unknown): readonly number[] | string {
  if (!Array.isArray(value) || value.length > MAX_THRESHOLDS)
    return `must be a list of at most ${MAX_THRESHOLDS} numbers`;
  for (const n of value)
    if (!Number.isInteger(n) || n < 0 || n > MAX_THRESHOLD) return `must be from 0 to ${MAX_THRESHOLD}`;
  return [...new Set(value as number[])].sort((a, b) => a - b);
}
