import { t } from 'elysia';

/** Documentation of a parameter whose text encodes another type. */
interface Documented {
  readonly documented: object;
}

/** Returns the schema of an optional query parameter. */
export const text = (description: string) => t.Optional(t.String({ description }));

/**
 * Returns the schema of a whole number. Its bounds may be settings, so `numberInput` checks them; Elysia checks only
 * that the text has digits.
 */
export const wholeNumber = (
  description: string,
  bounds: { minimum?: number; maximum?: number; default?: number } = {},
) => t.Optional(t.String({ description, documented: { type: 'integer', minimum: 0, ...bounds } } satisfies Described));

type Words<W> = ReturnType<typeof t.Unsafe<W>>;
type Described = Documented & { readonly description: string };

/**
 * Returns the schema of one of a few words; the first is the default. Elysia checks it, and `error` is its message for
 * any other word.
 */
export function choice<const W extends readonly [string, ...string[]]>(words: W, description: string) {
  const schema = t.String({
    description,
    pattern: `^(?:${words.join('|')})$`,
    error: `must be ${words.join(' or ')}`,
    documented: { type: 'string', enum: words, default: words[0] },
  });
  return t.Optional(schema as unknown as Words<W[number]>);
}

/** Returns the schema of `true` or `false`; `false` is the default. */
export function flag(description: string) {
  const schema = t.String({
    description,
    pattern: '^(?:false|true)$',
    error: 'must be false or true',
    documented: { type: 'boolean', default: false },
  });
  return t.Optional(schema as unknown as Words<'false' | 'true'>);
}

const HASH = { pattern: '^[0-9a-fA-F]{64}$', error: 'a hash has 64 hex digits' };

export const BLOCK_HASH = t.String({
  ...HASH,
  description: 'block hash, 64 hex digits',
});
export const TXID = t.String({
  ...HASH,
  description: 'transaction id, 64 hex digits',
});
export const HEIGHT = t.String({
  pattern: '^(?:0|[1-9][0-9]{0,9})$',
  error: 'a height is a number from 0 to 2147483647',
  description: 'height in the active chain',
  documented: { type: 'integer', minimum: 0, maximum: 2 ** 31 - 1 },
});
export const OUTPUT_INDEX = t.String({
  pattern: '^(?:0|[1-9][0-9]{0,9})$',
  error: 'must be the index of an output',
  description: 'index of an output',
  documented: { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 },
});
export const ADDRESS = t.String({
  description: 'an address, or script:<hex>',
});

export const LIMIT = wholeNumber('entries on a page', { minimum: 1 });
export const CURSOR = text('nextCursor of the page before');
