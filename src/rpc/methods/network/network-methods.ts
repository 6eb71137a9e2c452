import { coins, double } from '../../../http/core-number.ts';
import type { NetworkView } from '../../../port/node-calls.ts';
import type { PeerView } from '../../../port/peer-view.ts';
import type { BlockHash } from '../../../primitives/hash.ts';
import { EXAMPLE, example } from '../../engine/example.ts';
import { type MainThreadEnv, nodeMethod, type RpcMethod } from '../../engine/method.ts';
import { flagParam, hashParam, integerParam, optional, textParam } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, bool, int, mapOf, nil, obj, str, unixTime } from '../../engine/schema.ts';
import { NETWORK, PEER } from './network-schemas.ts';
import { operatorWarnings } from './operator-warnings.ts';

/** Version of Bitcoin Core whose interface this node follows. */
const CORE_VERSION = 310_000;
const PROTOCOL_VERSION = 70017;

const getpeerinfo = nodeMethod({
  name: 'getpeerinfo',
  category: 'network',
  help: 'Returns the connected peers.',
  params: [],
  result: arr(PEER),
  scope: 'read',
  run: async ({ ctx }) => (await ctx.node().call('peers')).map(peerView),
});

function peerView({ details, ...peer }: PeerView) {
  return {
    id: peer.id,
    addr: peer.address,
    ...(details.addressBind !== null && { addrbind: details.addressBind }),
    ...(details.addressLocal !== null && { addrlocal: details.addressLocal }),
    network: peer.network,
    ...(details.mappedAs !== 0 && { mapped_as: details.mappedAs }),
    services: peer.services,
    servicesnames: peer.servicesNames,
    relaytxes: peer.relayTxs,
    last_inv_sequence: details.lastInvSequence,
    inv_to_send: details.invToSend,
    lastsend: peer.lastSend,
    lastrecv: peer.lastRecv,
    last_transaction: details.lastTransaction,
    last_block: details.lastBlock,
    bytessent: peer.bytesSent,
    bytesrecv: peer.bytesRecv,
    conntime: peer.connectedAt,
    timeoffset: peer.timeOffset,
    ...(peer.pingMs !== null && { pingtime: double(peer.pingMs / 1000) }),
    ...(peer.minPingMs !== null && { minping: double(peer.minPingMs / 1000) }),
    ...(details.pingWaitMs !== null && { pingwait: double(details.pingWaitMs / 1000) }),
    version: peer.version,
    subver: peer.userAgent,
    inbound: peer.inbound,
    bip152_hb_to: details.compactBlocksTo,
    bip152_hb_from: details.compactBlocksFrom,
    presynced_headers: details.presyncedHeaders,
    synced_headers: peer.syncedHeaders,
    synced_blocks: peer.syncedBlocks,
    inflight: details.inFlight,
    addr_relay_enabled: details.addrRelay,
    addr_processed: details.addrProcessed,
    addr_rate_limited: details.addrRateLimited,
    permissions: peer.permissions,
    minfeefilter: coins(Math.round(peer.minFeeFilter * 1000)),
    bytessent_per_msg: details.bytesSentByType,
    bytesrecv_per_msg: details.bytesRecvByType,
    connection_type: peer.connectionType,
    transport_protocol_type: peer.transport,
    session_id: details.sessionId,
  };
}

const getconnectioncount = nodeMethod({
  name: 'getconnectioncount',
  category: 'network',
  help: 'Returns the number of connected peers.',
  params: [],
  result: int('inbound and outbound'),
  scope: 'read',
  run: async ({ ctx }) => {
    const { inbound, outbound } = (await ctx.node().call('network')).peers;
    return inbound + outbound;
  },
});

const getnetworkinfo = nodeMethod({
  name: 'getnetworkinfo',
  category: 'network',
  help: 'Returns the state of the peer-to-peer network.',
  params: [],
  result: NETWORK,
  scope: 'read',
  run: async (env) => networkInfo(env, await env.ctx.node().call('network')),
});

function networkInfo({ ctx: { options, node }, settings: { relay } }: MainThreadEnv, network: NetworkView) {
  const { inbound, outbound } = network.peers;
  return {
    version: CORE_VERSION,
    subversion: options.userAgent,
    protocolversion: PROTOCOL_VERSION,
    localservices: network.services,
    localservicesnames: network.serviceNames,
    localrelay: network.relaysTransactions,
    timeoffset: network.timeOffset,
    tx_send_rate: network.sendRate,
    inv_buckets:
      (network.announcements && {
        inbound: bucket(network.announcements.inbound),
        outbound: bucket(network.announcements.outbound),
      }) ??
      {},
    networkactive: network.active,
    connections: inbound + outbound,
    connections_in: inbound,
    connections_out: outbound,
    networks: network.networks.map(({ name, reachable, proxy, randomizesCredentials }) => ({
      name,
      limited: !reachable,
      reachable,
      proxy,
      proxy_randomize_credentials: randomizesCredentials,
    })),
    relayfee: coins(relay.minRelayFeerate),
    incrementalfee: coins(relay.incrementalFeerate),
    localaddresses: network.localAddresses,
    warnings: operatorWarnings(node().status()),
    softwareversion: options.version,
  };
}

