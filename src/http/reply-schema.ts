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

/** An integer beyond 32 bits, which generated clients would use otherwise. */
const longNumberSchema = (options: { minimum?: number; description: string }) =>
  t.Unsafe<number>({ type: 'integer', format: 'int64', ...options });

export const nullable = <S extends TSchema>(schema: S) => t.Union([schema, t.Null()]);

/** 32 bytes in display order. */
export const hash = (description?: string) =>
  t.String({ pattern: '^[0-9a-f]{64}$', ...(description !== undefined && { description }) });
export const HEX = t.String({ pattern: '^(?:[0-9a-f]{2})*$', description: 'hex' });
export const count = (description?: string) =>
  wholeNumberSchema({ minimum: 0, ...(description !== undefined && { description }) });
/** A count that 32 bits do not hold. */
export const longCount = (description: string) => longNumberSchema({ minimum: 0, description });
export const sats = (description = 'satoshis') => longNumberSchema({ minimum: 0, description });
/** Satoshis that may be negative. */
export const signedSats = (description = 'satoshis') => longNumberSchema({ description });
export const feeRate = (description = 'satoshis per virtual byte') => t.Number({ minimum: 0, description });
export const height = (description = 'height of a block') =>
  wholeNumberSchema({ minimum: 0, maximum: 2 ** 31 - 1, description });
export const time = (description = 'Unix seconds') => longNumberSchema({ description });
export const words = <const W extends readonly string[]>(list: W, description?: string) =>
  t.Unsafe<W[number]>({ type: 'string', enum: [...list], ...(description !== undefined && { description }) });
/** The schema of one of a few words with a name, so that generated clients have a type of that name. */
export const namedWords = <const W extends readonly string[]>(name: string, list: W, description: string) =>
  t.Unsafe<W[number]>({ $id: name, type: 'string', enum: [...list], description });

export const BLOCK_REFERENCE = named('BlockReference', { height: height(), hash: hash() }, 'a block');

export const TIP = named('Tip', { height: height(), hash: hash() }, 'the block that an answer belongs to');

export const SCRIPT_TYPE = namedWords(
  'ScriptType',
  [
    ...(['pubkey', 'pubkeyhash', 'scripthash', 'multisig', 'nulldata', 'witness_v0_keyhash'] as const),
    ...(['witness_v0_scripthash', 'witness_v1_taproot', 'anchor', 'witness_unknown', 'nonstandard'] as const),
  ],
  "Bitcoin Core's name of the type of an output script",
);

export const SCRIPT = named(
  'Script',
  {
    hex: HEX,
    asm: t.String(),
    type: SCRIPT_TYPE,
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

const ERROR_MESSAGE = t.String({ description: 'for humans' });
const REQUEST_ID = t.String({ description: 'also in X-Request-Id and in the log of the node' });

export const REJECTION_CLASS = namedWords(
  'RejectionClass',
  ['consensus', 'script', 'policy', 'fee', 'missing-inputs', 'conflict', 'premature'],
  'the kind of rule that a transaction breaks',
);

/** The body of every error outside JSON-RPC. */
export const ERROR = named(
  'Error',
  {
    error: named('ErrorBody', {
      code: namedWords('ErrorCode', ERROR_CODES, 'a stable word; each response lists the ones that it can have'),
      message: ERROR_MESSAGE,
      details: nullable(
        t.Object({}, { additionalProperties: true, description: 'further members, which depend on the code' }),
      ),
      requestId: REQUEST_ID,
    }),
  },
  'why there is no answer; a request that failed with 429 or 503 may be sent again after the seconds of Retry-After',
);

const TX_REJECTION = named(
  'TxRejection',
  {
    reason: t.String({ description: "Bitcoin Core's reject string" }),
    debug: nullable(t.String({ description: "Bitcoin Core's longer form" })),
    class: REJECTION_CLASS,
    retryable: t.Boolean({ description: 'whether the same bytes may be accepted later' }),
    txid: hash(),
    conflicts: t.Array(hash(), { description: 'transactions of the mempool that spend the same outputs' }),
    missingInputs: t.Array(named('Outpoint', { txid: hash(), vout: count() }), {
      description: 'spent outputs that the node does not know',
    }),
  },
  'why the mempool rejected a transaction',
);

/** The body of the error of a rejected transaction. */
export const TX_REJECTED = named('TxRejectedError', {
  error: named('TxRejectedBody', {
    code: t.Literal('tx_rejected'),
    message: ERROR_MESSAGE,
    details: TX_REJECTION,
    requestId: REQUEST_ID,
  }),
});
