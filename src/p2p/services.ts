/** Service bits, as nodes announce them. */
export const SERVICES = {
  /** Serves the whole chain. */
  network: 1n,
  /** BIP-111: filters for light clients. */
  bloom: 1n << 2n,
  /** BIP-144. */
  witness: 1n << 3n,
  /** BIP-157. */
  compactFilters: 1n << 6n,
  /** BIP-159: serves the last 288 blocks. */
  networkLimited: 1n << 10n,
  /** BIP-324. */
  p2pV2: 1n << 11n,
} as const;

/** What seeds are asked for, and what is assumed of the nodes they name. */
export const SEED_SERVICES = SERVICES.network | SERVICES.witness;

export function hasServices(services: bigint, wanted: bigint): boolean {
  return (services & wanted) === wanted;
}

/** Whether a node is likely to know many addresses: light clients do not. */
export function mayKnowAddresses(services: bigint): boolean {
  return (services & (SERVICES.network | SERVICES.networkLimited)) !== 0n;
}
