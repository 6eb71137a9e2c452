import { expect, test } from 'bun:test';
import { INVENTORY } from '../../src/p2p/messages/inventory.ts';
import { SERVICES } from '../../src/p2p/services.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type BlockHash, hashToHex } from '../../src/primitives/hash.ts';
import { headerHash } from '../../src/primitives/header.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { oldChain, recentChain } from '../lib/sample-chains.ts';
import { connect, LinkedNode, OUR_SERVICES, until } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';
import { headersAfter } from './sync/header-chain.ts';

const tipOf = (chain: { readonly tip: { readonly hash: Parameters<typeof hashToHex>[0] } }) =>
  hashToHex(chain.tip.hash);

test('a node without blocks syncs from an outbound peer', async () => {
  const chain = recentChain(300, { payments: 2 });
  await using full = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using empty = await LinkedNode.with(chain.params);
  connect(empty, full);
  await until('the tip', [full, empty], () => empty.tip === tipOf(chain));
  expect(empty.node.chain.height).toBe(300);
}, 180_000);

test('a node without blocks syncs from an inbound peer', async () => {
  const chain = recentChain(30);
  await using full = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using empty = await LinkedNode.with(chain.params);
  connect(full, empty);
  await until('the tip', [full, empty], () => empty.tip === tipOf(chain));
});

// Outbound peers are preferred, to spare inbound ones, unless they have nothing to serve.
test('initial block download uses an inbound peer if outbound ones serve nothing', async () => {
  const chain = recentChain(60);
  await using full = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  await using empty = await LinkedNode.with(chain.params);
  await using late = await LinkedNode.with(chain.params);
  const { out } = connect(late, empty);
  await until('the first to be asked for headers', [empty, late], () => late.peer(out)?.sync.started === true);
  connect(full, late);
  await until('the handshake', [full, late], () =>
    [...late.peers.peers()].every((peer) => peer.negotiated.established),
  );
  // The announcement of a new block reveals the others.
  chain.mine(1);
  await full.node.take([chain.tip]);
  await until('the tip', [full, empty, late], () => late.tip === tipOf(chain));
}, 180_000);

// Requesting the headers of the whole chain from every announcing peer would waste bandwidth.
test('before the first headers, each new block triggers a header request to one more peer', async () => {
  await using node = await LinkedNode.with(regtest);
  const ends: ScriptedEnd[] = [];
  for (let i = 0; i < 5; i++) ends.push(await ScriptedEnd.join(node, { relay: false }));
  const asked = () => ends.map((end) => end.of('getheaders').length);
  expect(asked()).toEqual([1, 0, 0, 0, 0]);
  const announce = async (n: number) => {
    const items = [{ kind: INVENTORY.block, hash: new Uint8Array(32).fill(n) }];
    for (const end of ends) end.send('inv', { items });
    for (const end of ends) await end.heard(BigInt(n));
  };
  await announce(1);
  expect(asked()).toEqual([1, 1, 0, 0, 0]);
  await announce(1);
  await announce(2);
  expect(asked()).toEqual([1, 1, 1, 0, 0]);
});

test('headers may be requested again at once from a peer whose chain had too little work', async () => {
  const params = { ...regtest, consensus: { ...regtest.consensus, minimumChainWork: 2n ** 40n } };
  await using node = await LinkedNode.with(params);
  const end = await ScriptedEnd.join(node, { relay: false });
  const { hash, header } = new RegtestChain().tip;
  const headers = headersAfter({ hash, time: header.time }, 2010, header.merkleRoot);
  end.send('headers', { headers: headers.slice(0, 2000) });
  await end.heard(1n);
  expect(end.of('getheaders').at(-1)!.locator[0]).toEqual(headerHash(headers[1999]!));
  end.send('headers', { headers: headers.slice(2000) });
  await end.heard(2n);
  const before = end.of('getheaders').length;
  // It announced a block with an unknown parent.
  const [stray] = headersAfter(
    { hash: header.merkleRoot as Uint8Array as BlockHash, time: header.time },
    1,
    header.merkleRoot,
  );
  end.send('headers', { headers: [stray!] });
  await end.heard(3n);
  expect(end.of('getheaders').length).toBe(before + 1);
});

// BIP-159: it has the last 288 blocks, but the first ones are needed.
test.each([
  ['all blocks', OUR_SERVICES, 16],
  ['the last blocks', SERVICES.networkLimited | SERVICES.witness, 0],
])(
  'during initial block download the number of blocks requested from a peer that serves %s is limited',
  async (_what, services, count) => {
    const chain = recentChain(60);
    await using node = await LinkedNode.with(chain.params);
    const end = await ScriptedEnd.join(node, { services });
    end.send('headers', { headers: chain.blocks.slice(1).map(({ block }) => block.header) });
    await until('the headers', [node], () => node.node.chain.bestHeader.height === 60);
    await end.heard(1n);
    expect(end.of('getdata').flatMap(({ items }) => items)).toHaveLength(count);
  },
);

// The timeout of a block is ten minutes; afterwards it is requested from another peer.
test('a peer that announces blocks and serves none is disconnected, and another one serves them', async () => {
  const blocks = oldChain(160, { payments: 2 }).blocks.slice(1);
  const headers = blocks.map(({ header }) => header);
  const nowMs = (headers.at(-1)!.time + 3600) * 1000;
  await using good = await LinkedNode.with(regtest, blocks, { nowMs, verifier: trustingVerifier });
  await using late = await LinkedNode.with(regtest, [], { nowMs });
  const nodes = [good, late];
  const stalling = await ScriptedEnd.join(late, { type: 'outbound-full-relay' });
  stalling.send('headers', { headers });
  await until('the first blocks to be asked for', nodes, () => stalling.of('getdata').length > 0);
  const { in: inbound } = connect(late, good);
  const given = () => inbound.sentTypes.filter((type) => type === 'block').length;
  // The mock clock stands still, however long it takes.
  await until('the others', [], () => given() === 160 - 16);
  const first = headers.slice(0, 16).map((header) => hashToHex(headerHash(header)));
  expect(stalling.of('getdata').flatMap(({ items }) => items.map(({ hash }) => hashToHex(hash)))).toEqual(first);
  expect(late.node.chain.height).toBe(0);
  expect(stalling.in.closed).toBe(false);
  await until('the end of the first', nodes, () => stalling.in.closed, { stepMs: 5000 });
  await until('the tip', nodes, () => late.tip === good.tip, { stepMs: 100 });
  expect(stalling.in.reason).toBe('block download timeout');
  expect([given(), late.node.chain.height]).toEqual([160, 160]);
}, 180_000);

test('a chain longer than one headers message is downloaded from two peers at once', async () => {
  const chain = recentChain(2100, { spacing: 600 });
  // Connected in initial block download, which commits many blocks at once; the second node has a copy.
  await using filled = new TestNode({ params: chain.params, verifier: trustingVerifier });
  await filled.take(chain.blocks.slice(1));
  await filled.close();
  await using a = await LinkedNode.with(chain.params, [], { from: filled.dir });
  await using b = await LinkedNode.with(chain.params, [], { from: filled.dir });
  await using empty = await LinkedNode.with(chain.params);
  const links = [connect(empty, a), connect(empty, b)];
  await until('the tip', [a, b, empty], () => empty.tip === tipOf(chain));
  for (const { in: inbound } of links)
    expect(inbound.sentTypes.filter((type) => type === 'block').length).toBeGreaterThan(100);
}, 180_000);

test('two nodes with different branches converge on the one with more work', async () => {
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

test('a new block reaches all nodes in a line, at last as a compact block', async () => {
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
