import { expect, test } from 'bun:test';
import { printService } from '../../src/p2p/address/address-text.ts';
import type { PeerAddress } from '../../src/p2p/address/net-address.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { ListeningPeer } from '../lib/listening-peer.ts';
import { broadcast, idOf, mempoolLoaded } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, copyDatadir, type NodeProcess } from '../lib/node-process.ts';
import {
  generate,
  hashOfTip,
  mempoolOf,
  peerInfo,
  peersOf,
  sameMempool,
  sameTip,
  startFreePeer,
  startPeer,
} from '../lib/peer-node.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { SocksProxy } from '../lib/socks-proxy.ts';
import { sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests({ each: true });

const FULL_RELAY = 8;
const BLOCK_RELAY = 2;
/** Messages that carry transactions or addresses, or ask for them. */
const GOSSIP = new Set(['inv', 'tx', 'feefilter', 'mempool', 'getaddr', 'addr', 'addrv2']);

/** Addresses in different networks, where v2 is spoken. */
function addressesInTheWorld(count: number): PeerAddress[] {
  const time = Math.floor(Date.now() / 1000) - 3600;
  const services = 1n | (1n << 3n) | (1n << 11n);
  return Array.from({ length: count }, (_, i) => ({
    time,
    services,
    address: { network: 'ipv4', bytes: Uint8Array.of(20 + (i >> 4), 10 + (i & 15), 1, 1) },
    port: 18444,
  }));
}

async function outbound(node: NodeProcess, type: string) {
  const peers = await peerInfo(node);
  return peers.filter(({ connection_type, version }) => connection_type === type && version > 0);
}

test('a node that knows one peer discovers others, eight for full relay and two for blocks alone, and finds these again', async () => {
  const chain = recentChain(110);
  const datadir = await directoryWith(chain);
  const world = addressesInTheWorld(80);
  using source = new ListeningPeer({ addresses: world });
  // Announcements to this peer are not delayed: if it has not sent one by now, it will not send it later.
  const trusting = ['--p2p.permissions=noban,in,out@127.0.0.1'];
  const hub = await startPeer([source.address], { datadir: copyDatadir(datadir), args: trusting });
  const behind = await startPeer([], { datadir, args: trusting });
  await hub.node.until(
    'the addresses',
    async () => (await hub.node.api.rpc<unknown[]>('getnodeaddresses', [0])).length > 70,
  );

  // The first peers that are dialled are asked for everything, the next two for blocks alone.
  using proxy = await SocksProxy.listen((_target, count) => (count < FULL_RELAY ? hub.address : behind.address));
  const peer = await startFreePeer({ args: [`--p2p.proxy=${proxy.address}`] });
  const { node } = peer;
  expect(await node.api.rpc<unknown[]>('getnodeaddresses', [0])).toEqual([]);
  await node.api.rpc('addnode', [hub.address, 'onetry']);
  await sameTip([node], hashOfTip(chain));
  // One answer is no more than a share of what a node knows, so that no peer learns all of it.
  const texts = new Set(world.map(printService));
  const learnt = await node.until('addresses', async () => {
    const all = await node.api.rpc<{ address: string; port: number }[]>('getnodeaddresses', [0]);
    return all.length > 0 && all;
  });
  expect(learnt.length).toBeWithin(FULL_RELAY + BLOCK_RELAY, (world.length * 23) / 100 + 1);
  for (const { address, port } of learnt) expect(texts).toContain(`${address}:${port}`);

  await node.until(
    'all outbound connections',
    async () =>
      (await outbound(node, 'outbound-full-relay')).length === FULL_RELAY &&
      (await outbound(node, 'block-relay-only')).length === BLOCK_RELAY,
  );
  expect(new Set(proxy.targets).size).toBe(proxy.targets.length);
  await peersOf(behind.node, BLOCK_RELAY);
  await Promise.all([node, hub.node, behind.node].map(mempoolLoaded));

  const [near, far] = [chain.coin(1), chain.coin(2)].map((coin) => sweep(coin, 'p2tr'));
  expect(await broadcast(behind.node.api, far!)).toMatchObject({ relayedTo: 0 });
  await broadcast(hub.node.api, near!);
  await sameMempool([hub.node, node], [idOf(near!)]);
  expect(await mempoolOf(behind.node)).toEqual([idOf(far!)]);
  // Before that, blocks are announced by inv.
  for (const one of [node, behind.node])
    await one.until('announcements by headers', async () =>
      (await peerInfo(one))
        .filter(({ relaytxes }) => !relaytxes)
        .every(
          ({ bytessent_per_msg: sent, bytesrecv_per_msg: received }) =>
            'sendheaders' in sent && 'sendheaders' in received && 'headers' in { ...sent, ...received },
        ),
    );
  // Blocks go both ways, those included whose transactions the other side has never seen.
  for (const miner of [behind.node, hub.node]) {
    const [mined] = await generate(miner, 1);
    await sameTip([node, hub.node, behind.node], mined!);
  }
  await sameMempool([hub.node, node, behind.node], []);
  for (const one of [node, behind.node]) {
    const links = (await peerInfo(one)).filter(({ relaytxes }) => !relaytxes);
    expect(links).toHaveLength(BLOCK_RELAY);
    for (const { bytessent_per_msg: sent, bytesrecv_per_msg: received } of links)
      expect([...Object.keys(sent), ...Object.keys(received)].filter((type) => GOSSIP.has(type))).toEqual([]);
  }

  const anchors = (await outbound(node, 'block-relay-only')).map(({ addr }) => addr).sort();
  expect((await node.stop()).status).toBe(0);
  const dialled = proxy.targets.length;
  proxy.route = () => behind.address;
  const again = await peer.again();
  await again.node.until(
    'block-relay-only peers',
    async () => (await outbound(again.node, 'block-relay-only')).length === BLOCK_RELAY,
  );
  expect(proxy.targets.slice(dialled, dialled + BLOCK_RELAY).sort()).toEqual(anchors);
  expect((await outbound(again.node, 'block-relay-only')).map(({ addr }) => addr).sort()).toEqual(anchors);

  // They are written when it stops and forgotten when they are read, so that after a crash it begins anew.
  await again.node.stop('SIGKILL');
  const last = await again.again();
  const [first] = await last.node.until('a peer', async () => {
    const peers = await peerInfo(last.node);
    return peers.length > 0 && peers;
  });
  expect(first!.connection_type).toBe('outbound-full-relay');
  await Promise.all([last, hub, behind].map(({ node }) => node.stop()));
});
