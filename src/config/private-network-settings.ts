import { type Address, boolean, list, optionalAddress, optionalPath, parseHostPort, setting } from './setting.ts';

/** Networks that may have a proxy of their own. */
const PROXIED_NETWORKS = ['ipv4', 'ipv6', 'onion', 'cjdns'] as const;
export type ProxiedNetwork = (typeof PROXIED_NETWORKS)[number];

/** A proxy for one network, or for all where `network` is null; a null address removes an earlier one. */
export interface ProxyRule {
  readonly address: Address | null;
  readonly network: ProxiedNetwork | null;
}

/** Port of Tor's SOCKS5 proxy. */
const SOCKS_PORT = 9050;
const CONTROL_PORT = 9051;
const SAM_PORT = 7656;
/** Prefix of the path of a Unix socket where a host is expected. */
const UNIX_PREFIX = 'unix:';
/** Longest path of a Unix socket on Linux, bytes: its 108 include the end. */
const MAX_UNIX_PATH = 107;

/** Parses `host:port`, a host alone, or `unix:` with an absolute path, which is the host of the result; null if it is neither. */
function parseProxyAddress(text: string): Address | null {
  if (!text.startsWith(UNIX_PREFIX)) return parseHostPort(text, SOCKS_PORT);
  const path = text.slice(UNIX_PREFIX.length);
  const isPath = path.startsWith('/') && !path.includes('\0') && Buffer.byteLength(path) <= MAX_UNIX_PATH;
  return isPath ? { host: text, port: 0 } : null;
}

/** Parses the address of a proxy or `none`, and a network behind `=`. */
function proxyElement(text: string): ProxyRule | null {
  const separator = text.lastIndexOf('=');
  const network = separator < 0 ? null : PROXIED_NETWORKS.find((known) => known === text.slice(separator + 1));
  const place = separator < 0 ? text : text.slice(0, separator);
  const address = place === 'none' ? null : parseProxyAddress(place);
  return network === undefined || (address === null && place !== 'none') ? null : { address, network };
}

const PROXY_FORM = 'host:port or unix:/path';
const proxies = list(
  `a list of ${PROXY_FORM}, or none, each with =ipv4, =ipv6, =onion or =cjdns behind it for that network alone`,
  proxyElement,
  { fallback: [], help: '' },
);

/** Settings of proxies, and of the networks that are reached through a program beside the node. */
export const PRIVATE_NETWORK_SETTINGS = {
  'p2p.proxy': setting<readonly ProxyRule[]>(
    'list',
    proxies.allowed,
    {
      fallback: [],
      help: 'SOCKS5 proxies for connections to peers; one of ipv4, ipv6 or all networks also resolves names. Later ones replace earlier ones',
    },
    (value, context) => proxies.read(value, typeof value === 'string' ? { ...context, fromText: true } : context),
  ),
  'p2p.onionProxy': setting<Address | 'none' | null>(
    'address',
    `${PROXY_FORM}, none to forbid onion services, or empty`,
    {
      fallback: null,
      defaultText: 'p2p.proxy, else that of p2p.torControl',
      help: 'SOCKS5 proxy for onion services, such as Tor on 127.0.0.1:9050',
    },
    (value) => {
      if (value === '') return { value: null };
      const read = typeof value !== 'string' ? null : value === 'none' ? value : parseProxyAddress(value);
      return read === null ? null : { value: read };
    },
  ),
  'p2p.proxyRandomize': boolean({
    fallback: true,
    help: 'use new credentials for each connection through a proxy, so that Tor does not link them',
  }),
  'p2p.torControl': optionalAddress({
    fallback: null,
    defaultPort: CONTROL_PORT,
    help: 'control port of a Tor, such as 127.0.0.1:9051, through which the node makes an onion service for its peers',
  }),
  'p2p.torPasswordFile': optionalPath({
    help: "file with the password of Tor's control port; mode 600, owned by the node's user",
  }),
  'p2p.i2pSam': optionalAddress({
    fallback: null,
    defaultPort: SAM_PORT,
    help: 'SAM port of an I2P router, such as 127.0.0.1:7656, through which the node reaches peers on I2P',
  }),
  'p2p.i2pAcceptIncoming': boolean({
    fallback: true,
    help: 'accept peers on I2P under a lasting address; otherwise each connection has a new one. Only with p2p.i2pSam',
  }),
  'p2p.cjdns': boolean({
    fallback: false,
    help: 'this host is part of CJDNS, so addresses of fc00::/8 lead to peers on it',
  }),
} as const;
