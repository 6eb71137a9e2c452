/** More values than any call needs; each costs about a microsecond to parse with its text kept. */
export const MAX_VALUES = 20_000;

/** Bytes looked at before others get their turn. */
const SLICE = 256 * 1024;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const OPEN_OBJECT = 0x7b;

/**
 * Whether a JSON text may hold more values than `limit`. What stands in strings is counted as well, so that it is never
 * too few: hex and base64, of which the long bodies consist, have none of these characters.
 */
export async function hasTooManyValues(text: Uint8Array, limit = MAX_VALUES): Promise<boolean> {
  let values = 1;
  for (let from = 0; from < text.length; from += SLICE) {
    const to = Math.min(from + SLICE, text.length);
    for (let at = from; at < to; at++) {
      const byte = text[at];
      if (byte === COMMA || byte === OPEN_ARRAY || byte === OPEN_OBJECT) values++;
    }
    if (values > limit) return true;
    if (to < text.length) await new Promise((resolve) => setImmediate(resolve));
  }
  return false;
}
