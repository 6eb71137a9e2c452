/** Service bits of nodes. */
export const SERVICES = {
  /** NODE_NETWORK: serves the whole chain. */
  network: 1n,
  /** NODE_BLOOM: serves bloom filters (BIP-111). */
  bloom: 1n << 2n,
  /** NODE_WITNESS: serves witnesses (BIP-144). */
  witness: 1n << 3n,
  /** NODE_COMPACT_FILTERS: serves block filters (BIP-157). */
  compactFilters: 1n << 6n,
  /** NODE_NETWORK_LIMITED: serves the last 288 blocks (BIP-159). */
  networkLimited: 1n << 10n,
  /** NODE_P2P_V2: supports the v2 transport (BIP-324). */
  p2pV2: 1n << 11n,
} as const;

/** Services requested from DNS seeds and assumed of the nodes they return. */
export const SEED_SERVICES = SERVICES.network | SERVICES.witness;

export function hasServices(services: bigint, wanted: bigint): boolean {
  return (services & wanted) === wanted;
}

/** Returns whether a node is likely to know many addresses (Core's MayHaveUsefulAddressDB). */
export function mayKnowAddresses(services: bigint): boolean {
  return (services & (SERVICES.network | SERVICES.networkLimited)) !== 0n;
}
