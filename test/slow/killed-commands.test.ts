import { expect, test } from 'bun:test';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { backups } from '../proof/backups.ts';
import { importKills } from '../proof/import-kills.ts';

cleanUpAfterTests();

const { signal } = new AbortController();

test.each([
  ['an import that is killed twice ends as one that is not', importKills, 2],
  ['backups of a busy node that are killed twice restore its coins, balances, keys and watches', backups, 2],
] as const)('%s', async (_, proof, count) => {
  const { violations, figures } = await proof.run(count, 7, signal);
  expect(violations).toEqual([]);
  expect(new Map(figures).get('kills')).toBe(count);
});
