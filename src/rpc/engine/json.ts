import { parseWithNumbers, rawJson } from '../../http/raw-json.ts';
import { numberRepeatedKeys } from './repeated-keys.ts';

/** A number of a request with its text, since amounts and ids must not be rounded to a double. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return rawJson(this.text);
  }
}

/** A secret string of a request as UTF-8 bytes, which are overwritten after the reply. */
export class SecretText {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  /** Returns the text, for a parameter that is not secret. */
  text(): string {
    return Buffer.from(this.bytes).toString();
  }

  toJSON(): string {
    return '[secret]';
  }
}

export type RpcValue = null | boolean | string | NumberText | SecretText | readonly RpcValue[] | RpcObject;
export interface RpcObject {
  readonly [key: string]: RpcValue;
}

/** Limit of the characters of a number. Longer ones are slow to convert, and no method accepts one. */
const MAX_NUMBER = 1000;

/** Thrown for a number that is longer than `MAX_NUMBER`. */
export class NumberTooLong extends Error {
  override readonly name = 'NumberTooLong';
}

/**
 * Parses JSON and keeps the text of its numbers, and the repeated keys of its objects (`keyInText`). Throws SyntaxError,
 * RangeError for too deep nesting, or NumberTooLong.
 */
export function parseJson(text: string): RpcValue {
  const { onlyWhole, keys } = scanJson(text);
  // Parsing with the text of each value takes several times longer, and a whole number has only one text.
  const value = JSON.parse(text) as ParsedJson;
  if (keysIn(value) !== keys) return parseTexts(numberRepeatedKeys(text));
  return onlyWhole ? withTexts(value) : parseTexts(text);
}

function parseTexts(text: string): RpcValue {
  return parseWithNumbers(text, (digits) => new NumberText(digits)) as RpcValue;
}

/** Returns the number of members of all objects in a value. */
function keysIn(value: ParsedJson): number {
  if (typeof value !== 'object' || value === null) return 0;
  let keys = 0;
  if (Array.isArray(value)) {
    for (const inner of value) if (typeof inner === 'object') keys += keysIn(inner);
    return keys;
  }
  for (const key in value) {
    keys++;
    const inner = value[key]!;
    if (typeof inner === 'object') keys += keysIn(inner);
  }
  return keys;
}

type ParsedJson = null | boolean | string | number | ParsedJson[] | { [key: string]: ParsedJson };

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
/** Digits of a whole number that a double always holds exactly. */
const SAFE_DIGITS = 15;
const DOT = 0x2e;
const SMALL_E = 0x65;

/**
 * Returns the number of keys in a JSON text, and whether all its numbers are whole and exact as a double. Throws
 * NumberTooLong.
 */
function scanJson(text: string): { readonly onlyWhole: boolean; readonly keys: number } {
  let onlyWhole = true;
  let keys = 0;
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at);
    else if (code !== MINUS && !isDigit(code)) {
      if (code === COLON) keys++;
      at++;
    } else {
      const end = endOfWhole(text, at);
      if (end < 0) onlyWhole = false;
      at = end < 0 ? endOfNumber(text, at) : end;
    }
  }
  return { onlyWhole, keys };
}

/** Matches a number up to one character more than allowed. */
const NUMBER = new RegExp(`[-+.0-9eE]{1,${MAX_NUMBER + 1}}`, 'y');

/** Returns the offset behind the number that begins at `start`. Throws NumberTooLong. */
function endOfNumber(text: string, start: number): number {
  NUMBER.lastIndex = start;
  NUMBER.test(text);
  if (NUMBER.lastIndex - start > MAX_NUMBER) throw new NumberTooLong(`a number has more than ${MAX_NUMBER} characters`);
  return NUMBER.lastIndex;
}

/** Returns the offset behind the number that begins at `start`, or -1 if its value may have another text. */
function endOfWhole(text: string, start: number): number {
  let at = text.charCodeAt(start) === MINUS ? start + 1 : start;
  const first = at;
  while (at - first <= SAFE_DIGITS && isDigit(text.charCodeAt(at))) at++;
  const next = text.charCodeAt(at) | 0x20;
  const digits = at - first;
  const leadingZero = text.charCodeAt(first) === ZERO && (digits > 1 || first > start);
  // The bit makes letters lower case and keeps the dot.
  return digits === 0 || digits > SAFE_DIGITS || leadingZero || next === DOT || next === SMALL_E ? -1 : at;
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}

/** Returns the offset behind the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at++) {
    at = text.indexOf('"', at);
    if (at < 0) return text.length;
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
}

/** Replaces the numbers of a value by NumberText, in place. */
function withTexts(value: ParsedJson): RpcValue {
  if (typeof value === 'number') return new NumberText(String(value));
  if (typeof value !== 'object' || value === null) return value;
  const container = value as unknown as Record<string | number, RpcValue>;
  if (Array.isArray(value))
    for (let i = 0; i < value.length; i++) {
      const inner = value[i]!;
      if (typeof inner === 'number' || typeof inner === 'object') container[i] = withTexts(inner);
    }
  else
    for (const key in value) {
      const inner = value[key]!;
      if (typeof inner !== 'number' && typeof inner !== 'object') continue;
      // An assignment would set the prototype.
      if (key === '__proto__') Object.defineProperty(container, key, { value: withTexts(inner), enumerable: true });
      else container[key] = withTexts(inner);
    }
  return value as RpcValue;
}

export function isObject(value: RpcValue | undefined): value is RpcObject {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof NumberText || value instanceof SecretText)
  );
}

/** Returns an own member of an object, or null if it is absent. */
export function member(object: RpcObject, key: string): RpcValue {
  return Object.hasOwn(object, key) ? object[key]! : null;
}

/** Returns Core's name of the JSON type of a value. */
export function typeName(value: RpcValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string' || value instanceof SecretText) return 'string';
  if (value instanceof NumberText) return 'number';
  return Array.isArray(value) ? 'array' : 'object';
}
