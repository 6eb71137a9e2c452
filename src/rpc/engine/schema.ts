/** Form of a JSON value, from which help and JSON Schema are generated. */
export type Schema = {
  /** Meaning of the value; empty if its name is enough. */
  readonly note: string;
  /** Whether it may be absent as a member of an object. */
  readonly optional?: boolean;
} & (
  | { readonly kind: Scalar }
  | { readonly kind: 'array'; readonly of: Schema }
  | { readonly kind: 'tuple'; readonly of: readonly Schema[] }
  | { readonly kind: 'object'; readonly members: Readonly<Record<string, Schema>> }
  | { readonly kind: 'map'; readonly key: string; readonly of: Schema }
  | { readonly kind: 'anyOf'; readonly of: readonly Schema[] }
);

export type JsonSchema = Readonly<Record<string, unknown>>;

type Scalar = keyof typeof SCALARS;

/** Words of the help, and JSON Schemas. The members with an x are Core's. */
const SCALARS = {
  any: { word: 'any', json: {} },
  null: { word: 'null', json: { type: 'null' } },
  bool: { word: 'true or false', json: { type: 'boolean' } },
  string: { word: 'string', json: { type: 'string' } },
  hex: { word: 'hex', json: { type: 'string', pattern: '^[0-9a-fA-F]*$' } },
  hash: { word: 'hash', json: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' } },
  integer: { word: 'integer', json: { type: 'integer' } },
  number: { word: 'number', json: { type: 'number' } },
  amount: { word: 'coins', json: { type: 'number', 'x-bitcoin-unit': 'amount' } },
  time: { word: 'Unix seconds', json: { type: 'integer', 'x-bitcoin-unit': 'unix-time' } },
} as const;

const scalar =
  (kind: Scalar) =>
  (note = ''): Schema => ({ kind, note });

export const anything = scalar('any');
export const nil = scalar('null');
export const bool = scalar('bool');
export const str = scalar('string');
/** Bytes as hex; may be empty. */
export const hexStr = scalar('hex');
/** 32 bytes in display order. */
export const hashStr = scalar('hash');
export const int = scalar('integer');
export const num = scalar('number');
/** Amount in coins with eight decimals. */
export const coinAmount = scalar('amount');
export const unixTime = scalar('time');

export function arr(of: Schema, note = ''): Schema {
  return { kind: 'array', of, note };
}

/** An array of fixed length. */
export function tuple(of: readonly Schema[], note = ''): Schema {
  return { kind: 'tuple', of, note };
}

export function obj(members: Readonly<Record<string, Schema>>, note = ''): Schema {
  return { kind: 'object', members, note };
}

/** An object with members of any name; `key` describes the names. */
export function mapOf(key: string, of: Schema, note = ''): Schema {
  return { kind: 'map', key, of, note };
}

/** One of several forms, whose notes say when each applies. */
export function anyOf(...of: readonly Schema[]): Schema {
  return { kind: 'anyOf', of, note: '' };
}

/** A member that may be absent. */
export function maybe(schema: Schema): Schema {
  return { ...schema, optional: true };
}

/** The same schema with another note. */
export function noted(schema: Schema, note: string): Schema {
  return { ...schema, note };
}

export function jsonSchema(schema: Schema): JsonSchema {
  const { note } = schema;
  return { ...bareJsonSchema(schema), ...(note !== '' && { description: note }) };
}

function bareJsonSchema(schema: Schema): JsonSchema {
  switch (schema.kind) {
    case 'array':
      return { type: 'array', items: jsonSchema(schema.of) };
    case 'tuple': {
      const { length } = schema.of;
      return { type: 'array', items: schema.of.map(jsonSchema), minItems: length, maxItems: length };
    }
    case 'object': {
      const members = Object.entries(schema.members);
      const required = members.filter(([, { optional }]) => !optional).map(([name]) => name);
      return {
        type: 'object',
        properties: Object.fromEntries(members.map(([name, member]) => [name, jsonSchema(member)])),
        additionalProperties: false,
        ...(required.length > 0 && { required }),
      };
    }
    case 'map':
      return { type: 'object', additionalProperties: jsonSchema(schema.of) };
    case 'anyOf':
      return { anyOf: schema.of.map(jsonSchema) };
    default:
      return SCALARS[schema.kind].json;
  }
}

/** Column in which notes begin. */
const NOTE_COLUMN = 42;
const INDENT = '  ';

/** Whether the schema is written in one line: a scalar, or one of several scalars without notes. */
export function isInline(schema: Schema): boolean {
  if (schema.kind === 'anyOf') return schema.of.every((form) => isInline(form) && form.note === '');
  return schema.kind in SCALARS;
}

/** Returns the schema as text with one line per member; `between` separates alternative forms. */
export function schemaText(schema: Schema, between = '\nor\n'): string {
  if (schema.kind === 'anyOf') return schema.of.map((form) => lines(form, '', '').join('\n')).join(between);
  return lines(schema, '', '').join('\n');
}

/** `before` is the text before the value in its first line. */
function lines(schema: Schema, indent: string, before: string): string[] {
  const head = indent + before;
  const inner = indent + INDENT;
  switch (schema.kind) {
    case 'array':
      return bracketed(`${head}[`, schema.note, [...lines(schema.of, inner, ''), `${inner}...`], `${indent}]`);
    case 'tuple':
      return bracketed(
        `${head}[`,
        schema.note,
        schema.of.flatMap((each) => lines(each, inner, '')),
        `${indent}]`,
      );
    case 'object': {
      const members = Object.entries(schema.members);
      if (members.length === 0) return [withNote(`${head}{}`, schema.note)];
      return bracketed(
        `${head}{`,
        schema.note,
        members.flatMap(([name, each]) => lines(each, inner, `"${name}"${each.optional ? '?' : ''}: `)),
        `${indent}}`,
      );
    }
    case 'map': {
      const all = [...lines(schema.of, inner, `"${schema.key}": `), `${inner}...`];
      return bracketed(`${head}{`, schema.note, all, `${indent}}`);
    }
    case 'anyOf':
      return schema.of.flatMap((form, i) =>
        lines(form, indent, i === 0 ? before : `${' '.repeat(Math.max(0, before.length - 3))}or `),
      );
    default:
      return [withNote(head + SCALARS[schema.kind].word, schema.note)];
  }
}

function bracketed(open: string, note: string, inside: readonly string[], close: string): string[] {
  return [withNote(open, note), ...inside, close];
}

function withNote(line: string, note: string): string {
  return note === '' ? line : `${line.padEnd(NOTE_COLUMN)} ${note}`;
}
