import { expect, test } from 'bun:test';
import { excessOf } from '../../src/http/value-count.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

test('counts elements, members and containers', async () => {
  expect(await excessOf(bytes('[1,2,3]'), 5)).toBeNull();
  expect(await excessOf(bytes('[1,2,3]'), 3)).toBe('3 values');
  expect(await excessOf(bytes('{"a":1,"b":{"c":[]}}'), 4)).toBe('4 values');
});

test('a long string is one value, whatever its length', async () => {
  expect(await excessOf(bytes(`["${'00'.repeat(1_000_000)}"]`), 2)).toBeNull();
});

test('deep nesting and long lists are both too many', async () => {
  expect(await excessOf(bytes('['.repeat(40_000)))).toBe('30000 values');
  expect(await excessOf(bytes(`[${'0,'.repeat(40_000)}0]`))).toBe('30000 values');
});

test('a string of escapes is too much where it takes long to parse', async () => {
  expect(await excessOf(bytes(`["${'\\/'.repeat(1_000_000)}"]`))).toBeNull();
  for (const escaped of ['\\"', '\\u0030'])
    expect(await excessOf(bytes(`["${escaped.repeat(1_000_001)}"]`))).toBe('1000000 escaped characters');
});
