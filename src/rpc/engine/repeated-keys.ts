const QUOTED = /"(?:[^"\\]|\\.)*"/y;
const SPACE = /[ \t\n\r]*/y;
/** Separates a repeated key from its number. No address and no option contains it. */
const SEPARATOR = '\0';

/** Returns a key as it stands in the text of the request. */
export function keyInText(key: string): string {
  const end = key.indexOf(SEPARATOR);
  return end < 0 ? key : key.slice(0, end);
}

/**
 * Returns the JSON text with a number behind each repeated key of an object, so that no member is lost: an address that
 * is paid twice must be reported. The first member keeps its key, since Bitcoin Core reads the first one.
 */
export function numberRepeatedKeys(text: string): string {
  const open: (Set<string> | null)[] = [];
  const parts: string[] = [];
  let copied = 0;
  let repeats = 0;
  for (let at = 0; at < text.length; ) {
    const char = text[at];
    if (char === '{') open.push(new Set());
    else if (char === '[') open.push(null);
    else if (char === '}' || char === ']') open.pop();
    if (char !== '"') {
      at++;
      continue;
    }
    const end = endOf(QUOTED, text, at);
    const keys = open.at(-1);
    if (keys && text[endOf(SPACE, text, end)] === ':') {
      const key = JSON.parse(text.slice(at, end)) as string;
      if (keys.has(key)) {
        parts.push(text.slice(copied, end - 1), `\\u0000${++repeats}`);
        copied = end - 1;
      }
      keys.add(key);
    }
    at = end;
  }
  return parts.join('') + text.slice(copied);
}

function endOf(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  pattern.test(text);
  return pattern.lastIndex;
}
