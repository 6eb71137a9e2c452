import type { Asmap } from './asmap.ts';
import { ipv4InIpv6, type NetAddress } from './net-address.ts';
import { NETWORK_NUMBERS, netGroup, networkClassOf } from './net-group.ts';
import { linkedIpv4 } from './ranges.ts';

const VERSION_SIZE = 32;

/** The groups of addresses: by a map of autonomous systems if there is one, otherwise by prefix (Core's NetGroupManager). */
export class NetGroups {
  readonly #asmap: Asmap | null;

  constructor(asmap: Asmap | null) {
    this.#asmap = asmap;
  }

  /** Hash of the map, 32 bytes; all zeros without one. */
  get version(): Uint8Array {
    return this.#asmap?.version ?? new Uint8Array(VERSION_SIZE);
  }

  get usesAsmap(): boolean {
    return this.#asmap !== null;
  }

  /**
   * Returns the number of the autonomous system of an address; 0 if it is unknown, or if the address is not of IPv4 or
   * IPv6.
   */
  mappedAs(address: NetAddress): number {
    if (this.#asmap === null) return 0;
    const kind = networkClassOf(address);
    if (kind !== 'ipv4' && kind !== 'ipv6') return 0;
    const linked = linkedIpv4(address);
    return this.#asmap.lookUp(linked === null ? address.bytes : ipv4InIpv6(linked));
  }

  /** Returns the group of an address. Addresses of one group are likely to have one owner. */
  groupOf(address: NetAddress): Uint8Array {
    const asn = this.mappedAs(address);
    if (asn === 0) return netGroup(address);
    // Addresses of IPv4 and IPv6 in one autonomous system are in one group.
    return Uint8Array.of(NETWORK_NUMBERS.ipv6, asn, asn >> 8, asn >> 16, asn >> 24);
  }
}

/** Groups by prefix. */
export const PREFIX_GROUPS = new NetGroups(null);
