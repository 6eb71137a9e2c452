import { coins, double } from '../../../http/core-number.ts';
import type { NetworkView } from '../../../port/node-actions.ts';
import type { PeerView } from '../../../port/node-port.ts';
import type { BlockHash } from '../../../primitives/hash.ts';
import { systemClock, unixSeconds } from '../../../util/clock.ts';
import { type FrontEnv, nodeMethod } from '../../engine/method.ts';
import { flag, hash, integer, optional, text } from '../../engine/params.ts';
import { orFail, rpcFail } from '../../engine/rpc-error.ts';
import { arr, bool, int, mapOf, nil, obj, str, unixTime } from '../../engine/schema.ts';
import { NETWORK, PEER } from './network-shapes.ts';
import { operatorWarnings } from './operator-warnings.ts';

/** The level of Core's interface that is mirrored. */
const CORE_VERSION = 310_000;
const PROTOCOL_VERSION = 70016;

export const getpeerinfo = nodeMethod({
  name: 'getpeerinfo',
  category: 'network',
  help: 'The connected peers.',
  params: [],
  result: arr(PEER),
  scope: 'read',
  run: async ({ ctx }) => (await ctx.node().peers()).map(peerView),
});

function peerView({ details, ...peer }: PeerView) {
  return {
    id: peer.id,
    addr: peer.address,
    ...(details.addressBind !== null && { addrbind: details.addressBind }),
    ...(details.addressLocal !== null && { addrlocal: details.addressLocal }),
    network: peer.network,
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

export const getconnectioncount = nodeMethod({
  name: 'getconnectioncount',
  category: 'network',
  help: 'How many peers are connected.',
  params: [],
  result: int(),
  scope: 'read',
  run: async ({ ctx }) => {
    const { inbound, outbound } = (await ctx.node().act('network')).peers;
    return inbound + outbound;
  },
});

export const getnetworkinfo = nodeMethod({
  name: 'getnetworkinfo',
  category: 'network',
  help: 'The state of the peer-to-peer network.',
  params: [],
  result: NETWORK,
  scope: 'read',
  run: async (env) => networkInfo(env, await env.ctx.node().act('network')),
});

function networkInfo({ ctx: { options, node }, settings: { relay } }: FrontEnv, network: NetworkView) {
  const { inbound, outbound } = network.peers;
  return {
    version: CORE_VERSION,
    subversion: options.userAgent,
    protocolversion: PROTOCOL_VERSION,
    localservices: network.services,
    localservicesnames: network.serviceNames,
    localrelay: true,
    timeoffset: network.timeOffset,
    networkactive: network.active,
    connections: inbound + outbound,
    connections_in: inbound,
    connections_out: outbound,
    networks: network.networks.map(({ name, reachable, proxy }) => ({
      name,
      limited: !reachable,
      reachable,
      proxy,
      proxy_randomize_credentials: proxy !== '',
    })),
    relayfee: coins(relay.minRelayFeerate),
    incrementalfee: coins(relay.incrementalFeerate),
    localaddresses: network.localAddresses,
    warnings: operatorWarnings(node().status()),
    softwareversion: options.version,
  };
}

export const getnettotals = nodeMethod({
  name: 'getnettotals',
  category: 'network',
  help: 'Bytes sent and received since the start, and how much of the upload target is left.',
  params: [],
  result: obj({
    totalbytesrecv: int(),
    totalbytessent: int(),
    timemillis: int('Unix milliseconds'),
    uploadtarget: obj({
      timeframe: int('seconds'),
      target: int('bytes; 0 for no limit'),
      target_reached: bool(),
      serve_historical_blocks: bool(),
      bytes_left_in_cycle: int(),
      time_left_in_cycle: int('seconds'),
    }),
  }),
  scope: 'read',
  async run({ ctx }) {
    const traffic = await ctx.node().act('traffic');
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

const SECONDS_IN_A_DAY = 86_400;

export const ping = nodeMethod({
  name: 'ping',
  category: 'network',
  help: 'Sends a ping to every peer; getpeerinfo shows how long the answers took.',
  params: [],
  result: nil(),
  scope: 'admin',
  run: async ({ ctx }) => orFail(await ctx.node().act('pingPeers')),
});

export const addnode = nodeMethod({
  name: 'addnode',
  category: 'network',
  help: 'Keeps a connection to a node from now on (add), no longer (remove), or tries once (onetry).',
  params: [text('node'), text('command'), optional(flag('v2transport'), null)],
  result: nil(),
  scope: 'admin',
  async run({ ctx }, node, command, v2) {
    if (command !== 'add' && command !== 'remove' && command !== 'onetry')
      return rpcFail('misc', 'addnode "node" "command" ( v2transport )');
    if (node === '') return rpcFail('invalidParameter', 'Error: Node address cannot be empty');
    return orFail(await ctx.node().act('addNode', node, command, v2));
  },
});

export const getaddednodeinfo = nodeMethod({
  name: 'getaddednodeinfo',
  category: 'network',
  help: 'Nodes that were added with addnode, and whether they are connected.',
  params: [optional(text('node'), null)],
  result: arr(
    obj({
      addednode: str('as it was added'),
      connected: bool(),
      addresses: arr(obj({ address: str(), connected: str('inbound or outbound') })),
    }),
  ),
  scope: 'admin',
  async run({ ctx }, node) {
    const all = orFail(await ctx.node().act('addedNodes'));
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

export const disconnectnode = nodeMethod({
  name: 'disconnectnode',
  category: 'network',
  help: 'Ends the connection to a peer, named by its address or by its number.',
  params: [optional(text('address'), ''), optional(integer('nodeid'), null)],
  result: nil(),
  scope: 'admin',
  async run({ ctx }, address, id) {
    if ((address === '') === (id === null))
      return rpcFail('invalidParams', 'Only one of address and nodeid should be provided.');
    return orFail(await ctx.node().act('disconnectPeer', id ?? address));
  },
});

export const setban = nodeMethod({
  name: 'setban',
  category: 'network',
  help: 'Shuts an address or subnet out for some time (add), or no longer (remove).',
  params: [text('subnet'), text('command'), optional(integer('bantime'), 0), optional(flag('absolute'), false)],
  result: nil(),
  scope: 'admin',
  async run({ ctx }, subnet, command, time, absolute) {
    if (command === 'add') return orFail(await ctx.node().act('ban', subnet, time, absolute));
    if (command === 'remove') return orFail(await ctx.node().act('unban', subnet));
    return rpcFail('misc', 'setban "subnet" "command" ( bantime absolute )');
  },
});

export const listbanned = nodeMethod({
  name: 'listbanned',
  category: 'network',
  help: 'Addresses and subnets that are shut out.',
  params: [],
  result: arr(
    obj({
      address: str('or subnet'),
      ban_created: unixTime(),
      banned_until: unixTime(),
      ban_duration: int('seconds'),
      time_remaining: int('seconds'),
    }),
  ),
  scope: 'admin',
  async run({ ctx }) {
    const now = unixSeconds(systemClock);
    return orFail(await ctx.node().act('bans')).map(({ subnet, createdAt, until }) => ({
      address: subnet,
      ban_created: createdAt,
      banned_until: until,
      ban_duration: until - createdAt,
      time_remaining: until - now,
    }));
  },
});

export const clearbanned = nodeMethod({
  name: 'clearbanned',
  category: 'network',
  help: 'Lets all in again that were shut out.',
  params: [],
  result: nil(),
  scope: 'admin',
  run: async ({ ctx }) => orFail(await ctx.node().act('clearBans')),
});

export const getnodeaddresses = nodeMethod({
  name: 'getnodeaddresses',
  category: 'network',
  help: 'Addresses of nodes that may be there, in random order; 0 for all.',
  params: [optional(integer('count'), 1), optional(text('network'), null)],
  result: arr(
    obj({
      time: unixTime('last seen'),
      services: int('bits'),
      address: str(),
      port: int(),
      network: str('ipv4, ipv6, onion, i2p, or cjdns'),
    }),
  ),
  scope: 'read',
  async run({ ctx }, count, network) {
    if (count < 0) return rpcFail('invalidParameter', 'Address count out of range');
    const known = orFail(await ctx.node().act('knownAddresses', count, network));
    return known.map(({ services, ...address }) => ({
      time: address.time,
      services: Number(services),
      address: address.address,
      port: address.port,
      network: address.network,
    }));
  },
});

export const getaddrmaninfo = nodeMethod({
  name: 'getaddrmaninfo',
  category: 'network',
  help: 'How many addresses of nodes are known.',
  params: [],
  result: mapOf(
    'network',
    obj({ new: int('heard of'), tried: int('connected to once'), total: int() }),
    'all_networks among them',
  ),
  scope: 'read',
  async run({ ctx }) {
    const counts = orFail(await ctx.node().act('addressCounts'));
    const all = { network: 'all_networks', new: sum(counts, 'new'), tried: sum(counts, 'tried') };
    return Object.fromEntries(
      [...counts, all].map((one) => [one.network, { new: one.new, tried: one.tried, total: one.new + one.tried }]),
    );
  },
});

function sum(counts: readonly { readonly new: number; readonly tried: number }[], of: 'new' | 'tried'): number {
  return counts.reduce((total, one) => total + one[of], 0);
}

export const setnetworkactive = nodeMethod({
  name: 'setnetworkactive',
  category: 'network',
  help: 'Ends all connections to peers and makes none, or makes them again.',
  params: [flag('state')],
  result: bool('whether connections are made'),
  scope: 'admin',
  run: async ({ ctx }, state) => orFail(await ctx.node().act('setNetworkActive', state)),
});

export const getblockfrompeer = nodeMethod({
  name: 'getblockfrompeer',
  category: 'blockchain',
  help: 'Asks one peer for a block of which the header is known.',
  params: [hash<BlockHash>('blockhash'), integer('peer_id')],
  result: obj({}, 'the block comes later, or not'),
  scope: 'admin',
  async run({ ctx }, blockHash, peer) {
    orFail(await ctx.node().act('fetchBlock', blockHash, peer));
    return {};
  },
});
