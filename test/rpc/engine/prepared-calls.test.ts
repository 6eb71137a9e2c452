import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseJson } from '../../../src/rpc/engine/json.ts';
import { keepReply, PreparedCalls } from '../../../src/rpc/engine/prepared-calls.ts';
import { readCall } from '../../../src/rpc/engine/protocol.ts';
import { RPC_METHODS } from '../../../src/rpc/methods/methods.ts';
import type { ChainState } from '../../../src/storage/chain-reads.ts';

const STATE = {} as ChainState;

function preparedWith(...texts: readonly string[]): PreparedCalls {
  const calls = new PreparedCalls(RPC_METHODS);
  for (const text of texts) calls.prepare(text, parseJson(text));
  return calls;
}

/** Returns the id that a request of the second text has as a prepared call of the first one; null if it is none. */
function idOf(first: string, second: string): string | null {
  return preparedWith(first).find(second)?.id ?? null;
}

describe('prepared calls', () => {
  const head = '{"jsonrpc":"2.0","id":';
  const tail = ',"method":"getblockcount","params":[]}';

  test.each(['1', '0', '999999999999999', '"a"', '""', '"curl test-7"'])('are found with the id %s', (id) => {
    expect(idOf(`${head}5${tail}`, head + id + tail)).toBe(id);
    expect(idOf(`${head}"x"${tail}`, head + id + tail)).toBe(id);
    expect(idOf('{"method":"getblockcount","id": 5}', `{"method":"getblockcount","id": ${id}}`)).toBe(id);
  });

  test.each([
    '1.50',
    '-1',
    '007',
    '1e3',
    '1234567890123456',
    'null',
    'true',
    '[1]',
    '{}',
    '"a\\"b"',
    '"é"',
    '',
    '"a',
    '1 ',
  ])('are not found with the id %s', (id) => {
    expect(idOf(`${head}5${tail}`, head + id + tail)).toBeNull();
  });

  test.each([
    ['another method', '{"id":1,"method":"getblockhash"}', '{"id":1,"method":"getblockcount"}'],
    ['another version', `${head}1${tail}`, '{"jsonrpc":"1.0","id":1,"method":"getblockcount","params":[]}'],
    ['a method that is not kept', '{"id":1,"method":"uptime"}', '{"id":2,"method":"uptime"}'],
    ['an unknown method', '{"id":1,"method":"nothing"}', '{"id":2,"method":"nothing"}'],
    [
      'an id within the parameters',
      '{"method":"getblockhash","params":{"id":1}}',
      '{"method":"getblockhash","params":{"id":2}}',
    ],
    ['two ids', '{"id":1,"method":"getblockcount","id" :1}', '{"id":2,"method":"getblockcount","id" :1}'],
    [
      'an id with an escape',
      '{"id":1,"method":"getblockcount","i\\u0064":1}',
      '{"id":2,"method":"getblockcount","i\\u0064":1}',
    ],
    ['an id in a name', '{"a\\"id":1,"id":1,"method":"getblockcount"}', '{"a\\"id":2,"id":1,"method":"getblockcount"}'],
    [
      'an invalid call',
      '{"jsonrpc":"3.0","id":1,"method":"getblockcount"}',
      '{"jsonrpc":"3.0","id":2,"method":"getblockcount"}',
    ],
    ['more behind it', `${head}1${tail}`, `${head}1${tail},`],
  ])('are not found for %s', (_, first, second) => {
    expect(idOf(first, second)).toBeNull();
  });

  test('have the meaning that the parser gives to their text', () => {
    const member = fc.constantFrom(
      '"id":1',
      '"id": 22',
      '"id":"x"',
      '"id" :3',
      '"jsonrpc":"2.0"',
      '"params":[]',
      '"a":{"id":4}',
    );
    const methods = fc.constantFrom('"method":"getblockcount"', '"method":"getbestblockhash"');
    const text = fc
      .tuple(fc.array(member, { maxLength: 4 }), methods)
      .map(([some, method]) => `{${[...some, method].join(',')}}`);
    fc.assert(
      fc.property(fc.array(text, { minLength: 2, maxLength: 12 }), (texts) => {
        const calls = preparedWith(...texts);
        for (const each of texts) {
          const found = calls.find(each);
          if (!found) continue;
          const { prepared: _, ...expected } = { ...readCall(parseJson(each)), prepared: null };
          expect<unknown>({ ...found.before.call, id: found.id }).toEqual(expected);
        }
      }),
    );
  });

  test('a reply is kept around its id, unless it is long', () => {
    for (const [text, reply] of [
      [head + 1 + tail, ['{"jsonrpc":"2.0","result":211,"id":', '}\n']],
      ['{"id":1,"method":"getblockcount"}', ['{"result":211,"error":null,"id":', '}\n']],
    ] as const) {
      const { before } = preparedWith(text).find(text)!;
      keepReply(before, ['211'], { state: STATE, mempoolSeq: 7 });
      expect(before.kept).toEqual({ state: STATE, mempoolSeq: 7, head: reply[0], tail: reply[1] });
    }
    const { before } = preparedWith(head + 1 + tail).find(head + 1 + tail)!;
    keepReply(before, [`"${'0'.repeat(20_000)}"`], { state: STATE, mempoolSeq: null });
    expect(before.kept).toBeNull();
  });

  test('are forgotten when there are too many of them', () => {
    const calls = new PreparedCalls(RPC_METHODS);
    const texts = Array.from({ length: 257 }, (_, i) => `{"id":1,"method":"getblockhash","params":[${i}]}`);
    for (const text of texts) calls.prepare(text, parseJson(text));
    expect(texts.filter((text) => calls.find(text))).toEqual(texts.slice(-1));
  });
});
