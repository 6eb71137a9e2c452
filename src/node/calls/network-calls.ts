import type { Chain } from '../../chain/chain.ts';
import { parseNetAddress, printAddress, printService } from '../../p2p/address/address-text.ts';
import { networkClassOf } from '../../p2p/address/net-group.ts';
import type { ConnectionManager } from '../../p2p/connections/connection-manager.ts';
import { targetText } from '../../p2p/connections/dial.ts';
import { parseSubnet, printSubnet } from '../../p2p/connections/subnet.ts';
import { SERVICES } from '../../p2p/services.ts';
import type { AddressEntryView, CallTable, NetworkCalls, NetworkView } from '../../port/node-calls.ts';
import type { Refusal } from '../../port/refusal.ts';
import type { Clock } from '../../util/clock.ts';
import { unixSeconds } from '../../util/clock.ts';
import { serviceNames, servicesHex } from '../build-peer-view.ts';
import type { PeerNetwork } from '../peer-network.ts';

const NETWORKS = ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'] as const;

const NO_NETWORK: Refusal = {
  refused: 'clientP2pDisabled',
  message: 'Error: Peer-to-peer functionality missing or disabled',
};

const NOT_PRIVATE: Refusal = {
  refused: 'methodNotFound',
  message: "Private broadcast is not enabled. Ensure you're running Bitcoin Core with -privatebroadcast=1.",
};

/**
 * Returns the calls of the RPC interface that change connections. `network` is null where the configuration disables
 * the peer network.
 */