function bucket({ backlog, countTokens, byteTokens }: NonNullable<NetworkView['announcements']>['inbound']) {
  return { backlog, count_tok: countTokens, size_tok: byteTokens };
}

const SECONDS_IN_A_DAY = 86_400;

const getnettotals = nodeMethod({
  name: 'getnettotals',
  category: 'network',
  help: 'Returns the traffic since the start of the node and the state of the upload target.',
  params: [],
  result: obj({
    totalbytesrecv: int('bytes'),
    totalbytessent: int('bytes'),
    timemillis: int('Unix milliseconds'),
    uploadtarget: obj(
      {
        timeframe: int('length of a cycle, seconds'),
        target: int('bytes per cycle; 0 for no limit'),
        target_reached: bool('whether the target is reached'),
        serve_historical_blocks: bool('whether old blocks are still served in this cycle'),
        bytes_left_in_cycle: int('bytes until the target is reached; 0 without a target'),
        time_left_in_cycle: int('seconds; 0 without a target'),
      },
      'limit of the bytes sent to peers (p2p.maxUpload)',
    ),
  }),
  scope: 'read',
  async run({ ctx }) {
    const traffic = await ctx.node().call('traffic');
    return {
      totalbytesrecv: traffic.received,
      totalbytessent: traffic.sent,
      timemillis: traffic.now,
      uploadtarget: {
        timeframe: SECONDS_IN_A_DAY,
        target: traffic.target,
        target_reached: traffic.targetReached,
        serve_historical_blocks: traffic.servesHistory,
        bytes_left_in_cycle: traffic.bytesLeft,
        time_left_in_cycle: traffic.secondsLeft,
      },
    };
  },
});

const ping = nodeMethod({
  name: 'ping',
  category: 'network',
  help: 'Sends a ping to every peer. getpeerinfo shows the round trip times as pingtime and pingwait.',
  params: [],
  result: nil(),
  scope: 'admin',
  run: async ({ ctx }) => orFail(await ctx.node().call('pingPeers')),
});

const addnode = nodeMethod({
  name: 'addnode',
  category: 'network',
  help: 'Adds a node to the list of nodes to which a connection is kept, removes it, or connects to it once.',
  params: [
    textParam('node', { note: 'Host or address, with or without port.' }),
    textParam('command', { note: 'add to keep a connection, remove to end that, or onetry to connect once.' }),
    optional(
      flagParam('v2transport', {
        note: 'Whether the encrypted transport (BIP-324) is tried; by default as configured.',
      }),
      null,
    ),
  ],
  result: nil(),
  examples: [example(['192.0.2.7:18444', 'add']), example(['192.0.2.7:18444', 'onetry', true])],
  scope: 'admin',
  async run({ ctx }, node, command, v2) {
    if (command !== 'add' && command !== 'remove' && command !== 'onetry')
      return rpcFail('misc', 'addnode "node" "command" ( v2transport )');
    if (node.trim() === '') return rpcFail('invalidParameter', 'Error: Node address cannot be empty');
    return orFail(await ctx.node().call('addNode', node, command, v2));
  },
});

const getaddednodeinfo = nodeMethod({
  name: 'getaddednodeinfo',
  category: 'network',
  help: 'Returns the nodes that addnode or the configuration added, with their connections.',
  params: [optional(textParam('node', { note: 'Node as it was added; all nodes by default.' }), null)],
  result: arr(
    obj({
      addednode: str('text with which it was added'),
      connected: bool('whether the node is connected'),
      addresses: arr(
        obj({ address: str('address of the node'), connected: str('inbound or outbound') }),
        'empty if it is not connected',
      ),
    }),
  ),
  examples: [example([]), example(['192.0.2.7:18444'])],
  scope: 'admin',
  async run({ ctx }, node) {
    const all = orFail(await ctx.node().call('addedNodes'));
    const shown = node === null ? all : all.filter((added) => added.text === node);
    if (node !== null && shown.length === 0) return rpcFail('clientNodeNotAdded', 'Error: Node has not been added.');
    return shown.map((added) => ({
      addednode: added.text,
      connected: added.connected !== null,
      addresses:
        added.connected === null
          ? []
          : [{ address: added.connected.address, connected: added.connected.inbound ? 'inbound' : 'outbound' }],
    }));
  },
});

