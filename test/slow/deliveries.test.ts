import { expect, test } from 'bun:test';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { runDeliveries } from '../proof/deliveries.ts';

cleanUpAfterTests();

test('deposits are credited once over every way while node and consumers are killed', async () => {
  const { figures, violations } = await runDeliveries({ runs: 1, deposits: 40 }, 4, AbortSignal.timeout(80_000));
  expect(violations).toEqual([]);
  const figure = new Map<string, string | number>(figures);
  expect(figure.get('confirmed deposits')).toBeGreaterThanOrEqual(40);
  expect(figure.get('kills of the node')).toBeGreaterThan(0);
  expect(figure.get('kills of consumers')).toBeGreaterThan(0);
}, 90_000);
