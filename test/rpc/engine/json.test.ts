import { expect, test } from 'bun:test';
import { NumberText, parseJson } from '../../../src/rpc/engine/json.ts';

/** Valid forms of numbers, most of which JSON.parse does not preserve. */
const NUMBERS = [
  '0',
  '-0',
  '7',
  '-12',
  '1.50',
  '1e5',
  '1E+2',
  '0.10000000',
  '-0.5',
  '999999999999999',
  '-999999999999999',
  '9007199254740993',
  '123456789012345678901234567890',
  '1e400',
];

test.each(NUMBERS)('%s keeps its text in every position', (digits) => {
  for (const text of [
    digits,
    `[${digits}]`,
    `[1,${digits},{"a":${digits},"b":[${digits}]}]`,
    `{"\\"":${digits},"\\\\":"\\\\\\"5.5","__proto__":${digits}}`,
  ])
    expect(JSON.stringify(parseJson(text))).toBe(text);
  expect(parseJson(digits)).toBeInstanceOf(NumberText);
});

test('digits within strings are not numbers', () => {
  for (const text of ['"1.5"', '["1e5","\\\\",1]', '{"a":"\\\\\\"1.5","1.5":2}'])
    expect(JSON.stringify(parseJson(text))).toBe(text);
});

test('a member named __proto__ does not become the prototype', () => {
  for (const number of ['1', '1.5']) {
    const value = parseJson(`{"__proto__":${number},"a":{"__proto__":{"b":${number}}}}`);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value as object)).toEqual(['__proto__', 'a']);
    expect((value as { b?: unknown }).b).toBeUndefined();
  }
});

test('invalid JSON is rejected', () => {
  for (const text of ['', '01', '1.', '.5', '+1', '1 2', '[1,]', '{"a":1,}', '-', '"', '"\\', 'NaN', '[1', "{'a':1}"])
    expect(() => parseJson(text)).toThrow(SyntaxError);
  expect(() => parseJson('['.repeat(200_000) + ']'.repeat(200_000))).toThrow();
});

// Bitcoin Core keeps every member and reads the first one of a name.
test('a repeated key keeps its first value, and the others under numbered keys', () => {
  for (const [text, parsed] of [
    ['{"a":1,"a":2,"b":[{"a":3}],"a":0.5}', '{"a":1,"a\\u00001":2,"b":[{"a":3}],"a\\u00002":0.5}'],
    ['{"a":{"b" : "x:\\"","b": "y"}}', '{"a":{"b":"x:\\"","b\\u00001":"y"}}'],
    ['{"a":1,"\\u0061":2}', '{"a":1,"a\\u00001":2}'],
    ['[{"a":1},{"a":2}]', '[{"a":1},{"a":2}]'],
  ] as const)
    expect(JSON.stringify(parseJson(text))).toBe(parsed);
  expect(() => parseJson('{"a":1,"a":}')).toThrow(SyntaxError);
  expect(() => parseJson('{"a":1,"a":2')).toThrow(SyntaxError);
});

test('an object with many repeated keys is parsed in linear time', () => {
  const parsed = parseJson(`{${'"a":1,'.repeat(200_000)}"b":2}`);
  expect(Object.keys(parsed as object)).toHaveLength(200_001);
});
