import { afterAll, expect, test } from 'bun:test';
import type { PeerView } from '../../../src/port/peer-view.ts';
import { describeWithVectors, idleNode, mixedChainDir, startTestApi } from '../../lib/chain-api.ts';
import { readVectorJson } from '../../lib/vectors.ts';

const PEER: PeerView = {
  id: 3,
  address: '192.0.2.1:8333',
  network: 'ipv4',
  inbound: false,
  connectionType: 'outbound-full-relay',
  transport: 'v1',
  services: '0000000000000409',
  servicesNames: ['NETWORK', 'WITNESS', 'NETWORK_LIMITED'],
  version: 70016,
  userAgent: '/Satoshi:31.0.0/',
  connectedAt: 1_700_000_000,
  lastSend: 1_700_000_010,
  lastRecv: 1_700_000_011,
  bytesSent: 1000,
  bytesRecv: 2000,
  pingMs: 12.5,
  minPingMs: null,
  timeOffset: -1,
  startingHeight: 160,
  syncedHeaders: 160,
  syncedBlocks: 160,
  relayTxs: true,
  minFeeFilter: 0.1,
  permissions: [],
  details: {
    established: true,
    addressBind: '192.0.2.9:51000',
    addressLocal: null,
    sessionId: '',
    lastTransaction: 1_700_000_009,
    lastBlock: 1_700_000_008,
    bytesSentByType: { ping: 32 },
    bytesRecvByType: { '*other*': 24 },
    pingWaitMs: 1500,
    presyncedHeaders: -1,
    inFlight: [161],
    lastInvSequence: 5,
    invToSend: 2,
    compactBlocksTo: true,
    compactBlocksFrom: false,
    addrRelay: true,
    addrProcessed: 4,
    addrRateLimited: 1,
    mappedAs: 0,
  },
};

describeWithVectors('a node with peers', () => {
  const mapped = { ...PEER.details, mappedAs: 64_496 };
  const peers = [PEER, { ...PEER, id: 4, inbound: true, pingMs: null, details: mapped }];
  const node = idleNode({ peers: { inbound: 1, outbound: 1 } }, peers);
  const api = startTestApi(mixedChainDir(), { node });
  afterAll(() => api.close());

  test('REST lists the peers', async () => {
    const items = peers.map(({ details, ...peer }) => peer);
    expect(await api.json('/api/peers')).toEqual({ count: 2, inbound: 1, outbound: 1, items });
    expect(await api.json('/api/info')).toMatchObject({ peers: 2, peersInbound: 1, peersOutbound: 1 });
  });

  test('JSON-RPC lists the peers with the members of Bitcoin Core', async () => {
    expect(await api.rpc<number>('getconnectioncount')).toBe(2);
    expect(await api.rpc<object>('getnetworkinfo')).toMatchObject({
      connections: 2,
      connections_in: 1,
      connections_out: 1,
    });
    const infos = await api.rpc<Record<string, unknown>[]>('getpeerinfo');
    expect(infos[0]).toMatchObject({
      id: 3,
      addr: PEER.address,
      pingtime: 0.0125,
      minfeefilter: 0.000001,
      subver: PEER.userAgent,
      addrbind: '192.0.2.9:51000',
      last_block: 1_700_000_008,
      pingwait: 1.5,
      inflight: [161],
      inv_to_send: 2,
      bip152_hb_to: true,
      bytesrecv_per_msg: { '*other*': 24 },
    });
    expect(infos[0]).not.toHaveProperty('mapped_as');
    expect(infos[1]).toHaveProperty('mapped_as', 64_496);
    expect(infos[1]).not.toHaveProperty('pingtime');
    const { methods } = readVectorJson<{
      methods: { name: string; result: { schema: { items: { properties: object; required: string[] } } } }[];
    }>('core-rpc/openrpc-structure.json');
    const { properties, required } = methods.find(({ name }) => name === 'getpeerinfo')!.result.schema.items;
    for (const info of infos) {
      expect(Object.keys(info).filter((key) => !(key in properties))).toEqual([]);
      expect(required.filter((key) => !(key in info))).toEqual([]);
    }
  });
});
