/**
 * More values than any call needs: the coins of a largest standard transaction as listunspent returns them have 21,000.
 * Each takes about a microsecond to parse with its text kept.
 */
const MAX_VALUES = 30_000;
/** Limit of escaped characters. Each takes about 0.1 microseconds, in which a hundred others are parsed. */
const MAX_ESCAPES = 1_000_000;

/** Bytes that are counted before the function yields. */
const SLICE = 256 * 1024;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;
const BACKSLASH = 0x5c;

/** Whether a JSON text is long enough to exceed a limit. Each value and each escape take at least one byte. */
export function mayExceed(text: Uint8Array): boolean {
  return text.length >= MAX_VALUES;
}

/**
 * Returns the limit that a JSON text exceeds, as `30000 values`; null where it exceeds none. Characters within strings
 * are counted as well, so the count is never too low: hex and base64, which fill long bodies, contain none of them.
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

/**
 * A separate function, since the engine does not optimize the loop of an async function: it would be ten times slower.
 */
function countOpenings(text: Uint8Array): number {
  let count = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) count++;
  }
  return count;
}

/** Uses a native search, which is fast in the usual case that there are none. */
function countBackslashes(text: Uint8Array): number {
  let count = 0;
  for (let at = text.indexOf(BACKSLASH); at >= 0 && at < text.length; at++) if (text[at] === BACKSLASH) count++;
  return count;
}
