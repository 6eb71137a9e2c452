import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { PartialBlock } from '../compact-block.ts';
import type { Peer } from '../peer/peer.ts';

/** A block that a peer was asked for. */
export interface BlockRequest {
  readonly peer: Peer;
  readonly entry: ChainEntry;
  /** Monotonic milliseconds at which it was asked. */
  readonly since: number;
  /** What a compact block gave of it. */
  partial: PartialBlock | null;
  /** It has come, and the chain is at work on it. */
  arrived: boolean;
}

/** A block may be asked of so many peers at once, where it comes as a compact block or is held back. */
export const MAX_REQUESTS_OF_BLOCK = 3;
/** Blocks that one peer is asked for at once. */
export const MAX_BLOCKS_PER_PEER = 16;

/** Which blocks have been asked of whom. */
export class BlockRequests {
  readonly #byBlock = new Map<ChainEntry, BlockRequest[]>();

  /** Blocks under way. */
  get size(): number {
    return this.#byBlock.size;
  }

  of(entry: ChainEntry): readonly BlockRequest[] {
    return this.#byBlock.get(entry) ?? [];
  }

  find(entry: ChainEntry, peer: Peer): BlockRequest | null {
    return this.of(entry).find((request) => request.peer === peer) ?? null;
  }

  has(entry: ChainEntry): boolean {
    return this.#byBlock.has(entry);
  }

  /** Notes that a peer was asked; what was noted before where it was. */
  add(peer: Peer, entry: ChainEntry, nowMs: number): BlockRequest {
    const present = this.find(entry, peer);
    if (present) return present;
    const request: BlockRequest = { peer, entry, since: nowMs, partial: null, arrived: false };
    const { inFlight } = peer.sync;
    if (inFlight.length === 0) peer.sync.downloadingSince = nowMs;
    inFlight.push(request);
    const requests = this.#byBlock.get(entry);
    if (requests) requests.push(request);
    else this.#byBlock.set(entry, [request]);
    return request;
  }

  /** Forgets that a block was asked of a peer, or of any. */
  remove(entry: ChainEntry, nowMs: number, peer: Peer | null = null): void {
    const requests = this.#byBlock.get(entry);
    if (!requests) return;
    const kept: BlockRequest[] = [];
    for (const request of requests) {
      if (peer !== null && request.peer !== peer) {
        kept.push(request);
        continue;
      }
      const { sync } = request.peer;
      const at = sync.inFlight.indexOf(request);
      // The next one is waited for from now on.
      if (at === 0) sync.downloadingSince = Math.max(sync.downloadingSince, nowMs);
      sync.inFlight.splice(at, 1);
      sync.stallingSince = 0;
    }
    if (kept.length > 0) this.#byBlock.set(entry, kept);
    else this.#byBlock.delete(entry);
  }

  /** Peers of whom blocks are waited for. */
  peersDownloadingFrom(): number {
    const peers = new Set<Peer>();
    for (const requests of this.#byBlock.values()) for (const { peer } of requests) peers.add(peer);
    return peers.size;
  }

  /** All that was asked of a peer that is gone. */
  closed(peer: Peer, nowMs: number): void {
    for (const { entry } of [...peer.sync.inFlight]) this.remove(entry, nowMs, peer);
  }
}
