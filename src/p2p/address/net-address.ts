import { sha256 } from '../../crypto/hash-functions.ts';
import { assert } from '../../util/assert.ts';
import { bytesToHex, concatBytes, DecodeError, equalBytes } from '../../util/bytes.ts';

/** Network of an address. `internal` addresses represent a name, such as a DNS seed, and are never sent. */
export type AddressNetwork = 'ipv4' | 'ipv6' | 'onion' | 'i2p' | 'cjdns' | 'internal';

/**
 * An address without port. Size in bytes by network: IPv4 4, IPv6 16, Tor v3 key 32, I2P hash 32, CJDNS 16, internal
 * 10. Network byte order.
 */
export interface NetAddress {
  readonly network: AddressNetwork;
  readonly bytes: Uint8Array;
}

/** Address and port of a node (Core's CService). */
export interface NetService {
  readonly address: NetAddress;
  readonly port: number;
}

/** An address as it is relayed between nodes (Core's CAddress). */
export interface PeerAddress extends NetService {
  /** Unix seconds at which the node was last seen. */
  readonly time: number;
  /** Announced service bits. */
  readonly services: bigint;
}

const SIZES: Record<AddressNetwork, number> = { ipv4: 4, ipv6: 16, onion: 32, i2p: 32, cjdns: 16, internal: 10 };
const IPV6_SIZE = 16;

/** Prefix of an IPv4-mapped address in 16 bytes. */
const IPV4_PREFIX = Uint8Array.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff);
const TOR_V2_PREFIX = Uint8Array.of(0xfd, 0x87, 0xd8, 0x7e, 0xeb, 0x43);
/** 0xfd and the first five bytes of the SHA-256 of "bitcoin". */
const INTERNAL_PREFIX = Uint8Array.of(0xfd, 0x6b, 0x88, 0xc0, 0x87, 0x24);
const CJDNS_PREFIX = 0xfc;

/** The address `::`, which no node has. Addresses of unsupported networks are decoded as this one. */
export const UNSPECIFIED: NetAddress = { network: 'ipv6', bytes: new Uint8Array(IPV6_SIZE) };

/** BIP-155 network ids. Id 3 was Tor v2, which is no longer in use. */
const NETWORK_IDS = { ipv4: 1, ipv6: 2, onion: 4, i2p: 5, cjdns: 6 } as const;
const NETWORK_BY_ID = new Map<number, AddressNetwork>(
  Object.entries(NETWORK_IDS).map(([network, id]) => [id, network as AddressNetwork]),
);

export function hasPrefix(bytes: Uint8Array, prefix: Uint8Array | readonly number[]): boolean {
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false;
  return true;
}

/** Returns an internal address that represents a name. */
export function internalAddress(name: string): NetAddress {
  assert(name !== '', 'a name');
  return { network: 'internal', bytes: sha256(new TextEncoder().encode(name)).slice(0, SIZES.internal) };
}

/** Returns the IPv4-mapped IPv6 address of 4 bytes. */
export function ipv4InIpv6(bytes: Uint8Array): Uint8Array {
  return concatBytes(IPV4_PREFIX, bytes);
}

/** Decodes the 16-byte format used before BIP-155, in which other networks are embedded in IPv6. */
export function addressFromV1(bytes: Uint8Array): NetAddress {
  assert(bytes.length === IPV6_SIZE, 'an old address has 16 bytes');
  if (hasPrefix(bytes, IPV4_PREFIX)) return { network: 'ipv4', bytes: bytes.slice(IPV4_PREFIX.length) };
  if (hasPrefix(bytes, TOR_V2_PREFIX)) return UNSPECIFIED;
  if (hasPrefix(bytes, INTERNAL_PREFIX)) return { network: 'internal', bytes: bytes.slice(INTERNAL_PREFIX.length) };
  return { network: 'ipv6', bytes: bytes.slice() };
}

/** Encodes the 16-byte format used before BIP-155; all zeros for networks that it cannot represent. */
export function addressToV1({ network, bytes }: NetAddress): Uint8Array {
  switch (network) {
    case 'ipv6':
      return bytes;
    case 'ipv4':
      return ipv4InIpv6(bytes);
    case 'internal':
      return concatBytes(INTERNAL_PREFIX, bytes);
    default:
      return UNSPECIFIED.bytes;
  }
}

/** Returns whether the 16-byte format used before BIP-155 can represent the address. */
export function isV1Compatible({ network }: NetAddress): boolean {
  return network === 'ipv4' || network === 'ipv6' || network === 'internal';
}

/** Returns the BIP-155 network id and address bytes. */
export function addressToBip155(address: NetAddress): { id: number; bytes: Uint8Array } {
  if (address.network === 'internal') return { id: NETWORK_IDS.ipv6, bytes: addressToV1(address) };
  return { id: NETWORK_IDS[address.network], bytes: address.bytes };
}

/**
 * Decodes a BIP-155 network id and address bytes. Throws DecodeError if the size is wrong for a known network. An
 * address of an unknown network, or one embedded in IPv6, is decoded as unspecified.
 */
export function addressFromBip155(id: number, bytes: Uint8Array): NetAddress {
  const network = NETWORK_BY_ID.get(id);
  if (network === undefined) return UNSPECIFIED;
  const size = SIZES[network];
  if (bytes.length !== size)
    throw new DecodeError(`BIP155 ${network} address with length ${bytes.length} (should be ${size})`);
  if (network !== 'ipv6') return { network, bytes: bytes.slice() };
  if (hasPrefix(bytes, IPV4_PREFIX)) return UNSPECIFIED;
  return addressFromV1(bytes);
}

export function hasCjdnsPrefix({ bytes }: NetAddress): boolean {
  return bytes[0] === CJDNS_PREFIX;
}

export function equalAddresses(a: NetAddress, b: NetAddress): boolean {
  return a.network === b.network && equalBytes(a.bytes, b.bytes);
}

export function equalServices(a: NetService, b: NetService): boolean {
  return a.port === b.port && equalAddresses(a.address, b.address);
}

/** Returns a key for `Map` and `Set`. */
export function serviceKey({ address, port }: NetService): string {
  return `${address.network}:${bytesToHex(address.bytes)}:${port}`;
}

/**
 * Returns the bytes that represent the address in hashes: the 16-byte format if possible, otherwise the bytes of its
 * network.
 */
export function addressBytes(address: NetAddress): Uint8Array {
  return isV1Compatible(address) ? addressToV1(address) : address.bytes;
}
