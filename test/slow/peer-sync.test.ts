import { describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { HEADER_SIZE, headerFromBytes } from '../../src/primitives/header.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { ListeningPeer } from '../lib/listening-peer.ts';
import type { Info } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess } from '../lib/node-process.ts';
import { generate, hashOfTip, peerInfo, peersOf, sameCoins, sameTip, startPeer } from '../lib/peer-node.ts';
import { oldChain, recentChain } from '../lib/sample-chains.ts';

cleanUpAfterTests({ each: true });

const header = (raw: Uint8Array) => headerFromBytes(raw.subarray(0, HEADER_SIZE));

/** Headers of a node's chain from height 1 on, in one request. */
async function headersOf(node: NodeProcess) {
  const { height } = await node.api.json<{ height: number }>('/api/info');
  const hashes = await batch<string>(
    node,
    'getblockhash',
    Array.from({ length: height }, (_, i) => [i + 1]),
  );
  const headers = await batch<string>(
    node,
    'getblockheader',
    hashes.map((hash) => [hash, false]),
  );
  return headers.map((hex) => header(Uint8Array.fromHex(hex)));
}

/** Whether it has the block, connected or not. */
async function hasBlock(node: NodeProcess, hash: string): Promise<boolean> {
  return (await node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'getblock', params: [hash, 0] })).text.includes(
    'result',
  );
}

async function batch<T>(node: NodeProcess, method: string, calls: unknown[][]): Promise<T[]> {
  const { body } = await node.api.rpcBody<{ result: T }[]>(
    calls.map((params, id) => ({ jsonrpc: '2.0', id, method, params })),
  );
  return body.map(({ result }) => result);
}

describe('one of two peers announces blocks and serves none', () => {
  // The first sixteen of the 160 blocks are asked of it, so that no block can be connected while it is there.
  test('all blocks come from the other when it disconnects', async () => {
    const good = await startPeer([], { datadir: await directoryWith(oldChain(160, { payments: 2 })) });
    // The chain ends at the present: a node that knows its headers asks every peer for theirs.
    const [last] = await generate(good.node, 1);
    using stalling = new ListeningPeer({ headers: await headersOf(good.node) });
    const { node } = await startPeer([stalling.address], { args: ['--p2p.v2=false'] });
    // It is asked for the first blocks only if the other one has not delivered them before it connects.
    await node.until('requests for the first blocks', () => stalling.asked === 16);
    await node.api.rpc('addnode', [good.address, 'add']);
    await node.until('all blocks but those that the other was asked for', async () => {
      const peers = await peerInfo(node);
      const busy = peers.filter(({ inflight }) => inflight.length > 0);
      return busy.length === 1 && busy[0]!.addr === stalling.address && hasBlock(node, last!);
    });
    expect(await peerInfo(node)).toHaveLength(2);
    expect(stalling.asked).toBe(16);
    expect((await node.api.json<Info>('/api/info')).height).toBeLessThan(161 - 16);
    stalling.hangUp();
    await sameTip([node, good.node], last);
    await node.until('the end of the sync', async () => (await node.api.json<Info>('/api/info')).synced);
    expect(await node.api.json<object>('/api/info')).toMatchObject({ height: 161 });
    await sameCoins(node, good.node, 161);
    await Promise.all([node.stop(), good.node.stop()]);
  });

  // No peer may hold up the window of 1024 blocks for longer than two seconds.
  test('it is disconnected when everything else is there', async () => {
    const chain = recentChain(1100, { spacing: 3600 });
    const good = await startPeer([], { datadir: await directoryWith(chain) });
    using stalling = new ListeningPeer({ headers: chain.blocks.slice(1).map((block) => block.header) });
    const { node } = await startPeer([stalling.address], { args: ['--p2p.v2=false'] });
    // It is asked for the first blocks only if the other one has not delivered them before it connects.
    await node.until('requests for the first blocks', () => stalling.asked === 16);
    await node.api.rpc('addnode', [good.address, 'add']);
    await sameTip([node], hashOfTip(chain));
    expect(stalling.gone).toBe(true);
    expect(node.stderr).toContain('"reason":"block download stalled"');
    await Promise.all([node.stop(), good.node.stop()]);
  });
});

test('a block of a weaker branch is fetched on request only', async () => {
  const chain = recentChain(20);
  const branch = chain.fork(17);
  branch.mine(2);
  const weak = await startPeer([], { datadir: await directoryWith(branch) });
  const strong = await startPeer([weak.address], { datadir: await directoryWith(chain) });
  const { node } = strong;
  await peersOf(node, 1);
  const hash = hashOfTip(branch);
  const [active, side] = await node.until('the headers of the branch', async () => {
    const tips = await node.api.rpc<{ hash: string; status: string }[]>('getchaintips');
    return tips.length === 2 && tips;
  });
  expect(active).toMatchObject({ hash: hashOfTip(chain), status: 'active' });
  expect(side).toEqual({ height: 19, hash, branchlen: 2, status: 'headers-only' } as object as typeof side);
  const parent = hashToHex(branch.at(18).hash);
  const [peer] = await peerInfo(node);
  for (const one of [parent, hash]) {
    expect(await node.api.rpc<object>('getblockfrompeer', [one, peer!.id])).toEqual({});
    await node.until('the block', async () => (await node.api.rpc<string>('getblock', [one, 0])).length > 0);
  }
  expect(await node.api.rpc<object[]>('getchaintips')).toContainEqual({
    height: 19,
    hash,
    branchlen: 2,
    status: 'valid-headers',
  });
  const errors: [unknown[], string][] = [
    [[hash, peer!.id], 'Block already downloaded'],
    [['11'.repeat(32), peer!.id], 'Block header missing'],
  ];
  for (const [params, message] of errors)
    await expect(node.api.rpc('getblockfrompeer', params)).rejects.toThrow(message);
  await Promise.all([node.stop(), weak.node.stop()]);
});