export function networkCalls(
  network: PeerNetwork | null,
  {
    chain,
    clock,
    onTimersAdvanced,
  }: {
    chain: Chain;
    clock: Clock;
    /** Called with milliseconds where tests have moved the timers; resolves when all that is due is done. */
    onTimersAdvanced: (ms: number) => Promise<void>;
  },
): CallTable<NetworkCalls> {
  const advanceTimers = async (seconds: number) => {
    network?.manager?.advanceTimers(seconds * 1000);
    await onTimersAdvanced(seconds * 1000);
    return null;
  };
  if (network === null) return { ...withoutNetwork(clock), advanceTimers };
  const { connections } = network;
  return {
    peers: () => network.views(),
    network: () => networkView(network),
    traffic() {
      const { received, sent, upload } = connections.totals;
      return {
        received,
        sent,
        now: clock.nowMs(),
        target: upload.limit,
        targetReached: upload.isReached(false),
        servesHistory: !upload.isReached(true),
        bytesLeft: upload.bytesLeft,
        secondsLeft: upload.secondsLeft,
      };
    },
    async addNode(text, command, v2) {
      if (v2 === true && !connections.v2)
        return {
          refused: 'invalidParameter',
          message: 'Error: v2transport requested but not enabled (see -v2transport)',
        };
      if (command === 'onetry') {
        // As in Core, the reply comes when the attempt has ended.
        await connections.connectTo(text, 'manual', v2 ?? undefined).catch(() => {});
        return null;
      }
      if (command === 'add')
        return connections.added.addNode(text, v2 ?? undefined)
          ? null
          : { refused: 'clientNodeAlreadyAdded', message: 'Error: Node already added' };
      return connections.added.removeNode(text)
        ? null
        : {
            refused: 'clientNodeNotAdded',
            message: 'Error: Node could not be removed. It has not been added previously.',
          };
    },
    addedNodes: () =>
      connections.added.states(connections.table).map(({ text, connected }) => ({
        text,
        connected: connected && { address: printService(connected.service), inbound: connected.inbound },
      })),
    disconnectPeer: (which) =>
      connections.table.disconnect(which)
        ? null
        : { refused: 'clientNodeNotConnected', message: 'Node not found in connected nodes' },
    ban(text, time, absolute) {
      const subnet = parseSubnet(text);
      if (subnet === null) return { refused: 'clientInvalidIpOrSubnet', message: 'Error: Invalid IP/Subnet' };
      const { bans } = connections;
      if (text.includes('/') ? bans.isSubnetBanned(subnet) : bans.isBanned(subnet.address))
        return { refused: 'clientNodeAlreadyAdded', message: 'Error: IP/Subnet already banned' };
      if (absolute && time < unixSeconds(clock))
        return { refused: 'invalidParameter', message: 'Error: Absolute timestamp is in the past' };
      bans.ban(subnet, time === 0 ? {} : absolute ? { until: time } : { seconds: time });
      connections.table.disconnectSubnet(subnet);
      return null;
    },
    unban(text) {
      const subnet = parseSubnet(text);
      if (subnet === null) return { refused: 'clientInvalidIpOrSubnet', message: 'Error: Invalid IP/Subnet' };
      return connections.bans.unban(subnet)
        ? null
        : {
            refused: 'clientInvalidIpOrSubnet',
            message: 'Error: Unban failed. Requested address/subnet was not previously manually banned.',
          };
    },
    bans: () =>
      connections.bans
        .list()
        .map(({ subnet, createdAt, until }) => ({ subnet: printSubnet(subnet), createdAt, until })),
    clearBans() {
      connections.bans.clear();
      return null;
    },
    knownAddresses(count, name) {
      const wanted = name === null ? undefined : NETWORKS.find((one) => one === name);
      if (name !== null && !wanted) return { refused: 'invalidParameter', message: `Network not recognized: ${name}` };
      return connections.addresses.getAddresses(count, 0, wanted).map(({ time, services, address, port }) => ({
        time,
        services,
        address: printAddress(address),
        port,
        network: networkClassOf(address),
      }));
    },
    addressCounts: () =>
      NETWORKS.map((name) => ({
        network: name,
        new: connections.addresses.size('new', name),
        tried: connections.addresses.size('tried', name),
      })),
    pingPeers() {
      network.manager?.pingAll();
      return null;
    },
    setUploadTarget(mebibytesPerDay) {
      connections.totals.upload.setLimit(mebibytesPerDay);
      return null;
    },
    setNetworkActive(active) {
      connections.setActive(active);
      return connections.active;
    },
    async addConnection(text, type, v2) {
      if (v2 && !network.offersV2)
        return {
          refused: 'invalidParameter',
          message: 'Error: Adding v2transport connections requires -v2transport init flag to be set.',
        };
      if (!connections.hasFreeSlot(type))
        return {
          refused: 'clientNodeCapacityReached',
          message: 'Error: Already at capacity for specified connection type.',
        };
      await connections.connectTo(text, type, v2).catch(() => {});
      return null;
    },
    addPeerAddress(text, port, tried) {
      const parsed = parseNetAddress(text);
      const address = parsed && connections.routes.resolveCjdns(parsed);
      if (address === null) return { refused: 'clientInvalidIpOrSubnet', message: 'Invalid IP address' };
      const services = SERVICES.network | SERVICES.witness;
      const { addresses } = connections;
      if (!addresses.add([{ address, port, services, time: unixSeconds(clock) }], address))
        return 'failed-adding-to-new';
      return tried && !addresses.good({ address, port }) ? 'failed-adding-to-tried' : null;
    },
    addressTables: () => ({ new: addressEntries(connections, 'new'), tried: addressEntries(connections, 'tried') }),
    sendMessage(id, type, payload) {
      const link = connections.table.byId(id);
      if (!link) return { refused: 'misc', message: 'Error: Could not send message to peer' };
      link.sendPayload(type, payload);
      return null;
    },
    orphans: () => Array.from(network.manager?.orphans() ?? [], ({ parsed, peers }) => ({ raw: parsed.raw, peers })),
    advanceTimers,
    privateBroadcasts: () =>
      network.privateBroadcast?.list().map(({ parsed, ...rest }) => ({ raw: parsed.raw, ...rest })) ?? NOT_PRIVATE,
    abortPrivateBroadcast(id) {
      if (network.privateBroadcast === null) return NOT_PRIVATE;
      const removed = network.privateBroadcast.abort(id);
      if (removed.length > 0) return removed.map(({ raw }) => raw);
      return {
        refused: 'invalidAddressOrKey',
        message: 'Transaction not in private broadcast queue. Check getprivatebroadcastinfo.',
      };
    },
    fetchBlock(hash, peer) {
      const entry = chain.findEntry(hash);
      if (entry === null) return { refused: 'misc', message: 'Block header missing' };
      // A block above the tip would keep its whole file from being pruned.
      if (chain.pruner !== null && entry.height > chain.tip.height)
        return {
          refused: 'misc',
          message: 'In prune mode, only blocks that the node has already synced previously can be fetched from a peer',
        };
      if (entry.hasBody) return { refused: 'misc', message: 'Block already downloaded' };
      const problem = network.manager ? network.manager.fetchBlock(peer, entry) : 'Peer does not exist';
      return problem === null ? null : { refused: 'misc', message: problem };
    },
  };
}

