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
  for (const text of texts) calls.keep(calls.prepare(text, parseJson(text)));
  return calls;
}

/**
 * Returns the id that a request of the second text has as a prepared call of the first one; null if it is none. It must be
 * the same right after a request of the first text.
 */
function idOf(first: string, second: string): string | null {
  const calls = preparedWith(first);
  const id = calls.find(second)?.id ?? null;
  calls.find(first);
  expect(calls.find(second)?.id ?? null).toBe(id);
  return id;
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
          const { prepared: _, ...meaning } = found;
          expect<unknown>(meaning).toEqual(readCall(parseJson(each)));
        }
      }),
    );
  });

  test('a reply is kept around its id, unless it is long', () => {
    for (const [text, reply] of [
      [head + 1 + tail, ['{"jsonrpc":"2.0","result":211,"id":', '}']],
      ['{"id":1,"method":"getblockcount"}', ['{"result":211,"error":null,"id":', '}']],
    ] as const) {
      const prepared = preparedWith(text).find(text)!.prepared!;
      keepReply(prepared, ['211'], { state: STATE, mempoolSeq: 7 });
      expect(prepared.kept).toEqual({ state: STATE, mempoolSeq: 7, head: reply[0], tail: reply[1] });
    }
    const prepared = preparedWith(head + 1 + tail).find(head + 1 + tail)!.prepared!;
    keepReply(prepared, [`"${'0'.repeat(20_000)}"`], { state: STATE, mempoolSeq: null });
    expect(prepared.kept).toBeNull();
  });

  test('are not kept before their caller is known to have the right to make them', () => {
    const text = '{"id":1,"method":"getblockcount"}';
    const calls = new PreparedCalls(RPC_METHODS);
    const call = calls.prepare(text, parseJson(text));
    expect([calls.find(text), calls.size]).toEqual([null, 0]);
    calls.keep(call);
    expect(calls.find(text)).toEqual(call);
  });

  test('are kept while they are used, however many others come, and at most 256 at a time', () => {
    const hashOf = (height: number) => `{"id":1,"method":"getblockhash","params":[${height}]}`;
    const calls = preparedWith(hashOf(0), hashOf(1));
    const before = calls.find(hashOf(0))!.prepared;
    for (let height = 2; height < 2000; height++) {
      const text = hashOf(height);
      calls.keep(calls.prepare(text, parseJson(text)));
      expect(calls.find(hashOf(0))?.prepared).toBe(before);
      if (height % 200 === 0) expect(calls.find(text)).not.toBeNull();
      expect(calls.size).toBeLessThanOrEqual(256);
    }
    expect(calls.find(hashOf(1))).toBeNull();
    expect(calls.find(hashOf(1999))).not.toBeNull();
  });

  test('differ in the text on both sides of the id', () => {
    const textOf = (height: number) => `{"method":"getblockhash","jsonrpc":"2.0","id":1,"params":[${height}]}`;
    const calls = preparedWith(textOf(1), textOf(2));
    expect([1, 2, 3].map((height) => calls.find(textOf(height))?.params ?? null)).toEqual(
      [[1], [2]].map((params) => parseJson(JSON.stringify(params))).concat([null]),
    );
  });
});
