import { expect, test } from 'bun:test';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { deposits } from '../proof/deposits.ts';

cleanUpAfterTests();

test('deposits are credited once while node and consumers are killed, by consumers that store the last cursor', async () => {
  const { figures, violations } = await deposits.run(40, 4, AbortSignal.timeout(80_000));
  expect(violations).toEqual([]);
  const figure = new Map(figures);
  expect(figure.get('confirmed deposits')).toBeGreaterThanOrEqual(40);
  expect(figure.get('kills of the node')).toBeGreaterThan(0);
  expect(figure.get('kills of consumers')).toBeGreaterThan(0);
});
