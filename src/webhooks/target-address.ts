import { type IpSubnet, parseIp, parseIpSubnet, sharePrefix } from '../util/ip-address.ts';

/** A range of addresses, and its name in errors. */
interface SpecialRange extends IpSubnet {
  readonly name: string;
}

/**
 * Ranges of IPv4 that are not global unicast: the IANA registry of special-purpose addresses (RFC 6890 and its updates),
 * multicast (RFC 5771), and the 6to4 relays (RFC 7526).
 */
const IPV4_RANGES = rangesOf({
  '0.0.0.0/8': 'this network',
  '10.0.0.0/8': 'private',
  '100.64.0.0/10': 'shared address space',
  '127.0.0.0/8': 'loopback',
  '169.254.0.0/16': 'link-local',
  '172.16.0.0/12': 'private',
  '192.0.0.0/24': 'protocol assignments',
  '192.0.2.0/24': 'documentation',
  '192.88.99.0/24': '6to4 relay',
  '192.168.0.0/16': 'private',
  '198.18.0.0/15': 'benchmarking',
  '198.51.100.0/24': 'documentation',
  '203.0.113.0/24': 'documentation',
  '224.0.0.0/4': 'multicast',
  '240.0.0.0/4': 'reserved',
});

/** Ranges of IPv6 with a name. Everything outside of global unicast (RFC 4291) is forbidden without being listed. */
const IPV6_RANGES = rangesOf({
  '::/128': 'unspecified',
  '::1/128': 'loopback',
  '64:ff9b:1::/48': 'local translation',
  '100::/64': 'discard',
  '2001::/23': 'protocol assignments',
  '2001:db8::/32': 'documentation',
  '3fff::/20': 'documentation',
  '5f00::/16': 'segment routing',
  'fc00::/7': 'unique local',
  'fe80::/10': 'link-local',
  'ff00::/8': 'multicast',
});

/** Forms of IPv6 that hold an IPv4 address, with its first byte: NAT64 (RFC 6052) and 6to4 (RFC 3056). */
const EMBEDDED = [
  { ...subnet('64:ff9b::/96'), at: 12 },
  { ...subnet('2002::/16'), at: 2 },
];
const GLOBAL_UNICAST = subnet('2000::/3');

/**
 * Returns the name of the special range that an address belongs to; null for a public address. An IPv6 address that holds
 * an IPv4 address belongs to the range of that one.
 */
function specialRange(address: Uint8Array): string | null {
  if (address.length === 4) return nameIn(IPV4_RANGES, address);
  const embedded = EMBEDDED.find((form) => contains(form, address));
  if (embedded) return specialRange(address.subarray(embedded.at, embedded.at + 4));
  return nameIn(IPV6_RANGES, address) ?? (contains(GLOBAL_UNICAST, address) ? null : 'reserved');
}

/** The networks that the operator allows as targets although they are not public, or without TLS. */
export class AllowedNetworks {
  readonly #subnets: readonly IpSubnet[];

  /** Texts that are not subnets are left out; the configuration has rejected them. */
  constructor(texts: readonly string[]) {
    this.#subnets = texts.map(parseIpSubnet).filter((each) => each !== null);
  }

  includes(address: Uint8Array): boolean {
    return this.#subnets.some((each) => contains(each, address));
  }

  /** Returns the reason why an address must not be connected to; null if it may. */
  refusal(address: Uint8Array, { secure }: { readonly secure: boolean }): string | null {
    if (this.includes(address)) return null;
    const range = specialRange(address);
    if (range !== null) return `the address is not public (${range}), and webhooks.allowedNetworks does not name it`;
    return secure ? null : 'http:// is only for addresses that webhooks.allowedNetworks names; use https://';
  }
}

/** Returns an address as text that has no other reading. */
export function addressText(address: Uint8Array): string {
  if (address.length === 4) return address.join('.');
  const hex = address.toHex();
  return Array.from({ length: 8 }, (_, i) => hex.slice(i * 4, i * 4 + 4)).join(':');
}

/** Returns the bytes of a host that is an address, as a URL writes it; null for a name. */
export function literalAddress(hostname: string): Uint8Array | null {
  return parseIp(hostname.startsWith('[') ? hostname.slice(1, -1) : hostname);
}

function nameIn(ranges: readonly SpecialRange[], address: Uint8Array): string | null {
  return ranges.find((range) => contains(range, address))?.name ?? null;
}

function contains({ bytes, bits }: IpSubnet, address: Uint8Array): boolean {
  return address.length === bytes.length && sharePrefix(address, bytes, bits);
}

function rangesOf(names: Readonly<Record<string, string>>): readonly SpecialRange[] {
  return Object.entries(names).map(([text, name]) => ({ ...subnet(text), name }));
}

function subnet(text: string): IpSubnet {
  return parseIpSubnet(text)!;
}
