import { expect, test } from 'bun:test';
import { compactBlockOf } from '../../src/p2p/compact-block.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import { LinkedNode, until } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const chain = recentChain(20);
const recent = () => ({ startTime: Math.floor(Date.now() / 1000) - 200 * 60, spacing: 60 });
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

test('transactions that do not complete a compact block a second time are misbehaviour', async () => {
  const coins = chainWithCoins(1, 'p2wpkh', recent());
  await using node = await LinkedNode.with(coins.params, coins.blocks.slice(1));
  const end = await ScriptedEnd.join(node);
  end.send('sendcmpct', { announce: false, version: 2n });
  const coin = coins.coin(1);
  const tx = spend(coin, [{ to: lockOf('p2wpkh', 1), value: coin.output.value - 10_000n }]);
  coins.mine(1, { txs: [tx] });
  const block = parseBlock(coins.tip.raw);
  end.send('headers', { headers: [block.header] });
  await until('the request of the block', [node], () => end.of('getdata').length === 1);
  end.send('cmpctblock', compactBlockOf(block, 1n));
  await until('the request of the transaction', [node], () => end.of('getblocktxn').length === 1);
  const wrong = { blockHash: block.hash, txs: [block.txs[0]!] };
  end.send('blocktxn', wrong);
  await until('the request of the whole block', [node], () => end.of('getdata').length === 2);
  end.send('blocktxn', wrong);
  await end.heard(1n);
  expect(end.in.reason).toBe('misbehaving');
});
