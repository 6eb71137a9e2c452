import { paramsFor } from '../params/networks.ts';
import { hostElement, permissionElement } from './elements.ts';
import { PRIVATE_NETWORK_SETTINGS } from './private-network-settings.ts';
import {
  addresses,
  boolean,
  choiceElement,
  choicesText,
  integer,
  lines,
  list,
  optionalBoolean,
  optionalPath,
  parseHostPort,
  type Setting,
} from './setting.ts';

/** Networks on which the node may look for peers. */
const PEER_NETWORKS = ['ipv4', 'ipv6', 'onion', 'i2p', 'cjdns'] as const;

/** Addresses on I2P have no port (SAM 3.1). */
const isI2pName = (text: string) => /\.b32\.i2p$/i.test(text);

/** Limit of lists of seeds. */
const MAX_SEED_NODES = 64;

/** Core's characters of a comment. */
const UA_COMMENT = /^[A-Za-z0-9 .,;\-_?@]+$/;

/** Returns whether DNS seeds are queried: as `p2p.dnsSeeds` says, else where the node looks for peers by itself. */
export function usesDnsSeeds({
  dnsSeeds,
  connect,
  autoConnect,
}: {
  readonly dnsSeeds: boolean | null;
  readonly connect: readonly unknown[];
  readonly autoConnect: boolean;
}): boolean {
  return dnsSeeds ?? (autoConnect && connect.length === 0);
}

/** The settings of connections to peers. */
export const P2P_SETTINGS = {
  'p2p.enabled': boolean({ fallback: true, help: 'take part in the peer network' }),
  'p2p.networkActive': boolean({
    fallback: true,
    help: 'begin with connections to peers allowed; setnetworkactive allows and forbids them later',
  }),
  'p2p.listen': addresses({
    fallback: ({ network, dev }) => (dev ? [] : [{ host: '::', port: paramsFor(network).ports.p2p }]),
    defaultText: '[::]:8333 (testnet4 48333, signet 38333, regtest 18444); none with dev.enabled',
    help: 'addresses that listen for peers; [::] also accepts IPv4',
  }),
  'p2p.listenOnion': addresses({
    fallback: [],
    help: 'addresses that listen for peers of an onion service of this node, which Tor forwards to them',
  }),
  'p2p.autoConnect': boolean({
    fallback: true,
    help: 'look for peers; false connects only to those of p2p.connect and to added nodes',
  }),
  'p2p.connect': list(
    'a list of host or host:port',
    (text, { network }) => parseHostPort(text, isI2pName(text) ? 0 : paramsFor(network).ports.p2p),
    { fallback: [], help: 'connect only to these peers' },
  ),
  'p2p.maxConnections': integer({
    fallback: 125,
    max: 10_000,
    help: 'peers in total, in addition to those of p2p.connect',
  }),
  'p2p.inboundRelayPercent': integer({
    fallback: 50,
    max: 100,
    unit: '%',
    help: 'share of the inbound connections that may relay transactions',
  }),
  'p2p.peerTimeout': integer({
    fallback: 60,
    min: 1,
    max: 1_000_000_000,
    unit: 's',
    help: 'time in which a new peer must send its first message and complete the handshake',
  }),
  'p2p.v2': boolean({ fallback: true, help: 'encrypted connections (BIP-324) with peers that support them' }),
  ...PRIVATE_NETWORK_SETTINGS,
  'p2p.onlyNetworks': list(`a list of ${choicesText(PEER_NETWORKS)}`, choiceElement(PEER_NETWORKS), {
    fallback: [],
    defaultText: 'all that are reachable',
    help: 'networks on which the node looks for peers',
  }),
  'p2p.seedNodes': list(
    `a list of up to ${MAX_SEED_NODES} host or host:port`,
    (text, { network }) => (parseHostPort(text, paramsFor(network).ports.p2p) === null ? null : text),
    {
      fallback: [],
      max: MAX_SEED_NODES,
      help: 'nodes that are only requested for addresses of peers, one after another while there are too few peers; they come before the DNS seeds',
    },
  ),
  'p2p.dnsSeeds': optionalBoolean({
    defaultText: 'true; false with p2p.connect, or without p2p.autoConnect',
    help: 'query DNS seeds when too few addresses are known',
  }),
  'p2p.dnsSeedHosts': list(`a list of up to ${MAX_SEED_NODES} host names`, hostElement, {
    fallback: [],
    max: MAX_SEED_NODES,
    defaultText: 'those that this version knows for the network',
    help: 'names of the DNS seeds, such as those of a signet of your own',
  }),
  'p2p.forceDnsSeeds': boolean({
    fallback: false,
    help: 'query DNS seeds at every start, also when many addresses are known',
  }),
  'p2p.fixedSeeds': boolean({ fallback: true, help: 'use the built-in addresses when no others are known' }),
  'p2p.permissions': list('a list of permissions@address or permissions@subnet', permissionElement, {
    fallback: [],
    help: "permissions of peers by address, as in Bitcoin Core's whitelist",
  }),
  'p2p.userAgentComments': lines(
    'letters, digits and any of " .,;-_?@", 200 characters in total',
    (comments) =>
      comments.every((text) => UA_COMMENT.test(text)) && comments.join('; ').length <= 200 ? comments : null,
    { fallback: [], help: 'comments in the name that peers see (BIP-14)' },
  ),
  'p2p.privateBroadcast': boolean({
    fallback: false,
    help: 'send transactions of clients to a few peers through Tor alone until they come back; not packages and those of wallets',
  }),
  'p2p.reconciliation': boolean({
    fallback: false,
    help: 'negotiate the reconciliation of transactions with peers (BIP-330), to test the negotiation: transactions are announced as without it',
  }),
  'p2p.bloomFilters': boolean({
    fallback: false,
    help: 'serve bloom filters to all peers (BIP-111), not only to those with that permission',
  }),
  'p2p.filters': boolean({ fallback: false, help: 'serve block filters to peers (BIP-157); needs index.filter' }),
  'p2p.maxUpload': integer({
    live: true,
    fallback: 0,
    max: 1_000_000_000,
    unit: 'MiB',
    help: 'bytes sent to peers per day; 0 = no limit',
  }),
  'p2p.externalAddress': list('a list of address or address:port', (text) => parseHostPort(text, 0), {
    fallback: [],
    help: 'public addresses that this node announces to peers; without a port, with that of p2p.listen',
  }),
  'p2p.discover': boolean({
    fallback: true,
    help: 'discover the public address; not with p2p.proxy or p2p.externalAddress',
  }),
  'p2p.captureMessages': integer({
    fallback: 0,
    max: 1_000_000,
    unit: 'MiB',
    help: 'for debugging, writes all messages of peers to message_capture/ in the folder of the network until its files have this size; 0 = none',
  }),
  'p2p.asmap': optionalPath({
    help: "map of autonomous systems in Bitcoin Core's format, over which connections are spread in place of /16 prefixes",
  }),
  'p2p.checkAddresses': integer({
    fallback: 0,
    max: 1_000_000,
    help: 'check the tables of addresses in one of this many operations, for tests; 0 = never',
  }),
  'p2p.banTime': integer({ fallback: 86_400, min: 1, max: 1_000_000_000, unit: 's', help: 'duration of a ban' }),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;
