import { expect, test } from 'bun:test';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { nodeKills } from '../proof/node-kills.ts';

cleanUpAfterTests();

test('a node that is killed twice amid reorgs of its peer has the state of the peer', async () => {
  const { violations, figures } = await nodeKills.run(2, 7, new AbortController().signal);
  expect(violations).toEqual([]);
  expect(new Map(figures).get('kills')).toBe(2);
});