const disconnectnode = nodeMethod({
  name: 'disconnectnode',
  category: 'network',
  help: 'Closes the connection to a peer. Either the address or the number is given.',
  params: [
    optional(textParam('address', { note: 'Address with port, as addr of getpeerinfo.' }), ''),
    optional(integerParam('nodeid', { note: 'Number of the peer, as id of getpeerinfo.' }), null),
  ],
  result: nil(),
  examples: [example(['192.0.2.7:18444']), example({ nodeid: 3 })],
  scope: 'admin',
  async run({ ctx }, address, id) {
    if ((address === '') === (id === null))
      return rpcFail('invalidParams', 'Only one of address and nodeid should be provided.');
    return orFail(await ctx.node().call('disconnectPeer', id ?? address));
  },
});

const getnodeaddresses = nodeMethod({
  name: 'getnodeaddresses',
  category: 'network',
  help: 'Returns known addresses of other nodes, in random order.',
  params: [
    optional(integerParam('count', { note: 'Highest number of addresses; 0 for all.' }), 1),
    optional(textParam('network', { note: 'ipv4, ipv6, onion, i2p or cjdns; all networks by default.' }), null),
  ],
  result: arr(
    obj({
      time: unixTime('time at which the node was last seen'),
      services: int('bits of its services'),
      address: str('address of the node'),
      port: int('port of the node'),
      network: str('ipv4, ipv6, onion, i2p or cjdns'),
    }),
  ),
  examples: [example([8]), example([0, 'ipv4'])],
  scope: 'read',
  async run({ ctx }, count, network) {
    if (count < 0) return rpcFail('invalidParameter', 'Address count out of range');
    const known = orFail(await ctx.node().call('knownAddresses', count, network));
    return known.map(({ services, ...address }) => ({
      time: address.time,
      services: Number(services),
      address: address.address,
      port: address.port,
      network: address.network,
    }));
  },
});

const getaddrmaninfo = nodeMethod({
  name: 'getaddrmaninfo',
  category: 'network',
  help: 'Returns the number of known addresses of other nodes, for each network.',
  params: [],
  result: mapOf(
    'network',
    obj({ new: int('never connected to'), tried: int('connected to before'), total: int('sum of both') }),
    'with the sums as all_networks',
  ),
  scope: 'read',
  async run({ ctx }) {
    const counts = orFail(await ctx.node().call('addressCounts'));
    const all = { network: 'all_networks', new: sum(counts, 'new'), tried: sum(counts, 'tried') };
    return Object.fromEntries(
      [...counts, all].map((one) => [one.network, { new: one.new, tried: one.tried, total: one.new + one.tried }]),
    );
  },
});

function sum(counts: readonly { readonly new: number; readonly tried: number }[], of: 'new' | 'tried'): number {
  return counts.reduce((total, one) => total + one[of], 0);
}

const setnetworkactive = nodeMethod({
  name: 'setnetworkactive',
  category: 'network',
  help: 'Enables or disables all connections to peers.',
  params: [flagParam('state', { note: 'True to connect to peers, false to close all connections and make none.' })],
  result: bool('the new state'),
  examples: [example([false])],
  scope: 'admin',
  run: async ({ ctx }, state) => orFail(await ctx.node().call('setNetworkActive', state)),
});

const getblockfrompeer = nodeMethod({
  name: 'getblockfrompeer',
  category: 'blockchain',
  help: 'Requests a block from one peer. The header must be known and the block must not be stored.',
  params: [
    hashParam<BlockHash>('blockhash', 'blockhash', { note: 'Hash of the block.' }),
    integerParam('peer_id', { note: 'Number of the peer, as id of getpeerinfo.' }),
  ],
  result: obj({}, 'the request was sent; the block arrives later, or never'),
  examples: [example([EXAMPLE.blockHash, 0])],
  scope: 'admin',
  async run({ ctx }, blockHash, peer) {
    orFail(await ctx.node().call('fetchBlock', blockHash, peer));
    return {};
  },
});

export const networkMethods: readonly RpcMethod[] = [
  getpeerinfo,
  getconnectioncount,
  getnetworkinfo,
  getnettotals,
  ping,
  addnode,
  getaddednodeinfo,
  disconnectnode,
  getnodeaddresses,
  getaddrmaninfo,
  setnetworkactive,
  getblockfrompeer,
];
