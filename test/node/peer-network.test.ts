import { expect, test } from 'bun:test';
import { loadConfig, thisHost } from '../../src/config/load.ts';
import { PeerNetwork } from '../../src/node/peer-network.ts';
import { printService } from '../../src/p2p/address/address-text.ts';
import { systemClock } from '../../src/util/clock.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { freePort } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { SocksProxy } from '../lib/socks-proxy.ts';
import { listenAsPeer } from '../lib/test-peer.ts';
import { emptyDatabase } from '../p2p/connections/net-fixture.ts';
import { LinkedNode } from '../p2p/lib/linked-net.ts';

// The address is not configured; it is known from the peers alone, and only after they have connected.
test('a listening node announces the address at which its peers see it', async () => {
  const chain = recentChain(20);
  await using linked = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  const peers = listenAsPeer();
  using proxy = await SocksProxy.listen(() => peers.address);
  const port = await freePort();
  const flags = ['--network=regtest', `--p2p.listen=127.0.0.1:${port}`, `--p2p.onionProxy=${proxy.address}`];
  const network = new PeerNetwork(loadConfig(flags, { ...thisHost(), env: {} }).config, {
    chain: linked.node.chain,
    mempool: linked.mempool,
    database: emptyDatabase(),
    clock: systemClock,
    log: silentLog,
    onPeerChange: () => {},
  });
  network.start();
  try {
    // Only a peer with a globally reachable address is trusted to report where it sees the node.
    const onion = printService({ address: { network: 'onion', bytes: new Uint8Array(32).fill(7) }, port: 18_444 });
    const [link, peer] = await Promise.all([network.connections.connectTo(onion, 'manual', false), peers.next()]);
    expect(link).not.toBeNull();
    const seenAs = { address: { network: 'ipv4' as const, bytes: Uint8Array.of(8, 8, 8, 8) }, port: 4711 };
    await peer.handshake({ receiver: seenAs });
    const { addresses } = await peer.until('addrv2');
    expect(addresses.map(printService)).toEqual([`8.8.8.8:${port}`]);
    peer.close();
  } finally {
    await network.stop();
    peers.stop();
  }
});
