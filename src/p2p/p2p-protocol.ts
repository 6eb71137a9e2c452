import { VERSION } from '../util/build-version.ts';
import { hasServices, SERVICES } from './services.ts';

/** Our protocol version. The constants below are the versions that introduced a feature. */
export const PROTOCOL_VERSION = 70_017;
/** Minimum protocol version of a peer. */
export const MIN_PEER_VERSION = 31_800;
/** Last version before BIP-31: later ones send pings with a nonce. */
export const PING_NONCE_VERSION = 60_000;
/** BIP-130. */
export const SENDHEADERS_VERSION = 70_012;
/** BIP-133. */
export const FEEFILTER_VERSION = 70_013;
/** BIP-152. */
export const COMPACT_BLOCKS_VERSION = 70_014;
/** BIP-152: from this version on, peers are not punished for relaying a compact block that proves invalid. */
export const INVALID_COMPACT_VERSION = 70_015;
/** BIP-339 and BIP-155. */
export const WTXID_RELAY_VERSION = 70_016;
/** BIP-434. */
export const FEATURE_VERSION = 70_017;

/** Compact block version with short ids of wtxids, the only supported one. */
export const COMPACT_BLOCKS = 2n;

/** Returns the name of this node for peers (BIP-14). */
export function userAgentOf(comments: readonly string[]): string {
  const suffix = comments.length === 0 ? '' : `(${comments.join('; ')})`;
  return `/Obverse:${VERSION}${suffix}/`;
}

/** Number of recent blocks that a NODE_NETWORK_LIMITED peer serves (BIP-159). */
export const LIMITED_BLOCKS = 288;

/** Returns whether a peer serves blocks, at least the last 288. */
export function servesBlocks(services: bigint): boolean {
  return (services & (SERVICES.network | SERVICES.networkLimited)) !== 0n;
}

export function servesWitness(services: bigint): boolean {
  return (services & SERVICES.witness) !== 0n;
}

/** Returns whether a peer serves only the last 288 blocks (BIP-159). */
export function isLimited(services: bigint): boolean {
  return (services & SERVICES.network) === 0n && (services & SERVICES.networkLimited) !== 0n;
}

/** Missing blocks below which the blocks of a limited peer suffice. Core's NODE_NETWORK_LIMITED_ALLOW_CONN_BLOCKS. */
const FEW_BLOCKS = 144;

/** Returns the number of blocks that are probably missing, by the age of the tip. */
export function missingBlocks(tipTime: number, now: number, spacing: number): number {
  return (now - tipTime) / spacing;
}

/** Returns the services that an outbound peer must offer. With few missing blocks, a limited peer is enough. */
export function desirableServices(services: bigint, missing: number): bigint {
  const isEnough = (services & SERVICES.networkLimited) !== 0n && missing < FEW_BLOCKS;
  return (isEnough ? SERVICES.networkLimited : SERVICES.network) | SERVICES.witness;
}

/** Returns whether the services suffice for an outbound peer. */
export function servesWhatWeNeed(services: bigint, missing: number): boolean {
  return hasServices(services, desirableServices(services, missing));
}