function networkView(network: PeerNetwork): NetworkView {
  const { connections, services } = network;
  const { routes } = connections;
  return {
    active: connections.active,
    relaysTransactions: !network.blocksOnly,
    peers: network.counts(),
    services: servicesHex(services),
    serviceNames: serviceNames(services),
    timeOffset: network.timeOffset(),
    sendRate: network.sendRate,
    announcements: network.manager?.announcementBudgets() ?? null,
    networks: routes.list().map(({ network: name, reachable, proxy, randomizesCredentials }) => ({
      name,
      reachable,
      proxy: proxy === null ? '' : targetText(proxy),
      randomizesCredentials,
    })),
    localAddresses: connections.local.list().map(({ service, score }) => ({
      address: printAddress(service.address),
      port: service.port,
      score,
    })),
  };
}

function addressEntries({ addresses, groups }: ConnectionManager, table: 'new' | 'tried'): AddressEntryView[] {
  return Array.from(addresses.places(table), ({ bucket, position, entry }) => ({
    place: `${bucket}/${position}`,
    address: printAddress(entry.address),
    port: entry.port,
    network: networkClassOf(entry.address),
    services: entry.services,
    time: entry.time,
    mappedAs: groups.mappedAs(entry.address),
    source: printAddress(entry.source),
    sourceNetwork: networkClassOf(entry.source),
    sourceMappedAs: groups.mappedAs(entry.source),
  }));
}

function withoutNetwork(clock: Clock): Omit<CallTable<NetworkCalls>, 'advanceTimers'> {
  const refuse = () => NO_NETWORK;
  return {
    peers: () => [],
    network: () => ({
      active: false,
      relaysTransactions: false,
      peers: { inbound: 0, outbound: 0 },
      services: servicesHex(0n),
      serviceNames: [],
      timeOffset: 0,
      sendRate: 0,
      announcements: null,
      networks: NETWORKS.map((name) => ({ name, reachable: false, proxy: '', randomizesCredentials: false })),
      localAddresses: [],
    }),
    traffic: () => ({
      received: 0,
      sent: 0,
      now: clock.nowMs(),
      target: 0,
      targetReached: false,
      servesHistory: true,
      bytesLeft: 0,
      secondsLeft: 0,
    }),
    addNode: refuse,
    addedNodes: refuse,
    disconnectPeer: refuse,
    ban: refuse,
    unban: refuse,
    bans: refuse,
    clearBans: refuse,
    knownAddresses: refuse,
    addressCounts: refuse,
    pingPeers: refuse,
    setUploadTarget: () => null,
    setNetworkActive: refuse,
    addConnection: refuse,
    addPeerAddress: refuse,
    addressTables: refuse,
    sendMessage: refuse,
    orphans: () => [],
    privateBroadcasts: () => NOT_PRIVATE,
    abortPrivateBroadcast: () => NOT_PRIVATE,
    fetchBlock: refuse,
  };
}
