import { type AddressNetwork, addressBytes, type NetAddress } from './net-address.ts';
import { isHeNet, isLocal, isRoutable, isTeredo, isTunnel, linkedIpv4 } from './ranges.ts';

/** Network of an address for statistics and selection; `unroutable` if it is not publicly routable. */
export type NetworkClass = AddressNetwork | 'unroutable';

/** Core's numbers of the networks, which are hashed. */
export const NETWORK_NUMBERS: Record<NetworkClass, number> = {
  unroutable: 0,
  ipv4: 1,
  ipv6: 2,
  onion: 3,
  i2p: 4,
  cjdns: 5,
  internal: 6,
};

/** Core's GetNetwork. */
export function networkOf(address: NetAddress): NetworkClass {
  if (address.network === 'internal') return 'internal';
  return isRoutable(address) ? address.network : 'unroutable';
}

/** Core's GetNetClass: as `networkOf`, but an IPv6 address that embeds an IPv4 address counts as IPv4. */
export function networkClassOf(address: NetAddress): NetworkClass {
  return linkedIpv4(address) === null ? networkOf(address) : 'ipv4';
}

/**
 * Core's GetGroup without a map of autonomous systems. Addresses of one group are likely to have one owner, so connections are spread over
 * groups: /16 of IPv4, /32 of IPv6 (/36 for he.net), the first 4 bits of other networks.
 */
export function netGroup(address: NetAddress): Uint8Array {
  const kind = networkClassOf(address);
  const group = [NETWORK_NUMBERS[kind]];
  const linked = linkedIpv4(address);
  if (linked !== null) return Uint8Array.of(...group, linked[0]!, linked[1]!);
  const bytes = addressBytes(address);
  if (isLocal(address)) return Uint8Array.from(group);
  switch (kind) {
    case 'unroutable':
      return Uint8Array.from(group);
    case 'internal':
      return Uint8Array.of(...group, ...address.bytes);
    case 'onion':
    case 'i2p':
      return Uint8Array.of(...group, ...leadingBits(bytes, 4));
    case 'cjdns':
      // The first byte is the same for all CJDNS addresses.
      return Uint8Array.of(...group, ...leadingBits(bytes, 12));
    default:
      return Uint8Array.of(...group, ...leadingBits(bytes, isHeNet(address) ? 36 : 32));
  }
}

/** Returns the first `bits` bits, padded with ones to whole bytes. */
function leadingBits(bytes: Uint8Array, bits: number): Uint8Array {
  const out = bytes.slice(0, Math.ceil(bits / 8));
  const rest = bits % 8;
  if (rest > 0) out[out.length - 1]! |= (1 << (8 - rest)) - 1;
  return out;
}

/** Scores of a local address for a peer, higher is better. */
const REACH = { unreachable: 0, default: 1, teredo: 2, ipv6Weak: 3, ipv4: 4, ipv6Strong: 5, private: 6 } as const;

/** Core's GetReachabilityFrom: returns a score for how well `partner` can reach `ours`; higher is better. */
export function reachabilityFrom(ours: NetAddress, partner: NetAddress): number {
  if (!isRoutable(ours)) return REACH.unreachable;
  const our = isTeredo(ours) ? 'teredo' : networkOf(ours);
  const their = isTeredo(partner) ? 'teredo' : networkOf(partner);
  if (their === 'ipv4') return our === 'ipv4' ? REACH.ipv4 : REACH.default;
  if (their === 'i2p' || their === 'cjdns') return our === their ? REACH.private : REACH.default;
  if (their === 'onion') return our === 'onion' ? REACH.private : our === 'ipv4' ? REACH.ipv4 : REACH.default;
  if (our === 'teredo') return REACH.teredo;
  if (our === 'ipv4') return REACH.ipv4;
  if (our === 'ipv6') {
    // A tunnelled address of ours is the second choice.
    return their === 'ipv6' && !isTunnel(ours) ? REACH.ipv6Strong : REACH.ipv6Weak;
  }
  return our === 'onion' && their !== 'ipv6' && their !== 'teredo' ? REACH.private : REACH.default;
}
