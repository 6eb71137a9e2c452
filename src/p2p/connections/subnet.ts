import { bytesToHex } from '../../util/bytes.ts';
import { parsePrefix, sharePrefix } from '../../util/ip-address.ts';
import { parseNetAddress, printAddress } from '../address/address-text.ts';
import type { AddressNetwork, NetAddress } from '../address/net-address.ts';
import { isValid } from '../address/ranges.ts';

/** Addresses with a common prefix. For networks other than IPv4 and IPv6 it is always a single address. */
export interface Subnet {
  readonly address: NetAddress;
  readonly prefix: number;
}

/** Returns the subnet of a single address. */
function subnetOf(address: NetAddress): Subnet {
  return { address, prefix: address.bytes.length * 8 };
}

/**
 * Parses an address, `address/bits` or `address/mask`. Returns null for anything else, such as a mask that is not
 * contiguous.
 */
export function parseSubnet(text: string): Subnet | null {
  const slash = text.lastIndexOf('/');
  const address = parseNetAddress(slash < 0 ? text : text.slice(0, slash));
  if (address === null) return null;
  if (slash < 0) return subnetOf(address);
  if (address.network !== 'ipv4' && address.network !== 'ipv6') return null;
  const prefix = prefixOf(text.slice(slash + 1), address);
  return prefix === null ? null : { address: { ...address, bytes: maskedBytes(address.bytes, prefix) }, prefix };
}

/** Formats a subnet as Core does: with its prefix length, except on networks with single addresses only. */
export function printSubnet({ address, prefix }: Subnet): string {
  const text = printAddress(address);
  return address.network === 'ipv4' || address.network === 'ipv6' ? `${text}/${prefix}` : text;
}

export function isInSubnet(address: NetAddress, { address: base, prefix }: Subnet): boolean {
  if (familyOf(address.network) !== familyOf(base.network) || !isValid(address)) return false;
  return sharePrefix(address.bytes, base.bytes, prefix);
}

/** Returns the `Map` key of the subnet with this prefix length that contains the address. */
export function subnetKey({ network, bytes }: NetAddress, prefix: number): string {
  return `${familyOf(network)}:${bytesToHex(maskedBytes(bytes, prefix))}/${prefix}`;
}

/** Text does not distinguish CJDNS from IPv6, and no host has addresses of fc00::/8 in both. */
function familyOf(network: AddressNetwork): AddressNetwork {
  return network === 'cjdns' ? 'ipv6' : network;
}

function maskedBytes(bytes: Uint8Array, prefix: number): Uint8Array {
  const out = bytes.slice();
  for (let i = 0; i < out.length; i++) {
    const bits = Math.max(0, Math.min(8, prefix - i * 8));
    out[i]! &= (0xff00 >> bits) & 0xff;
  }
  return out;
}

function prefixOf(text: string, { network, bytes }: NetAddress): number | null {
  const bits = parsePrefix(text, bytes.length);
  if (bits !== null) return bits;
  // A valid mask consists of ones followed by zeros.
  const mask = parseNetAddress(text);
  if (mask === null || mask.network !== network) return null;
  let prefix = 0;
  while (prefix < bytes.length * 8 && bitAt(mask.bytes, prefix)) prefix++;
  for (let bit = prefix; bit < bytes.length * 8; bit++) if (bitAt(mask.bytes, bit)) return null;
  return prefix;
}

function bitAt(bytes: Uint8Array, bit: number): boolean {
  return ((bytes[bit >> 3]! >> (7 - (bit & 7))) & 1) === 1;
}
