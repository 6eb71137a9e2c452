import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { cleanUpAfterTests, freePort, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { generate, type PeerInfo, peerInfo, peersOf, rpcError, sameTip, startPeer, tipOf } from '../lib/peer-node.ts';

cleanUpAfterTests({ each: true });

interface Banned {
  readonly address: string;
  readonly ban_duration: number;
}

const banned = (node: NodeProcess) => node.api.rpc<Banned[]>('listbanned');

/** Two nodes, of which the second dials the first. */
async function pair(args: readonly string[] = []): Promise<[NodeProcess, NodeProcess, string]> {
  const a = await startPeer([], { args });
  const b = await startPeer([a.address]);
  await Promise.all([peersOf(a.node, 1), peersOf(b.node, 1)]);
  return [a.node, b.node, a.address];
}

/** Waits for a peer that was not there before. */
function newPeer(node: NodeProcess, old: number): Promise<PeerInfo> {
  return node.until('another connection', async () => {
    const [peer] = await peerInfo(node);
    return peer !== undefined && peer.id > old && peer.version > 0 && peer;
  });
}

test('a restart keeps bans, and forgets added nodes', async () => {
  const other = await startPeer();
  const datadir = tempDir();
  const p2pPort = await freePort();
  const { node } = await startPeer([], { datadir, p2pPort });
  await node.api.rpc('addnode', [other.address, 'add']);
  await peersOf(node, 1);
  expect(await node.api.rpc<object[]>('getaddednodeinfo')).toEqual([
    {
      addednode: other.address,
      connected: true,
      addresses: [{ address: other.address, connected: 'outbound' }],
    },
  ]);
  await node.api.rpc('setban', ['198.51.100.0/24', 'add', 1000]);
  await node.api.rpc('setban', ['2001:db8::1', 'add']);
  const bans = await banned(node);
  expect(bans).toMatchObject([
    { address: '198.51.100.0/24', ban_duration: 1000 },
    { address: '2001:db8::1/128', ban_duration: 86_400 },
  ]);
  expect((await node.stop()).status).toBe(0);

  const again = (await startPeer([], { datadir, p2pPort })).node;
  const remembered = await banned(again);
  expect(remembered.map(({ address }) => address).sort()).toEqual(bans.map(({ address }) => address).sort());
  expect(await again.api.rpc<object[]>('getaddednodeinfo')).toEqual([]);
  expect(await rpcError(again, 'getaddednodeinfo', [other.address])).toEqual({
    code: -24,
    message: 'Error: Node has not been added.',
  });
  expect(await again.api.rpc<number>('getconnectioncount')).toBe(0);
  await again.api.rpc('clearbanned');
  expect(await banned(again)).toEqual([]);
});

describe('two connected nodes', () => {
  let a: NodeProcess;
  let b: NodeProcess;
  let address: string;
  beforeAll(async () => {
    [a, b, address] = await pair();
  });
  beforeEach(() => Promise.all([peersOf(a, 1), peersOf(b, 1)]));

  test('the network is switched off and on', async () => {
    expect(await a.api.rpc<boolean>('setnetworkactive', [false])).toBe(false);
    // The state changes at once, though the main thread is notified only about once a second.
    expect(await a.api.rpc<object>('getnetworkinfo')).toMatchObject({ networkactive: false, connections: 0 });
    expect(await a.api.rpc<number>('getconnectioncount')).toBe(0);
    await Promise.all([peersOf(a, 0), peersOf(b, 0)]);
    const [mined] = await generate(a, 1);
    expect(await a.api.rpc<boolean>('setnetworkactive', [true])).toBe(true);
    await sameTip([a, b], mined!);
  });

  describe('disconnectnode', () => {
    test('disconnects by number, and by address', async () => {
      const [[inbound], [outbound]] = await Promise.all([peerInfo(a), peerInfo(b)]);
      expect(outbound!.addr).toBe(address);
      await a.api.rpc('disconnectnode', { nodeid: inbound!.id });
      // Whom an operator dials is dialled again.
      const second = await newPeer(b, outbound!.id);
      await b.api.rpc('disconnectnode', [address]);
      const third = await newPeer(b, second.id);
      await b.api.rpc('disconnectnode', ['', third.id]);
      await newPeer(b, third.id);
    });

    test('of an unknown peer is refused', async () => {
      const nobody = { code: -29, message: 'Node not found in connected nodes' };
      expect(await rpcError(a, 'disconnectnode', ['127.0.0.1:9'])).toEqual(nobody);
      expect(await rpcError(a, 'disconnectnode', ['', 999])).toEqual(nobody);
      const both = { code: -32602, message: 'Only one of address and nodeid should be provided.' };
      expect(await rpcError(a, 'disconnectnode', ['127.0.0.1:9', 1])).toEqual(both);
      expect(await rpcError(a, 'disconnectnode', [])).toEqual(both);
      await peersOf(a, 1);
    });
  });

  test('bytes are counted, and pings timed', async () => {
    interface Totals {
      readonly totalbytesrecv: number;
      readonly totalbytessent: number;
    }
    const before = await a.api.rpc<Totals>('getnettotals');
    expect(before.totalbytessent).toBeGreaterThan(0);
    await generate(a, 5);
    await sameTip([a, b], await tipOf(a));
    const after = await a.api.rpc<Totals>('getnettotals');
    expect(after.totalbytessent).toBeGreaterThan(before.totalbytessent + 5 * 80);
    expect(after.totalbytesrecv).toBeGreaterThan(before.totalbytesrecv);
    await a.api.rpc('ping');
    const timed = await a.until('a ping time', async () => {
      const [peer] = await peerInfo(a);
      return peer?.pingtime !== undefined && peer;
    });
    expect(timed.pingtime).toBeWithin(0, 5);
    expect(timed.bytesrecv).toBeGreaterThan(0);
  });
});

test('a banned subnet is disconnected and refused, until the ban is lifted', async () => {
  const [a, b] = await pair(['--log.level=debug']);
  await a.api.rpc('setban', ['127.0.0.0/8', 'add']);
  await Promise.all([peersOf(a, 0), peersOf(b, 0)]);
  // For an address the method answers whether any ban covers it, for a subnet whether it is listed.
  for (const known of ['127.0.0.0/8', '127.0.0.1'])
    expect(await rpcError(a, 'setban', [known, 'add'])).toEqual({
      code: -23,
      message: 'Error: IP/Subnet already banned',
    });
  const [mined] = await generate(a, 1);
  // It continues to dial, and is refused each time.
  await a.until('a refused connection', () => a.stderr.includes('"reason":"banned"'));
  expect(await tipOf(b)).not.toBe(mined!);
  expect(await peerInfo(a)).toEqual([]);
  await a.api.rpc('setban', ['127.0.0.0/8', 'remove']);
  await sameTip([a, b], mined!);
  expect(await rpcError(a, 'setban', ['127.0.0.0/8', 'remove'])).toMatchObject({ code: -30 });
  expect(await rpcError(a, 'setban', ['127.0.0.0/99', 'add'])).toEqual({
    code: -30,
    message: 'Error: Invalid IP/Subnet',
  });
});

// Core's words for a node that was started without connections.
test('without peers the methods of the network report none', async () => {
  const node = await startNode({ args: ['--p2p.enabled=false'] });
  const disabled = { code: -31, message: 'Error: Peer-to-peer functionality missing or disabled' };
  const calls: [string, unknown[]][] = [
    ['addnode', ['127.0.0.1:1', 'add']],
    ['addnode', ['127.0.0.1:1', 'onetry']],
    ['getaddednodeinfo', []],
    ['disconnectnode', ['127.0.0.1:1']],
    ['setban', ['127.0.0.1', 'add']],
    ['ping', []],
    ['setnetworkactive', [true]],
    ['getnodeaddresses', []],
    ['getblockfrompeer', ['00'.repeat(32), 0]],
  ];
  for (const [method, params] of calls)
    expect([method, await rpcError(node, method, params)]).toEqual([method, disabled]);
  expect(await node.api.rpc<unknown[]>('getpeerinfo')).toEqual([]);
  expect(await node.api.rpc<object>('getnetworkinfo')).toMatchObject({ networkactive: false, connections: 0 });
  expect(await node.api.rpc<object>('getnettotals')).toMatchObject({ totalbytesrecv: 0, totalbytessent: 0 });
});
