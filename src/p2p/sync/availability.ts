import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockHash } from '../../primitives/hash.ts';
import type { Peer } from '../peer/peer.ts';

/** The peer has this block: takes it for the end of its chain, or remembers its hash until the header comes. */
export function noteBlock(peer: Peer, hash: BlockHash, chain: Chain): void {
  resolveUnknown(peer, chain);
  const entry = chain.get(hash);
  if (entry !== null && entry.chainwork > 0n) noteEntry(peer, entry);
  else peer.sync.unknownBlock = hash.slice() as BlockHash;
}

export function noteEntry({ sync }: Peer, entry: ChainEntry): void {
  if (sync.bestKnown === null || entry.chainwork >= sync.bestKnown.chainwork) sync.bestKnown = entry;
}

/** The block of which only the hash was known may be known by now. */
export function resolveUnknown(peer: Peer, chain: Chain): void {
  const { sync } = peer;
  if (sync.unknownBlock === null) return;
  const entry = chain.get(sync.unknownBlock);
  if (entry === null) return;
  noteEntry(peer, entry);
  sync.unknownBlock = null;
}

/** Whether the peer must have this header: it has told of it or was sent it, or of one above. */
export function hasHeader({ sync }: Peer, entry: ChainEntry): boolean {
  const has = (of: ChainEntry | null) => of?.ancestor(entry.height) === entry;
  return has(sync.bestKnown) || has(sync.bestHeaderSent);
}

/** Whether an entry is in the active chain. */
export function isActive(chain: Chain, entry: ChainEntry): boolean {
  return chain.tip.ancestor(entry.height) === entry;
}

/** Where a peer's chain leaves ours, as far as its locator tells; the genesis block where nothing is known. */
export function locatorFork(chain: Chain, locator: readonly BlockHash[]): ChainEntry {
  for (const hash of locator) {
    const entry = chain.get(hash);
    if (entry === null) continue;
    if (isActive(chain, entry)) return entry;
    // It follows a chain on top of ours.
    if (entry.ancestor(chain.height) === chain.tip) return chain.tip;
  }
  return chain.tip.ancestor(0)!;
}
