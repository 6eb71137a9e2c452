import { parseWithNumbers, rawJson } from '../views/raw-json.ts';

/** A number of a request with the text it was written as: amounts and ids must not pass through a double. */
export class NumberText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toJSON(): unknown {
    return rawJson(this.text);
  }
}

export type RpcValue = null | boolean | string | NumberText | readonly RpcValue[] | RpcObject;
export interface RpcObject {
  readonly [key: string]: RpcValue;
}

/** Parses JSON and keeps the text of its numbers. Throws SyntaxError, or RangeError where it is nested too deeply. */
export function parseJson(text: string): RpcValue {
  return parseWithNumbers(text, (digits) => new NumberText(digits)) as RpcValue;
}

export function isObject(value: RpcValue | undefined): value is RpcObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);
}

/** The member of that name, null where it is absent; never one the object inherits. */
export function member(object: RpcObject, key: string): RpcValue {
  return Object.hasOwn(object, key) ? object[key]! : null;
}

/** Core's names of the types of JSON. */
export function typeName(value: RpcValue): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'string') return 'string';
  if (value instanceof NumberText) return 'number';
  return Array.isArray(value) ? 'array' : 'object';
}
