import { describe, expect, test } from 'bun:test';
import { directoryWith } from '../lib/chain-directory.ts';
import { cleanUpAfterTests } from '../lib/node-process.ts';
import { generate, hashOfTip, peerInfo, peersOf, sameTip, startPeer, tipOf } from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';

cleanUpAfterTests({ each: true });

test('a late joiner syncs from two peers; blocks and reorgs reach all', async () => {
  const chain = recentChain(120, { payments: 2 });
  const a = await startPeer([], { datadir: await directoryWith(chain) });
  const b = await startPeer([a.address], { datadir: await directoryWith(chain) });
  await peersOf(b.node, 1);
  const late = await startPeer([a.address, b.address]);
  await sameTip([a.node, b.node, late.node], hashOfTip(chain));
  await generate(late.node, 3);
  const tip = await tipOf(late.node);
  await sameTip([a.node, b.node, late.node], tip);
  const peers = await late.node.api.rpc<{ transport_protocol_type: string; connection_type: string }[]>('getpeerinfo');
  expect(peers).toMatchObject([
    { transport_protocol_type: 'v2', connection_type: 'manual' },
    { transport_protocol_type: 'v2', connection_type: 'manual' },
  ]);
});

describe('nodes with and without v2 connect to each other', () => {
  test.each([
    ['v1 dials v2', false, true],
    ['v2 dials v1', true, false],
    ['v2 dials v2', true, true],
  ])('%s', async (_case, dialler, listener) => {
    const a = await startPeer([], { args: [`--p2p.v2=${listener}`] });
    const b = await startPeer([a.address], { args: [`--p2p.v2=${dialler}`] });
    await generate(a.node, 2);
    await sameTip([a.node, b.node], await tipOf(a.node));
    const protocol = dialler && listener ? 'v2' : 'v1';
    for (const { node } of [a, b]) {
      const [peer, ...others] = await peerInfo(node);
      expect([peer!.transport_protocol_type, others]).toEqual([protocol, []]);
    }
    await generate(b.node, 1);
    await sameTip([a.node, b.node], await tipOf(b.node));
    await Promise.all([a.node.stop(), b.node.stop()]);
  });
});
