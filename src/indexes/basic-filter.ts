import { hash256 } from '../crypto/hash-functions.ts';
import { type SipHashKey, sipHashKeyOf, sipHashWords } from '../crypto/siphash.ts';
import type { ParsedBlock } from '../primitives/block.ts';
import { readCompactSize, writeCompactSize } from '../primitives/compact-size.ts';
import type { BlockHash, Hash } from '../primitives/hash.ts';
import { Op } from '../script/opcodes.ts';
import { assert } from '../util/assert.ts';
import { ByteReader, ByteWriter, bytesToHex, concatBytes, DecodeError } from '../util/bytes.ts';
import { GolombRiceReader, GolombRiceWriter } from './golomb-rice.ts';

export type FilterHash = Hash<'filter'>;
export type FilterHeader = Hash<'filter-header'>;

/** BIP-158: P, the bits of a remainder. */
const P = 19;
/** BIP-158: M, the inverse of the false positive rate. */
const M = 784_931;

/** Bound on the elements of a decoded filter: far above any block, and low enough for exact arithmetic below. */
const MAX_ELEMENTS = 2 ** 22;
const MIN_BITS_PER_ELEMENT = P + 1;

/**
 * Returns the basic filter of a block (BIP-158). `spentScripts`: the scriptPubKeys of the spent outputs, in any order.
 */
export function basicFilter(block: ParsedBlock, spentScripts: Iterable<Uint8Array>): Uint8Array {
  return encodeFilter(hashToRange(elementsOf(block, spentScripts), block.hash));
}

function elementsOf(block: ParsedBlock, spentScripts: Iterable<Uint8Array>): Uint8Array[] {
  const elements = new Map<string, Uint8Array>();
  const add = (script: Uint8Array): void => {
    if (script.length > 0) elements.set(bytesToHex(script), script);
  };
  for (const { tx } of block.txs)
    for (const { scriptPubKey } of tx.outputs) if (scriptPubKey[0] !== Op.OP_RETURN) add(scriptPubKey);
  for (const script of spentScripts) add(script);
  return [...elements.values()];
}

/** Encodes the ascending hashed elements of a filter. */
export function encodeFilter(values: Float64Array): Uint8Array {
  const w = new ByteWriter(16 + values.length * 3);
  writeCompactSize(w, values.length);
  const codes = new GolombRiceWriter(w, P);
  let last = 0;
  for (const value of values) {
    codes.write(value - last);
    last = value;
  }
  codes.finish();
  return w.finish();
}

/** Returns the number of elements of an encoded filter, and a reader of their differences. Throws DecodeError. */
export function openFilter(filter: Uint8Array): { count: number; codes: GolombRiceReader } {
  const r = new ByteReader(filter);
  const count = readCompactSize(r);
  if (count > MAX_ELEMENTS) throw new DecodeError('filter with too many elements');
  // Checked before anything is allocated.
  if (count * MIN_BITS_PER_ELEMENT > r.remaining * 8) throw new DecodeError('unexpected end of data');
  return { count, codes: new GolombRiceReader(filter, r.pos, P) };
}

/**
 * Whether a block may contain one of the scripts, in an output or a spent output: always true if it does, and by chance
 * once in 784,931 for each script. Throws DecodeError on a truncated filter.
 */
export function matchFilter(filter: Uint8Array, blockHash: BlockHash, scripts: Iterable<Uint8Array>): boolean {
  const { count, codes } = openFilter(filter);
  const wanted = hashToRange([...scripts], blockHash, count);
  let at = 0;
  let value = 0;
  for (let i = 0; i < count && at < wanted.length; i++) {
    value += codes.read();
    while (wanted[at]! < value) at++;
    if (wanted[at] === value) return true;
  }
  return false;
}

/** Returns the filter hash, to which the filter header commits. */
export function filterHash(filter: Uint8Array): FilterHash {
  return hash256(filter) as FilterHash;
}

/** Returns the filter header (BIP-157). `previous`: the header of the previous block; null for the genesis block. */
export function filterHeader(hash: FilterHash, previous: FilterHeader | null): FilterHeader {
  return hash256(concatBytes(hash, previous ?? new Uint8Array(32))) as FilterHeader;
}

/** Scratch space of one call. */
const words = new Uint32Array(2);

/** Hashes the elements into the range of a filter with `count` elements; ascending (BIP-158 hashed_set_construct). */
function hashToRange(elements: readonly Uint8Array[], blockHash: BlockHash, count = elements.length): Float64Array {
  const key = sipHashKeyOf(blockHash);
  const range = count * M;
  assert(count <= MAX_ELEMENTS, 'range of a filter fits 42 bits');
  const values = new Float64Array(elements.length);
  for (let i = 0; i < values.length; i++) values[i] = reduced(key, elements[i]!, range);
  return values.sort();
}

const SPLIT = 2 ** 21;
const SPLIT_REST = 2 ** 11;
const WORD = 2 ** 32;

/**
 * Returns the upper 64 bits of hash * range, for a range below 2^42 (BIP-158 hash_to_range). Both halves of the range
 * have 21 bits, so their products with 32-bit words are exact in a double, without bigints.
 */
function reduced(key: SipHashKey, element: Uint8Array, range: number): number {
  sipHashWords(key, element, words);
  const upper = Math.floor(range / SPLIT);
  const lower = range % SPLIT;
  const carried = words[0]! * upper;
  const low =
    Math.floor(carried / SPLIT_REST) + Math.floor(((carried % SPLIT_REST) * SPLIT + words[0]! * lower) / WORD);
  const high = words[1]! * upper;
  const rest = (high % SPLIT_REST) * SPLIT + words[1]! * lower;
  return Math.floor(high / SPLIT_REST) + Math.floor(rest / WORD) + Math.floor(((rest % WORD) + low) / WORD);
}
