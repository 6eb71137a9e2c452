import { expect, test } from 'bun:test';
import {
  anyOf,
  arr,
  bool,
  coinAmount,
  hashStr,
  int,
  jsonSchema,
  mapOf,
  maybe,
  nil,
  num,
  obj,
  schemaText,
  tuple,
} from '../../../src/rpc/engine/schema.ts';

const block = obj({ hash: hashStr(), fee: maybe(coinAmount('in all')), tx: arr(obj({ n: int() }), 'in order') });

test('a schema is converted to JSON Schema', () => {
  expect(jsonSchema(block)).toEqual({
    type: 'object',
    properties: {
      hash: { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
      fee: { type: 'number', 'x-bitcoin-unit': 'amount', description: 'in all' },
      tx: {
        type: 'array',
        items: { type: 'object', properties: { n: { type: 'integer' } }, additionalProperties: false, required: ['n'] },
        description: 'in order',
      },
    },
    additionalProperties: false,
    required: ['hash', 'tx'],
  });
  expect(jsonSchema(mapOf('txid', bool()))).toEqual({ type: 'object', additionalProperties: { type: 'boolean' } });
  expect(jsonSchema(tuple([num(), int()]))).toEqual({
    type: 'array',
    items: [{ type: 'number' }, { type: 'integer' }],
    minItems: 2,
    maxItems: 2,
  });
  expect(jsonSchema(anyOf(nil('none'), int()))).toEqual({
    anyOf: [{ type: 'null', description: 'none' }, { type: 'integer' }],
  });
});

test('a schema is written as text with one line per member', () => {
  expect(schemaText(anyOf(nil('unknown'), block)).split('\n')).toEqual([
    'null                                       unknown',
    'or',
    '{',
    '  "hash": hash',
    '  "fee"?: coins                            in all',
    '  "tx": [                                  in order',
    '    {',
    '      "n": integer',
    '    }',
    '    ...',
    '  ]',
    '}',
  ]);
  expect(schemaText(mapOf('txid', anyOf(int(), bool()))).split('\n')).toEqual([
    '{',
    '  "txid": integer',
    '       or true or false',
    '  ...',
    '}',
  ]);
});
