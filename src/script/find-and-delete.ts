import { equalBytes } from '../util/bytes.ts';
import { pushData, pushHeaderLength } from './script-builder.ts';
import { operationEnd } from './script-reader.ts';

/**
 * Removes from a script every push of `data` at an operation boundary. A signature cannot commit to itself, so scripts
 * before segwit remove it before they are hashed. Returns the same object if nothing is removed.
 */
export function findAndDelete(script: Uint8Array, data: Uint8Array): Uint8Array {
  const end = script.length;
  const size = pushHeaderLength(data.length) + data.length;
  if (size > end) return script;
  const needle = pushData(data);
  let kept: Uint8Array | null = null;
  let keptLength = 0;
  let copyFrom = 0;
  let pos = 0;
  while (pos >= 0) {
    const found = pos;
    while (startsWithAt(script, pos, needle)) pos += size;
    if (pos > found) {
      kept ??= new Uint8Array(end);
      kept.set(script.subarray(copyFrom, found), keptLength);
      keptLength += found - copyFrom;
      copyFrom = pos;
    }
    if (pos >= end) break;
    // A push past the end ends the search; the rest is kept.
    pos = operationEnd(script, pos, end);
  }
  if (kept === null) return script;
  kept.set(script.subarray(copyFrom), keptLength);
  return kept.subarray(0, keptLength + end - copyFrom);
}

function startsWithAt(script: Uint8Array, pos: number, needle: Uint8Array): boolean {
  if (script[pos] !== needle[0] || script.length - pos < needle.length) return false;
  return equalBytes(script.subarray(pos, pos + needle.length), needle);
}
