import { hash256 } from '../crypto/hash.ts';
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

/** BIP-158, basic filters: bits of the remainder of a code. */
const P = 19;
/** BIP-158, basic filters: one script in so many matches by accident. */
const M = 784_931;

/** Of a filter that is read; a block of the largest size holds a fraction of it, and the arithmetic below is exact. */
const MAX_ELEMENTS = 2 ** 22;
const MIN_BITS_PER_ELEMENT = P + 1;

/**
 * The BIP-158 basic filter of a block. `spentScripts` are the scriptPubKeys its inputs spend, in any order; the coinbase
 * spends none.
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

/** Elements of a filter, ascending, as the filter is encoded. */
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

/** Returns the count of elements of an encoded filter, and a reader of their differences. Throws DecodeError. */
export function openFilter(filter: Uint8Array): { count: number; codes: GolombRiceReader } {
  const r = new ByteReader(filter);
  const count = readCompactSize(r);
  if (count > MAX_ELEMENTS) throw new DecodeError('filter with too many elements');
  // Before anything is allocated for them.
  if (count * MIN_BITS_PER_ELEMENT > r.remaining * 8) throw new DecodeError('unexpected end of data');
  return { count, codes: new GolombRiceReader(filter, r.pos, P) };
}

/**
 * Whether the block with that hash may hold one of the scripts, as an output or as one it spends: always where it does,
 * and else once in 784,931 for each script. Throws DecodeError on a filter that ends early.
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

/** What the filter header commits to. */
export function filterHash(filter: Uint8Array): FilterHash {
  return hash256(filter) as FilterHash;
}

/** BIP-157. `previous` is the header of the block before, null for the genesis block. */
export function filterHeader(hash: FilterHash, previous: FilterHeader | null): FilterHeader {
  return hash256(concatBytes(hash, previous ?? new Uint8Array(32))) as FilterHeader;
}

const words = new Uint32Array(2);

/** The elements as numbers, ascending, in the range of a filter of `count` elements. */
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
 * The upper 64 bits of hash * range, for a range below 2^42. Its two halves of 21 bits times a word of 32 fit a double
 * exactly, so no bigint is needed.
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
