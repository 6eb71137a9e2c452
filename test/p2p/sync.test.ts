import { expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { connect, LinkedNode, until } from './lib/linked-net.ts';

const tipOf = (chain: { readonly tip: { readonly hash: Parameters<typeof hashToHex>[0] } }) =>
  hashToHex(chain.tip.hash);

test('a node without blocks takes the chain of a peer', async () => {
  const chain = recentChain(300, { payments: 2 });
  await using full = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using empty = await LinkedNode.with(chain.params);
  connect(empty, full);
  await until('the tip', [full, empty], () => empty.tip === tipOf(chain));
  expect(empty.node.chain.height).toBe(300);
});

test('it does so the other way round: from who connected to it', async () => {
  const chain = recentChain(30);
  await using full = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using empty = await LinkedNode.with(chain.params);
  connect(full, empty);
  await until('the tip', [full, empty], () => empty.tip === tipOf(chain));
});

test('a chain longer than one message of headers, fetched from two peers at once', async () => {
  const chain = recentChain(2100);
  await using a = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using b = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using empty = await LinkedNode.with(chain.params);
  const links = [connect(empty, a), connect(empty, b)];
  await until('the tip', [a, b, empty], () => empty.tip === tipOf(chain));
  for (const { in: inbound } of links)
    expect(inbound.sentTypes.filter((type) => type === 'block').length).toBeGreaterThan(100);
}, 60_000);

test('two nodes with different branches end on the one with more work', async () => {
  const chain = recentChain(20);
  const longer = chain.fork(12);
  longer.mine(12);
  chain.mine(2);
  await using a = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using b = await LinkedNode.with(chain.params, longer.blocks.slice(1));
  connect(a, b);
  await until('the reorg', [a, b], () => a.tip === tipOf(longer));
  expect(b.tip).toBe(tipOf(longer));
});

test('a new block reaches all in a line, at last as a compact block', async () => {
  const chain = recentChain(110);
  const nodes = await Promise.all([0, 1, 2].map(() => LinkedNode.with(chain.params, chain.blocks.slice(1))));
  const [a, b, c] = nodes as [LinkedNode, LinkedNode, LinkedNode];
  try {
    const first = connect(b, a);
    connect(c, b);
    for (let i = 0; i < 4; i++) {
      chain.mine(1);
      await a.node.take([chain.tip]);
      await until(`block ${i}`, nodes, () => nodes.every(({ tip }) => tip === tipOf(chain)));
    }
    expect(first.in.sentTypes).toContain('cmpctblock');
  } finally {
    for (const node of nodes) await node[Symbol.asyncDispose]();
  }
});
