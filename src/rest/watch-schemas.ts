import type { DocumentDecoration } from 'elysia';
import { WATCH_KINDS } from '../feed/watch-values.ts';
import { MAX_BULK } from './watch-body.ts';

type BodySchema = NonNullable<DocumentDecoration['requestBody']>;

const WATCH = {
  type: 'object' as const,
  required: ['kind', 'value'],
  properties: {
    kind: { type: 'string' as const, enum: [...WATCH_KINDS] },
    value: { type: 'string' as const, description: 'an address, hex of a script, a transaction id, or txid:n' },
    confirmations: {
      type: 'array' as const,
      items: { type: 'integer' as const, minimum: 0, maximum: 1000 },
      maxItems: 10,
      description: 'numbers of confirmations that are told; none for addresses and scripts, else 0 and 1',
    },
    label: { type: 'string' as const, maxLength: 200, nullable: true },
  },
};

/** Handlers read these bodies themselves; this is for the description alone. */
export const WATCHES_SCHEMA: BodySchema = {
  required: true,
  content: {
    'application/json': {
      schema: {
        oneOf: [
          WATCH,
          {
            type: 'object',
            required: ['watches'],
            properties: { watches: { type: 'array', items: WATCH, minItems: 1, maxItems: MAX_BULK } },
          },
        ],
      },
    },
  },
};

export const REMOVAL_SCHEMA: BodySchema = {
  content: {
    'application/json': {
      schema: {
        type: 'object',
        properties: {
          ids: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: MAX_BULK },
          all: { type: 'boolean', description: 'true removes all of this key' },
        },
      },
    },
  },
};
