import { type TSchema, t } from 'elysia';
import { ERROR_CODES } from './errors.ts';

/** Members of an object by name. */
export type Properties = Record<string, TSchema>;
export type ObjectSchema<P extends Properties = Properties> = ReturnType<typeof t.Object<P>>;

/** Returns the schema of an object with a name, so that generated clients have a type of that name. */
export function named<P extends Properties>(name: string, properties: P, description?: string): ObjectSchema<P> {
  return t.Object(properties, { $id: name, ...(description !== undefined && { description }) });
}

/** An integer. Elysia's own type of that name also accepts texts. */
export const wholeNumberSchema = (
  options: { default?: number; minimum?: number; maximum?: number; description?: string } = {},
) => t.Unsafe<number>({ type: 'integer', ...options });

export const nullable = <S extends TSchema>(schema: S) => t.Union([schema, t.Null()]);

/** 32 bytes in display order. */
export const hash = (description?: string) =>
  t.String({ pattern: '^[0-9a-f]{64}$', ...(description !== undefined && { description }) });
export const HEX = t.String({ pattern: '^(?:[0-9a-f]{2})*$', description: 'hex' });
export const count = (description?: string) =>
  wholeNumberSchema({ minimum: 0, ...(description !== undefined && { description }) });
export const sats = (description = 'satoshis') => wholeNumberSchema({ minimum: 0, description });
/** Satoshis that may be negative. */
export const signedSats = (description = 'satoshis') => wholeNumberSchema({ description });
export const feeRate = (description = 'satoshis per virtual byte') => t.Number({ minimum: 0, description });
export const height = (description = 'height of a block') =>
  wholeNumberSchema({ minimum: 0, maximum: 2 ** 31 - 1, description });
export const time = (description = 'Unix seconds') => wholeNumberSchema({ description });
export const words = <const W extends readonly string[]>(list: W, description?: string) =>
  t.Unsafe<W[number]>({ type: 'string', enum: [...list], ...(description !== undefined && { description }) });

export const TIP = named('Tip', { height: height(), hash: hash() }, 'the block that an answer belongs to');

export const SCRIPT = named(
  'Script',
  {
    hex: HEX,
    asm: t.String(),
    type: t.String({ description: "Bitcoin Core's name of the type" }),
    address: nullable(t.String({ description: 'null where the script has no address' })),
  },
  'an output script',
);

export const TX_STATUS = named(
  'TxStatus',
  {
    confirmed: t.Boolean(),
    blockHash: nullable(hash()),
    blockHeight: nullable(height()),
    blockIndex: nullable(count('index in the block')),
    blockTime: nullable(time()),
    confirmations: count('0 in the mempool, 1 in the block at the tip'),
  },
  'whether a transaction is confirmed, and in which block',
);

/** The schema of a page of a list. */
export const page = <P extends Properties, I extends TSchema>(name: string, items: I, more: P) =>
  named(name, {
    ...more,
    tip: TIP,
    items: t.Array(items),
    nextCursor: nullable(t.String({ description: 'cursor of the next page; null on the last one' })),
    next: nullable(t.String({ description: 'path and query of the next page; null on the last one' })),
  });

/** The body of every error outside JSON-RPC. */
export const ERROR = named(
  'Error',
  {
    error: t.Object({
      code: t.Unsafe<string>({ type: 'string', enum: ERROR_CODES, description: 'stable' }),
      message: t.String({ description: 'for humans' }),
      details: nullable(t.Object({}, { additionalProperties: true })),
      requestId: t.String({ description: 'also in X-Request-Id and in the log of the node' }),
    }),
  },
  'why there is no answer',
);
