import { hasCjdnsPrefix, hasPrefix, type NetAddress } from './net-address.ts';

type Prefix = readonly number[];

const isV4 = ({ network }: NetAddress) => network === 'ipv4';
const isV6 = ({ network }: NetAddress) => network === 'ipv6';
const v4In = (prefix: Prefix) => (address: NetAddress) => isV4(address) && hasPrefix(address.bytes, prefix);
const v6In = (prefix: Prefix) => (address: NetAddress) => isV6(address) && hasPrefix(address.bytes, prefix);
const allBytes = (bytes: Uint8Array, value: number) => bytes.every((byte) => byte === value);

const isPrivateV4 = (address: NetAddress) => {
  const [a, b = 0] = address.bytes;
  return isV4(address) && (a === 10 || (a === 192 && b === 168) || (a === 172 && b >= 16 && b <= 31));
};
/** RFC 2544: benchmarking, 198.18.0.0/15. */
const isBenchmark = ({ network, bytes }: NetAddress) =>
  network === 'ipv4' && bytes[0] === 198 && (bytes[1]! & 0xfe) === 18;
/** RFC 6598: carrier-grade NAT, 100.64.0.0/10. */
const isSharedV4 = ({ network, bytes }: NetAddress) =>
  network === 'ipv4' && bytes[0] === 100 && (bytes[1]! & 0xc0) === 64;
const isLinkLocalV4 = v4In([169, 254]);
const isTestNet1 = v4In([192, 0, 2]);
const isTestNet2 = v4In([198, 51, 100]);
const isTestNet3 = v4In([203, 0, 113]);
/** RFC 3849: documentation, 2001:db8::/32. */
const isDocumentationV6 = v6In([0x20, 0x01, 0x0d, 0xb8]);
/** RFC 4862: fe80::/64. */
const isLinkLocalV6 = v6In([0xfe, 0x80, 0, 0, 0, 0, 0, 0]);
/** RFC 4193: fc00::/7. */
const isUniqueLocal = ({ network, bytes }: NetAddress) => network === 'ipv6' && (bytes[0]! & 0xfe) === 0xfc;
/** RFC 4843 and RFC 7343: ORCHID, 2001:10::/28 and 2001:20::/28, which are hashes and not routable. */
const isOrchid = (address: NetAddress) => {
  const high = address.bytes[3]! & 0xf0;
  return v6In([0x20, 0x01, 0x00])(address) && (high === 0x10 || high === 0x20);
};
/** RFC 3964: 6to4, 2002::/16. */
const is6to4 = v6In([0x20, 0x02]);
/** RFC 6052: 64:ff9b::/96. */
const isEmbedded = v6In([0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]);
/** RFC 6145: ::ffff:0:0:0/96. */
const isTranslated = v6In([0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0]);
/** RFC 4380: Teredo, 2001::/32. */
export const isTeredo = v6In([0x20, 0x01, 0, 0]);
/** Hurricane Electric, whose tunnels are free for everyone. */
export const isHeNet = v6In([0x20, 0x01, 0x04, 0x70]);

/** Returns whether an IPv6 address embeds the IPv4 address over which its node is reached. */
export function isTunnel(address: NetAddress): boolean {
  return is6to4(address) || isEmbedded(address) || isTranslated(address);
}

/** Returns whether the address is loopback or unspecified: 127.0.0.0/8, 0.0.0.0/8, ::1. */
export function isLocal(address: NetAddress): boolean {
  const { bytes } = address;
  if (isV4(address)) return bytes[0] === 127 || bytes[0] === 0;
  return isV6(address) && bytes[15] === 1 && allBytes(bytes.subarray(0, 15), 0);
}

/** Returns whether the address is the wildcard 0.0.0.0 or ::. */
export function isBindAny(address: NetAddress): boolean {
  return (isV4(address) || isV6(address)) && allBytes(address.bytes, 0);
}

/** Returns whether a host can have the address. */
export function isValid(address: NetAddress): boolean {
  switch (address.network) {
    case 'internal':
      return false;
    case 'cjdns':
      return hasCjdnsPrefix(address);
    case 'ipv4':
      return !allBytes(address.bytes, 0) && !allBytes(address.bytes, 0xff);
    case 'ipv6':
      return !allBytes(address.bytes, 0) && !isDocumentationV6(address);
    default:
      return true;
  }
}

const UNROUTABLE = [
  isPrivateV4,
  isBenchmark,
  isLinkLocalV4,
  isLinkLocalV6,
  isSharedV4,
  isTestNet1,
  isTestNet2,
  isTestNet3,
  isUniqueLocal,
  isOrchid,
  isLocal,
];

/** Returns whether the address is publicly routable. */
export function isRoutable(address: NetAddress): boolean {
  return isValid(address) && !UNROUTABLE.some((isIn) => isIn(address));
}

/** Returns the 4 bytes of the IPv4 address that a routable address is or embeds, or null. */
export function linkedIpv4(address: NetAddress): Uint8Array | null {
  if (!isRoutable(address)) return null;
  const { bytes } = address;
  if (isV4(address)) return bytes;
  if (isEmbedded(address) || isTranslated(address)) return bytes.subarray(12);
  if (is6to4(address)) return bytes.subarray(2, 6);
  // Teredo addresses contain the IPv4 address with all bits inverted.
  return isTeredo(address) ? bytes.slice(12).map((byte) => byte ^ 0xff) : null;
}
