import { expect, test } from 'bun:test';
import { hasTooManyValues } from '../../../src/api/rpc/value-count.ts';

const bytes = (text: string) => new TextEncoder().encode(text);

test('counts elements, members and containers', async () => {
  expect(await hasTooManyValues(bytes('[1,2,3]'), 5)).toBe(false);
  expect(await hasTooManyValues(bytes('[1,2,3]'), 3)).toBe(true);
  expect(await hasTooManyValues(bytes('{"a":1,"b":{"c":[]}}'), 4)).toBe(true);
});

test('a long string is one value, whatever its length', async () => {
  expect(await hasTooManyValues(bytes(`["${'00'.repeat(1_000_000)}"]`), 2)).toBe(false);
});

test('deep nesting and long lists are both too many', async () => {
  expect(await hasTooManyValues(bytes('['.repeat(30_000)))).toBe(true);
  expect(await hasTooManyValues(bytes(`[${'0,'.repeat(30_000)}0]`))).toBe(true);
});
