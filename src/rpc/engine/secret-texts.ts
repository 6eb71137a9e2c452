import { isUtf8 } from 'node:buffer';
import { sharedBytes } from '../../util/secret-bytes.ts';
import { isObject, type RpcObject, type RpcValue, SecretText } from './json.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const SMALL_U = 0x75;
const PARAMS = Buffer.from('"params"');
/** Lead bits of a UTF-8 sequence, by the number of continuation bytes. */
const LEADS = [0, 0xc0, 0xe0, 0xf0] as const;
/** Limit in bytes of the requests from which secrets are extracted. No passphrase needs more. */
const MAX_BODY = 256 * 1024;
/** Characters of the escapes of a backslash and a letter. */
const ESCAPES = new Map([...'"\\/bfnrt'].map((letter, i) => [letter.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(i)]));

/** A JSON text without the strings in the parameters of its calls, and these strings as secrets. */
export interface ExtractedSecrets {
  readonly text: string;
  /** Returns the parsed text with the secrets in their positions. */
  restore(value: RpcValue): RpcValue;
  /** Overwrites the secrets. */
  wipe(): void;
}

/**
 * Extracts the strings in the parameters of calls from a JSON text and overwrites the text. JavaScript strings cannot be
 * overwritten, bytes can. Returns null and changes nothing if the text names none of `methods`, is very long, or is
 * invalid JSON, which the parser reports.
 */
export function extractSecrets(body: Uint8Array, methods: SecretMethods): ExtractedSecrets | null {
  if (body.length > MAX_BODY || !methods.mayBeIn(body)) return null;
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.length);
  if (!methods.areIn(bytes) || !isUtf8(bytes)) return null;
  const marker = crypto.randomUUID();
  const secrets: SecretText[] = [];
  const pieces: Buffer[] = [];
  let copied = 0;
  for (const { start, end } of stringsInParams(bytes)) {
    const value = unescaped(bytes, start + 1, end - 1);
    if (value === null) {
      wipeAll(secrets);
      return null;
    }
    pieces.push(bytes.subarray(copied, start), Buffer.from(`"${marker} ${secrets.length}"`));
    secrets.push(new SecretText(value));
    copied = end;
  }
  pieces.push(bytes.subarray(copied));
  const text = pieces.map((piece) => piece.toString()).join('');
  bytes.fill(0);
  return {
    text: text.startsWith('\ufeff') ? text.slice(1) : text,
    restore: (value) => restored(value, `${marker} `, secrets),
    wipe: () => wipeAll(secrets),
  };
}

/** The letter w, which the usual names have, and most requests of other methods do not. */
const SMALL_W = 0x77;
/** A word that all of the usual names contain. */
const USUAL_WORD = 'wallet';

/** The names of the methods with secrets. */
export class SecretMethods {
  readonly #names: readonly string[];
  /** Whether every name has the letter, and the word. */
  readonly #haveW: boolean;
  readonly #haveWord: boolean;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#haveW = names.every((name) => name.includes('w'));
    this.#haveWord = names.every((name) => name.includes(USUAL_WORD));
  }

  /** Returns false, after a short search, for most texts that name none of the methods. */
  mayBeIn(text: Uint8Array): boolean {
    return !this.#haveW || text.indexOf(SMALL_W) >= 0;
  }

  /** Whether a text names one of the methods. */
  areIn(text: Buffer): boolean {
    if (this.#haveWord && !text.includes(USUAL_WORD)) return false;
    return this.#names.some((name) => text.includes(name));
  }
}

/** Returns the value with its secrets as strings. */
export function revealed(value: RpcValue): RpcValue {
  return mapped(value, (each) => (each instanceof SecretText ? each.text() : each));
}

function restored(value: RpcValue, marker: string, secrets: readonly SecretText[]): RpcValue {
  return mapped(value, (each) =>
    typeof each === 'string' && each.startsWith(marker) ? secrets[Number(each.slice(marker.length))]! : each,
  );
}

function mapped(value: RpcValue, change: (leaf: RpcValue) => RpcValue): RpcValue {
  if (Array.isArray(value)) return (value as readonly RpcValue[]).map((each) => mapped(each, change));
  if (!isObject(value)) return change(value);
  const copy: Record<string, RpcValue> = {};
  // An assignment would set the prototype.
  for (const [key, each] of Object.entries(value as RpcObject))
    Object.defineProperty(copy, key, { value: mapped(each, change), enumerable: true });
  return copy;
}

function wipeAll(secrets: readonly SecretText[]): void {
  for (const { bytes } of secrets) bytes.fill(0);
}

