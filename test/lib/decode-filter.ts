import { openFilter } from '../../src/indexes/basic-filter.ts';
import { DecodeError } from '../../src/util/bytes.ts';

/**
 * Returns the elements of an encoded filter, ascending: numbers that scripts hash to under the block's key. Throws
 * DecodeError if there are more or fewer bytes than its count of elements needs.
 */
export function decodeFilter(filter: Uint8Array): Float64Array {
  const { count, codes } = openFilter(filter);
  const values = new Float64Array(count);
  let value = 0;
  for (let i = 0; i < count; i++) values[i] = value += codes.read();
  if (!codes.atEnd) throw new DecodeError('bytes after the filter');
  return values;
}
