import { VERSION } from '../util/version.ts';
import { SERVICES } from './services.ts';

/** What we announce. Versions below name what came with them. */
export const PROTOCOL_VERSION = 70_016;
/** Peers that speak less are turned away. */
export const MIN_PEER_VERSION = 31_800;
/** BIP-31: pings carry a nonce. */
export const PING_NONCE_VERSION = 60_000;
/** BIP-130. */
export const SENDHEADERS_VERSION = 70_012;
/** BIP-133. */
export const FEEFILTER_VERSION = 70_013;
/** BIP-152. */
export const COMPACT_BLOCKS_VERSION = 70_014;
/** From here on nobody is blamed for a compact block that proves invalid (BIP-152). */
export const INVALID_COMPACT_VERSION = 70_015;
/** BIP-339 and BIP-155. */
export const WTXID_RELAY_VERSION = 70_016;

/** The version of compact blocks that names transactions by wtxid, the only one there still is. */
export const COMPACT_BLOCKS = 2n;

/** BIP-14. */
export const USER_AGENT = `/Obverse:${VERSION}/`;

/** Blocks that a node with `networkLimited` alone has. */
export const LIMITED_BLOCKS = 288;

/** Whether a peer has the blocks, or the last ones. */
export function servesBlocks(services: bigint): boolean {
  return (services & (SERVICES.network | SERVICES.networkLimited)) !== 0n;
}

export function servesWitness(services: bigint): boolean {
  return (services & SERVICES.witness) !== 0n;
}

/** Only the last blocks. */
export function isLimited(services: bigint): boolean {
  return (services & SERVICES.network) === 0n && (services & SERVICES.networkLimited) !== 0n;
}

/** What an outbound peer must serve; the last blocks are enough once we have the others. */
export function servesWhatWeNeed(services: bigint, nearTip: boolean): boolean {
  const blocks = nearTip ? servesBlocks(services) : (services & SERVICES.network) !== 0n;
  return blocks && servesWitness(services);
}
