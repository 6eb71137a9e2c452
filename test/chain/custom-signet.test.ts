import { expect, test } from 'bun:test';
import { customSignet, signet } from '../../src/params/signet.ts';
import { TestNode } from '../lib/chain-fixture.ts';

// All signets have the same genesis block, so only the magic distinguishes the chains that are signed by others.
test('the chain of one signet is not opened as that of another', async () => {
  const [own, other] = [0x51, 0x52].map((challenge) => customSignet(Uint8Array.of(challenge)));
  await using node = new TestNode({ params: own! });
  await node.close();
  await using again = new TestNode({ from: node.dir, params: own! });
  expect(again.chain.tip.height).toBe(0);
  for (const params of [other!, signet])
    expect(() => new TestNode({ from: node.dir, params })).toThrow('belongs to network signet-54d26fbd');
});
