import { expect, test } from 'bun:test';
import { transactionBytes, txidOf } from '../../src/primitives/transaction.ts';
import { chainWithCoins, type RegtestChain } from '../lib/chain-builder.ts';
import { parsed } from '../lib/mempool-fixture.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import { connect, LinkedNode, until } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const NO_LIMITS = { maxFeerate: null, maxBurn: 2_100_000_000_000_000 } as const;
const recent = () => ({ startTime: Math.floor(Date.now() / 1000) - 200 * 60, spacing: 60 });

async function line(count: number, coins = 3) {
  const chain = chainWithCoins(coins, 'p2wpkh', recent());
  const nodes: LinkedNode[] = [];
  for (let i = 0; i < count; i++) nodes.push(await LinkedNode.with(chain.params, chain.blocks.slice(1)));
  for (let i = 1; i < count; i++) connect(nodes[i]!, nodes[i - 1]!);
  const all = () =>
    nodes.every((node) => [...node.peers.peers()].every((peer) => (peer.tx?.nextAnnouncementAt ?? 0) > 0));
  await until('handshakes', nodes, all);
  return { chain, nodes };
}

/** A transaction, and one that spends its output. */
function family(chain: RegtestChain) {
  const coin = chain.coin(1);
  const parent = spend(coin, [{ to: lockOf('p2wpkh', 0), value: coin.output.value - 10_000n }]);
  const outpoint = { txid: txidOf(parent), vout: 0 };
  const child = spend({ outpoint, output: parent.outputs[0]!, position: coin.position }, [
    { to: lockOf('p2wpkh', 1), value: parent.outputs[0]!.value - 10_000n },
  ]);
  return { parent, child };
}

async function close(nodes: readonly LinkedNode[]): Promise<void> {
  for (const node of nodes) await node[Symbol.asyncDispose]();
}

test('a transaction submitted at one end of a line reaches the other', async () => {
  const { chain, nodes } = await line(3);
  try {
    const coin = chain.coin(1);
    const tx = spend(coin, [{ to: lockOf('p2wpkh', 1), value: coin.output.value - 10_000n }]);
    const result = await nodes[0]!.mempool.submissions.broadcast(transactionBytes(tx), NO_LIMITS);
    expect(result).toMatchObject({ status: 'accepted', relayedTo: 1 });
    expect(nodes[0]!.mempool.relay.unbroadcast()).toHaveLength(1);
    await until('the transaction', nodes, () => nodes[2]!.mempool.has(txidOf(tx)));
    expect(nodes[0]!.mempool.relay.unbroadcast()).toHaveLength(0);
  } finally {
    await close(nodes);
  }
});

test("an orphan's parent is requested", async () => {
  const { chain, nodes } = await line(2);
  const [a, b] = nodes as [LinkedNode, LinkedNode];
  try {
    const { parent, child } = family(chain);
    // Acts as if the announcement of the parent was lost.
    const peer = [...a.peers.peers()][0]!;
    peer.tx!.known.insert(parsed(parent).wtxid);
    await a.mempool.submissions.broadcast(transactionBytes(parent), NO_LIMITS);
    await a.mempool.submissions.broadcast(transactionBytes(child), NO_LIMITS);
    await until('both', nodes, () => b.mempool.has(txidOf(child)) && b.mempool.has(txidOf(parent)));
  } finally {
    await close(nodes);
  }
});

test('an orphan whose parent arrives in a block is accepted without further messages', async () => {
  const chain = chainWithCoins(1, 'p2wpkh', recent());
  await using node = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  const end = await ScriptedEnd.join(node);
  const { parent, child } = family(chain);
  end.sendPayload('tx', transactionBytes(child));
  await until('the parent to be asked for', [node], () => end.of('getdata').length > 0);
  expect(node.mempool.has(txidOf(child))).toBe(false);
  chain.mine(1, { txs: [parent] });
  await node.node.take([chain.tip]);
  await until('the child', [node], () => node.mempool.has(txidOf(child)), { timeoutMs: 3000 });
});

test('a block of transactions in both mempools is relayed without any transaction', async () => {
  const { chain, nodes } = await line(2);
  const [a, b] = nodes as [LinkedNode, LinkedNode];
  try {
    // The first block puts the peer into high-bandwidth mode.
    for (let i = 0; i < 2; i++) {
      chain.mine(1);
      await a.node.take([chain.tip]);
      await until('a block', nodes, () => b.tip === a.tip);
    }
    const coin = chain.coin(1);
    const tx = spend(coin, [{ to: lockOf('p2wpkh', 1), value: coin.output.value - 10_000n }]);
    await a.mempool.submissions.broadcast(transactionBytes(tx), NO_LIMITS);
    await until('the transaction', nodes, () => b.mempool.has(txidOf(tx)));
    chain.mine(1, { txs: [tx] });
    await a.node.take([chain.tip]);
    await until('the block', nodes, () => b.tip === a.tip);
    expect(b.mempool.has(txidOf(tx))).toBe(false);
    const link = [...b.peers.peers()][0]!.link as unknown as { sentTypes: string[] };
    expect(link.sentTypes).not.toContain('getblocktxn');
    // A transaction that the other node does not have is requested by its position.
    const unknown = spend(chain.coin(2), [{ to: lockOf('p2wpkh', 1), value: chain.coin(2).output.value - 10_000n }]);
    chain.mine(1, { txs: [unknown] });
    await a.node.take([chain.tip]);
    await until('the block', nodes, () => b.tip === a.tip);
    expect(link.sentTypes).toContain('getblocktxn');
  } finally {
    await close(nodes);
  }
});
