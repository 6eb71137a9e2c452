import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import type { Peer } from '../peer/peer.ts';

/**
 * Core's UpdateBlockAvailability: the peer announced a block. Its entry may become the peer's best known block; if we
 * do not have its header yet, the hash is remembered.
 */
export function updateBlockAvailability(peer: Peer, hash: BlockHash, chain: Chain): void {
  processBlockAvailability(peer, chain);
  const entry = chain.findEntry(hash);
  if (entry !== null && entry.chainwork > 0n) updateBestKnown(peer, entry);
  else peer.sync.unknownBlock = hash.slice() as BlockHash;
}

export function updateBestKnown({ sync }: Peer, entry: ChainEntry): void {
  if (sync.bestKnown === null || entry.chainwork >= sync.bestKnown.chainwork) sync.bestKnown = entry;
}

/** Core's ProcessBlockAvailability: checks whether the header of the remembered block is known by now. */
export function processBlockAvailability(peer: Peer, chain: Chain): void {
  const { sync } = peer;
  if (sync.unknownBlock === null) return;
  const entry = chain.findEntry(sync.unknownBlock);
  if (entry === null) return;
  updateBestKnown(peer, entry);
  sync.unknownBlock = null;
}

/** Core's PeerHasHeader: returns whether the peer announced this header or a descendant, or was sent one. */
export function hasHeader({ sync }: Peer, entry: ChainEntry): boolean {
  const has = (of: ChainEntry | null) => of?.ancestor(entry.height) === entry;
  return has(sync.bestKnown) || has(sync.bestHeaderSent);
}

/** Returns whether an entry is in the active chain. */
export function isActive(chain: Chain, entry: ChainEntry): boolean {
  return chain.tip.ancestor(entry.height) === entry;
}

/**
 * Core's FindForkInGlobalIndex: returns the last block of the active chain that a locator names, or the genesis block.
 */
export function locatorFork(chain: Chain, locator: readonly BlockHash[]): ChainEntry {
  for (const hash of locator) {
    const entry = chain.findEntry(hash);
    if (entry === null) continue;
    if (isActive(chain, entry)) return entry;
    // The locator names a descendant of our tip.
    if (entry.ancestor(chain.height) === chain.tip) return chain.tip;
  }
  return chain.tip.ancestor(0)!;
}
