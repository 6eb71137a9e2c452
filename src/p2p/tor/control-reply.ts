/** A reply of Tor's control port: its code, and its lines without code and separator. */
export interface ControlReply {
  readonly code: number;
  readonly lines: readonly string[];
}

/** One line of a reply; null if it is too short to be one. */
export function parseReplyLine(line: string): { code: number; isLast: boolean; text: string } | null {
  if (line.length < 4) return null;
  const digits = line.slice(0, 3);
  return { code: /^\d{3}$/.test(digits) ? Number(digits) : 0, isLast: line[3] === ' ', text: line.slice(4) };
}

/** Splits `AUTH METHODS=…` into its keyword and the rest. */
export function splitKeyword(text: string): { keyword: string; rest: string } {
  const space = text.indexOf(' ');
  return space < 0 ? { keyword: text, rest: '' } : { keyword: text.slice(0, space), rest: text.slice(space + 1) };
}

const OCTAL = /^(?:[0-3][0-7]{2}|[0-7]{1,2})/;
const ESCAPES = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
]);

/**
 * Parses `KEY=value OTHER="quoted value"` (control-spec, 2.1 and 3.21). Stops at a word that is not `KEY=value`, since
 * optional arguments may follow. Returns no members if the text ends within one.
 */
export function parseReplyMapping(text: string): ReadonlyMap<string, string> {
  const mapping = new Map<string, string>();
  let at = 0;
  while (at < text.length) {
    const word = /[= ]/.exec(text.slice(at));
    if (word === null) return new Map();
    if (word[0] === ' ') break;
    const key = text.slice(at, at + word.index);
    at += word.index + 1;
    const value = text[at] === '"' ? quotedValue(text, at) : plainValue(text, at);
    if (value === null) return new Map();
    mapping.set(key, value.text);
    at = text[value.end] === ' ' ? value.end + 1 : value.end;
  }
  return mapping;
}

function plainValue(text: string, from: number): { text: string; end: number } {
  const space = text.indexOf(' ', from);
  const end = space < 0 ? text.length : space;
  return { text: text.slice(from, end), end };
}

/** `from` is the index of the opening quote. Escapes are those of C (control-spec, 2.1.1). */
function quotedValue(text: string, from: number): { text: string; end: number } | null {
  let value = '';
  for (let at = from + 1; at < text.length; at++) {
    const char = text[at]!;
    if (char === '"') return { text: value, end: at + 1 };
    if (char !== '\\') {
      value += char;
      continue;
    }
    at++;
    if (at >= text.length) return null;
    const octal = OCTAL.exec(text.slice(at, at + 3));
    if (octal !== null) {
      value += String.fromCharCode(Number.parseInt(octal[0], 8));
      at += octal[0].length - 1;
    } else value += ESCAPES.get(text[at]!) ?? text[at]!;
  }
  return null;
}

/** Returns text as a QuotedString. */
export function quotedText(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
