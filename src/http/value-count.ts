/** More values than any call needs; each costs about a microsecond to parse with its text kept. */
const MAX_VALUES = 20_000;
/** Escaped characters; each costs about 0.1 microseconds, in which a hundred others are parsed. */
const MAX_ESCAPES = 1_000_000;

/** Bytes looked at before others get their turn. */
const SLICE = 256 * 1024;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const BACKSLASH = 0x5c;

/**
 * What a JSON text may hold too much of to be parsed in one go, as `20000 values`; null where nothing is. What stands in
 * strings is counted as well, so that it is never too few: hex and base64, of which the long bodies consist, have none of
 * these characters.
 */
export async function excessOf(text: Uint8Array, maxValues = MAX_VALUES): Promise<string | null> {
  let values = 1;
  let escapes = 0;
  for (let from = 0; from < text.length; from += SLICE) {
    const slice = text.subarray(from, from + SLICE);
    values += countOpenings(slice);
    escapes += countBackslashes(slice);
    if (values > maxValues) return `${maxValues} values`;
    if (escapes > MAX_ESCAPES) return `${MAX_ESCAPES} escaped characters`;
    if (from + SLICE < text.length) await new Promise((resolve) => setImmediate(resolve));
  }
  return null;
}

/** On its own, since the loop of an async function is not compiled well: ten times slower. */
function countOpenings(text: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) count++;
  }
  return count;
}

/** A search that is native where there are none, as mostly. */
function countBackslashes(text: Uint8Array): number {
  let count = 0;
  for (let at = text.indexOf(BACKSLASH); at >= 0 && at < text.length; at++) if (text[at] === BACKSLASH) count++;
  return count;
}
