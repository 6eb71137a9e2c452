import { expect, test } from 'bun:test';
import { RequestIds } from '../../src/server/request-ids.ts';

const COUNT = 5000;

test('each request of a front has an id of its own with the same prefix', () => {
  const ids = new RequestIds();
  const given = Array.from({ length: COUNT }, () => ids.next());
  expect(new Set(given).size).toBe(COUNT);
  for (const id of given) expect(id).toMatch(/^[0-9a-f]{10}-[0-9a-z]{2,}$/);
  expect(new Set(given.map((id) => id.split('-')[0])).size).toBe(1);
  expect(new RequestIds().next().split('-')[0]).not.toBe(given[0]!.split('-')[0]!);
});
