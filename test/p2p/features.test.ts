import { expect, test } from 'bun:test';
import { recentChain } from '../lib/sample-chains.ts';
import { LinkedNode } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const chain = recentChain(20);
const full = () => LinkedNode.with(chain.params, chain.blocks.slice(1));

// BIP-434
test.each<[number, string | null]>([
  [70_017, null],
  [70_016, 'feature of an earlier protocol'],
])('a feature before verack of a peer with version %p', async (version, reason) => {
  await using node = await full();
  const end = await ScriptedEnd.join(node, { version, feature: 'unheard' });
  expect(end.in.reason).toBe(reason);
  if (reason === null) expect(end.of('version')[0]?.version).toBe(70_017);
});

test('a feature after verack ends the connection', async () => {
  await using node = await full();
  const end = await ScriptedEnd.join(node, { version: 70_017 });
  end.send('feature', { id: 'late', data: new Uint8Array(0) });
  await end.heard(1n);
  expect(end.in.reason).toBe('feature after verack');
});

test('a feature that does not parse ends the connection', async () => {
  await using node = await full();
  const end = await ScriptedEnd.join(node, { version: 70_017 });
  end.sendPayload('feature', Uint8Array.of(3, 97, 97, 97, 0));
  await end.heard(1n);
  expect(end.in.reason).toBe('malformed feature');
});

test('getblocktxn without indexes ends the connection', async () => {
  await using node = await full();
  const end = await ScriptedEnd.join(node);
  end.send('getblocktxn', { blockHash: chain.tip.hash, indexes: [] });
  await end.heard(1n);
  expect(end.in.reason).toBe('getblocktxn without indexes');
});