interface Span {
  /** Offsets of the opening quote and behind the closing one. */
  readonly start: number;
  readonly end: number;
}

/** Finds the strings, except member names, in the `params` of a call or of the calls of a batch. */
function stringsInParams(text: Buffer): Span[] {
  const found: Span[] = [];
  /** Closing brackets of the open objects and arrays. */
  const open: number[] = [];
  /** Nesting depth of `params`; 0 outside of it. */
  let within = 0;
  let name: Span | null = null;
  for (let at = 0; at < text.length; ) {
    const byte = text[at]!;
    if (byte === QUOTE) {
      const end = endOfString(text, at);
      const isName = open.at(-1) === CLOSE_OBJECT && nextSign(text, end) === COLON;
      if (isName) name = { start: at, end };
      else if (within > 0) found.push({ start: at, end });
      at = end;
      continue;
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (within === 0 && name !== null && isCall(open) && text.subarray(name.start, name.end).equals(PARAMS))
        within = open.length + 1;
      open.push(byte + 2);
      name = null;
    } else if (byte === open.at(-1)) {
      if (open.length === within) within = 0;
      open.pop();
    } else if (byte === COMMA) name = null;
    at++;
  }
  return found;
}

const OPEN_OBJECT = 0x7b;
const OPEN_ARRAY = 0x5b;
const CLOSE_OBJECT = OPEN_OBJECT + 2;
const CLOSE_ARRAY = OPEN_ARRAY + 2;

/** Whether the innermost open object is a call: the whole request, or an element of a batch. */
function isCall(open: readonly number[]): boolean {
  return open.at(-1) === CLOSE_OBJECT && (open.length === 1 || (open.length === 2 && open[0] === CLOSE_ARRAY));
}

/** Returns the first byte after white space, 0 at the end. */
function nextSign(text: Buffer, from: number): number {
  let at = from;
  while (text[at] === 0x20 || text[at] === 0x0a || text[at] === 0x0d || text[at] === 0x09) at++;
  return text[at] ?? 0;
}

/** Returns the offset behind the string that begins at `start`. */
function endOfString(text: Buffer, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === BACKSLASH) at++;
    else if (text[at] === QUOTE) return at + 1;
  }
  return text.length;
}

/** Returns the string between two quotes with its escapes resolved, or null if it is invalid JSON. */
function unescaped(text: Buffer, from: number, to: number): Uint8Array | null {
  if (text[to] !== QUOTE) return null;
  // An escape is never shorter than its UTF-8 bytes.
  const out = Buffer.from(sharedBytes(to - from).buffer);
  let length = 0;
  for (let at = from; at < to; ) {
    const byte = text[at]!;
    if (byte < 0x20) return null;
    if (byte !== BACKSLASH) {
      out[length++] = byte;
      at++;
    } else if (text[at + 1] !== SMALL_U) {
      const letter = ESCAPES.get(text[at + 1]!);
      if (letter === undefined) return null;
      out[length++] = letter;
      at += 2;
    } else {
      const first = codeUnit(text, at, to);
      if (first < 0) return null;
      const second = isHighSurrogate(first) ? codeUnit(text, at + 6, to) : -1;
      const isPair = second >= 0xdc00 && second < 0xe000;
      length += writeCodePoint(out, length, isPair ? ((first - 0xd7c0) << 10) + (second - 0xdc00) : first);
      at += isPair ? 12 : 6;
    }
  }
  return new Uint8Array(out.buffer, 0, length);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Returns the code unit of an escape such as \u00e9, or -1 if there is none at `at`. */
function codeUnit(text: Buffer, at: number, to: number): number {
  if (at + 6 > to || text[at] !== BACKSLASH || text[at + 1] !== SMALL_U) return -1;
  let unit = 0;
  for (let i = at + 2; i < at + 6; i++) {
    const digit = hexDigit(text[i]!);
    if (digit < 0) return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const small = byte | 0x20;
  return small >= 0x61 && small <= 0x66 ? small - 0x57 : -1;
}

/**
 * Writes a code point as UTF-8 and returns the number of bytes. A lone surrogate becomes the replacement character, as in
 * TextEncoder.
 */
function writeCodePoint(out: Uint8Array, at: number, given: number): number {
  const point = given >= 0xd800 && given < 0xe000 ? 0xfffd : given;
  if (point < 0x80) {
    out[at] = point;
    return 1;
  }
  const more = point < 0x800 ? 1 : point < 0x1_0000 ? 2 : 3;
  out[at] = LEADS[more]! | (point >> (6 * more));
  for (let i = 1; i <= more; i++) out[at + i] = 0x80 | ((point >> (6 * (more - i))) & 0x3f);
  return more + 1;
}
