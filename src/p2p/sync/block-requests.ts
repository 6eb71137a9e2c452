import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { BlockRequest, Peer } from '../peer/peer.ts';

/** Maximum number of peers that one block is requested from (Core's MAX_CMPCTBLOCKS_INFLIGHT_PER_BLOCK). */
export const MAX_REQUESTS_OF_BLOCK = 3;
/** Maximum number of blocks in flight per peer (Core's MAX_BLOCKS_IN_TRANSIT_PER_PEER). */
export const MAX_BLOCKS_PER_PEER = 16;

/** The blocks in flight, by block and by peer. */
export class BlockRequests {
  readonly #byBlock = new Map<ChainEntry, BlockRequest[]>();

  /** Number of blocks in flight. */
  get size(): number {
    return this.#byBlock.size;
  }

  requestsFor(entry: ChainEntry): readonly BlockRequest[] {
    return this.#byBlock.get(entry) ?? [];
  }

  find(entry: ChainEntry, peer: Peer): BlockRequest | null {
    return this.requestsFor(entry).find((request) => request.peer === peer) ?? null;
  }

  has(entry: ChainEntry): boolean {
    return this.#byBlock.has(entry);
  }

  /** Adds a request, or returns the existing one of this peer. */
  add(peer: Peer, entry: ChainEntry, nowMs: number): BlockRequest {
    const present = this.find(entry, peer);
    if (present) return present;
    const request: BlockRequest = {
      peer,
      entry,
      since: nowMs,
      partial: null,
      reconstructionFailed: false,
      arrived: false,
    };
    const { inFlight } = peer.sync;
    if (inFlight.length === 0) peer.sync.downloadingSince = nowMs;
    inFlight.push(request);
    const requests = this.#byBlock.get(entry);
    if (requests) requests.push(request);
    else this.#byBlock.set(entry, [request]);
    return request;
  }

  /** Removes the requests of a block from one peer, or from all peers. */
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
      // The next block of the peer becomes the first in flight, so its timer starts.
      if (at === 0) sync.downloadingSince = Math.max(sync.downloadingSince, nowMs);
      sync.inFlight.splice(at, 1);
      sync.stallingSince = 0;
    }
    if (kept.length > 0) this.#byBlock.set(entry, kept);
    else this.#byBlock.delete(entry);
  }

  /** Returns the number of peers with blocks in flight. */
  peersDownloadingFrom(): number {
    const peers = new Set<Peer>();
    for (const requests of this.#byBlock.values()) for (const { peer } of requests) peers.add(peer);
    return peers.size;
  }

  /** Removes all requests of a disconnected peer. */
  removePeer(peer: Peer, nowMs: number): void {
    for (const { entry } of [...peer.sync.inFlight]) this.remove(entry, nowMs, peer);
  }
}
