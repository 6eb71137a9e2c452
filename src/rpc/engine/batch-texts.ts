/** Characters of the longest batch whose calls are found by their texts. Reading these takes some fifty microseconds. */
const MAX_BATCH = 32 * 1024;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Returns the texts of the elements of a batch, each in braces. If each text is valid JSON, then so is the batch; within
 * them nothing is validated but the nesting. Returns null for every other text: one that is no array of objects, is empty
 * or long, or has an escape.
 */
export function batchTexts(text: string): string[] | null {
  if (text.charCodeAt(0) !== OPEN_ARRAY || text.length > MAX_BATCH || text.includes('\\')) return null;
  const texts: string[] = [];
  let commas = 0;
  let depth = 0;
  let from = 0;
  for (let at = 1; at < text.length; at++) {
    const sign = text.charCodeAt(at);
    if (depth === 0) {
      if (sign === OPEN_OBJECT && texts.length === commas) {
        from = at;
        depth = 1;
      } else if (sign === COMMA && texts.length > commas) commas++;
      else if (sign === CLOSE_ARRAY) return texts.length > commas && isSpaceFrom(text, at + 1) ? texts : null;
      else if (!isSpace(sign)) return null;
    } else if (sign === QUOTE) {
      at = text.indexOf('"', at + 1);
      if (at < 0) return null;
    } else if (sign === OPEN_OBJECT || sign === OPEN_ARRAY) depth++;
    else if ((sign === CLOSE_OBJECT || sign === CLOSE_ARRAY) && --depth === 0) {
      if (sign !== CLOSE_OBJECT) return null;
      texts.push(text.slice(from, at + 1));
    }
  }
  return null;
}

function isSpaceFrom(text: string, from: number): boolean {
  for (let at = from; at < text.length; at++) if (!isSpace(text.charCodeAt(at))) return false;
  return true;
}

/** Whether a character is white space of JSON. */
function isSpace(sign: number): boolean {
  return sign === 0x20 || sign === 0x0a || sign === 0x0d || sign === 0x09;
}
