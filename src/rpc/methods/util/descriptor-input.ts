import type { ReadEnv } from '../../../queries/read-env.ts';
import { parseDescriptor } from '../../../wallet/descriptor/parse-descriptor.ts';
import { NumberText, type RpcValue } from '../../engine/json.ts';
import { rpcFail } from '../../engine/rpc-error.ts';
import { anyOf, num, type Schema, tuple } from '../../engine/schema.ts';

/** First and last index, both included. */
export type Range = readonly [begin: number, end: number];

/** Schema of a range of indexes. */
export const RANGE: Schema = anyOf(
  num('last index; the first one is 0'),
  tuple([num(), num()], 'first and last index; at most 1,000,000 indexes'),
);

/** Microseconds to derive a key. */
const DERIVE_US = 100;

const MAX_RANGE = 1_000_000;
const MAX_INDEX = 0x7fff_ffff;
/** Keys over all indexes and paths, which take minutes to derive. */
const MAX_DERIVATIONS = 5_000_000;
/** Microseconds to parse a descriptor, besides those for its characters. */
const PARSE_US = 300;
/** Microseconds to parse a character of a descriptor. */
const PARSE_CHARACTER_US = 1;

/** Returns the descriptors of a text and the private keys in it. Throws RpcError with Core's texts. */
export function readDescriptors({ params, expectWork }: ReadEnv, text: string, requireChecksum: boolean) {
  expectWork(PARSE_US + text.length * PARSE_CHARACTER_US);
  const parsed = parseDescriptor(text, params, { requireChecksum });
  return parsed.ok ? parsed : rpcFail('invalidAddressOrKey', parsed.error);
}

/** Parses the range of indexes of a ranged descriptor. Throws RpcError with Core's texts. */
export function readRange(value: RpcValue): Range {
  const [begin, end] = readBounds(value);
  if (begin < 0) rpcFail('invalidParameter', 'Range should be greater or equal than 0');
  if (end < 0 || end > MAX_INDEX) rpcFail('invalidParameter', 'End of range is too high');
  if (end >= begin + MAX_RANGE) rpcFail('invalidParameter', 'Range is too large');
  return [begin, end];
}

function readBounds(value: RpcValue): Range {
  if (value instanceof NumberText) return [0, readIndex(value)];
  const [low, high] = Array.isArray(value) && value.length === 2 ? value : [];
  if (!(low instanceof NumberText) || !(high instanceof NumberText))
    return rpcFail('invalidParameter', 'Range must be specified as end or as [begin,end]');
  const [begin, end] = [readIndex(low), readIndex(high)];
  if (begin > end) return rpcFail('invalidParameter', 'Range specified as [begin,end] must not have begin after end');
  return [begin, end];
}

function readIndex({ text: digits }: NumberText): number {
  const index = Number(digits);
  return /^-?\d+$/.test(digits) && Math.abs(index) < 2 ** 63 ? index : rpcFail('misc', 'JSON integer out of range');
}

/**
 * Counts `count` derivations against the request budget, after `before` earlier ones. Throws RpcError if all together
 * are too many.
 */
export function expectDerivations({ expectWork }: ReadEnv, count: number, before = 0): void {
  if (before + count > MAX_DERIVATIONS) rpcFail('invalidParameter', 'Range is too large');
  expectWork(count * DERIVE_US);
}
