import type { ChainEntry } from '../../chain/chain-entry.ts';
import type { FilterIndex } from '../../chain/filter-index.ts';
import { type BlockHash, hashToHex } from '../../primitives/hash.ts';
import { DecodeError } from '../../util/bytes.ts';
import type { LogFields } from '../../util/log-levels.ts';
import type { FilterRangeMessage, GetFilterCheckpointsMessage } from '../messages/filters.ts';
import type { Peer } from '../peer/peer.ts';
import type { PeerContext } from '../peer/peer-context.ts';
import { hasServices, SERVICES } from '../services.ts';
import { isBlockRequestAllowed } from './block-request-allowed.ts';

/** Filter type of the basic filter (BIP-158), the only one. */
const BASIC_FILTER = 0;
/** Limits of BIP-157 for one request. */
const MAX_FILTERS = 1000;
const MAX_FILTER_HASHES = 2000;
const CHECKPOINT_INTERVAL = 1000;

/** Filters, and index rows, that are read before the task yields: about a millisecond of work. */
const FILTERS_PER_SLICE = 16;
const ROWS_PER_SLICE = 256;

const NO_HEADER = new Uint8Array(32);

interface ValidRequest {
  readonly filters: FilterIndex;
  readonly stop: ChainEntry;
}

/**
 * Serves compact block filters (BIP-157). A request that violates the protocol disconnects the peer; one for blocks
 * whose filters are not built yet is not answered.
 */
export class ServeFilters {
  readonly #ctx: PeerContext;

  constructor(ctx: PeerContext) {
    this.#ctx = ctx;
  }

  async onGetCFilters(peer: Peer, { filterType, startHeight, stopHash }: FilterRangeMessage): Promise<void> {
    const { link } = peer;
    const wanted = this.#validateRequest(peer, filterType, stopHash, { startHeight, limit: MAX_FILTERS });
    if (wanted === null) return;
    const { filters, stop } = wanted;
    for (const [i, entry] of entriesTo(stop, startHeight).entries()) {
      if (link.sendQueueFull) await link.whenWritable();
      else if (i % FILTERS_PER_SLICE === FILTERS_PER_SLICE - 1) await new Promise(setImmediate);
      if (link.closed) return;
      const filter = this.#bytes(filters, entry);
      if (filter === null) return;
      link.send('cfilter', { filterType, blockHash: entry.hash, filter });
    }
  }

  async onGetCFHeaders(peer: Peer, { filterType, startHeight, stopHash }: FilterRangeMessage): Promise<void> {
    const { link } = peer;
    const wanted = this.#validateRequest(peer, filterType, stopHash, { startHeight, limit: MAX_FILTER_HASHES });
    if (wanted === null) return;
    const { filters, stop } = wanted;
    const previous = startHeight === 0 ? null : filters.findRecord(stop.ancestor(startHeight - 1)!);
    const hashes = await rows(peer, entriesTo(stop, startHeight), (entry) => filters.findRecord(entry)!.hash);
    if (hashes !== null)
      link.send('cfheaders', { filterType, stopHash, previousHeader: previous?.header ?? NO_HEADER, hashes });
  }

  async onGetCFCheckpt(peer: Peer, { filterType, stopHash }: GetFilterCheckpointsMessage): Promise<void> {
    const wanted = this.#validateRequest(peer, filterType, stopHash, null);
    if (wanted === null) return;
    const { filters, stop } = wanted;
    const checkpoints: ChainEntry[] = [];
    for (let height = CHECKPOINT_INTERVAL; height <= stop.height; height += CHECKPOINT_INTERVAL)
      checkpoints.push(stop.ancestor(height)!);
    const headers = await rows(peer, checkpoints, (entry) => filters.findRecord(entry)!.header);
    if (headers !== null) peer.link.send('cfcheckpt', { filterType, stopHash, headers });
  }

  /** Validates a request; returns null if it must not be answered. */
  #validateRequest(
    peer: Peer,
    filterType: number,
    stopHash: BlockHash,
    range: { readonly startHeight: number; readonly limit: number } | null,
  ): ValidRequest | null {
    const { chain, log, options } = this.#ctx;
    const { filters } = chain;
    const refuse = (reason: string, facts: LogFields): null => {
      peer.link.disconnect(reason, facts);
      return null;
    };
    if (filterType !== BASIC_FILTER || !hasServices(peer.offered(options.services), SERVICES.compactFilters))
      return refuse('block filters requested without the service', { filterType });
    const stop = chain.findEntry(stopHash);
    if (stop === null || !isBlockRequestAllowed(this.#ctx, stop))
      return refuse('block filters of an unknown block requested', { stopHash: hashToHex(stopHash) });
    if (range !== null && range.startHeight > stop.height) {
      const { startHeight } = range;
      return refuse('block filters of no blocks requested', { startHeight, stopHeight: stop.height });
    }
    if (range !== null && stop.height - range.startHeight >= range.limit) {
      const { startHeight, limit } = range;
      return refuse('too many block filters requested', { count: stop.height - startHeight + 1, limit });
    }
    // The index is built in order, so all ancestors of an indexed block are indexed.
    if (filters !== null && filters.findRecord(stop) !== null) return { filters, stop };
    log.debug('requested block filters are not built yet', { peer: peer.id, height: stop.height });
    return null;
  }

  #bytes(filters: FilterIndex, entry: ChainEntry): Uint8Array | null {
    try {
      return filters.readFilter(filters.findRecord(entry)!);
    } catch (error) {
      // Missing or corrupt filter files are neither the peer's fault nor a reason to stop the node.
      if (!(error instanceof DecodeError) && (error as NodeJS.ErrnoException).code === undefined) throw error;
      this.#ctx.log.error('block filter is unreadable', { height: entry.height, error });
      return null;
    }
  }
}

/** Returns the entries from a height up to `stop`. */
function entriesTo(stop: ChainEntry, startHeight: number): ChainEntry[] {
  const entries: ChainEntry[] = [];
  for (let at: ChainEntry | null = stop; at !== null && at.height >= startHeight; at = at.parent) entries.push(at);
  return entries.reverse();
}

/** Reads one row per entry and yields regularly; returns null if the peer disconnects meanwhile. */
async function rows<T>(
  { link }: Peer,
  entries: readonly ChainEntry[],
  read: (entry: ChainEntry) => T,
): Promise<T[] | null> {
  const all: T[] = [];
  for (const [i, entry] of entries.entries()) {
    if (i % ROWS_PER_SLICE === ROWS_PER_SLICE - 1) await new Promise(setImmediate);
    if (link.closed) return null;
    all.push(read(entry));
  }
  return all;
}
