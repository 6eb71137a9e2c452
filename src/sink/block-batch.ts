import { parseBlock } from '../primitives/block.ts';
import { hashFromHex, hashToHex } from '../primitives/hash.ts';
import { medianTime } from '../queries/block-facts.ts';
import { BlockPruned, type ChainReads } from '../storage/chain-reads.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { type BalanceChange, BlockRows } from './block-rows.ts';
import { totalsAt } from './chain-totals.ts';
import { connectedEvent, type NamedBlock, type SinkEvent } from './sink-events.ts';
import type { RowTable } from './sink-schema.ts';

/** The batch of blocks to read. */
export interface RowsRequest {
  /** The block of the active chain before the batch; of height -1 before the genesis block. */
  readonly after: NamedBlock;
  readonly halvingInterval: number;
  /** Time of the events, Unix seconds. */
  readonly time: number;
  /** Whether the blocks follow disconnected ones. */
  readonly reorg: boolean;
  /** Whether the database is filled for the first time; the balances are summed at the end of that. */
  readonly initialSync: boolean;
}

/** A batch to read from the chain in a folder. */
export interface RowsJob extends RowsRequest {
  readonly chainDir: string;
}

/** Blocks that follow each other in the active chain, with the rows and events of all of them. It can be sent to a thread. */
export interface BlockBatch {
  /** Rows in the text format of COPY. */
  readonly tables: Readonly<Record<RowTable, Uint8Array<ArrayBuffer>>>;
  /** Number of rows in all tables. */
  readonly rows: number;
  readonly balances: readonly BalanceChange[];
  readonly events: readonly SinkEvent[];
  readonly blocks: readonly NamedBlock[];
  readonly chainwork: bigint;
}

/** `pruneHeight`: the next block is no longer stored, and blocks are from this height on. */
export type BatchReply = BlockBatch | { readonly pruneHeight: number } | null;

interface AddedBlock {
  readonly record: HeaderRecord;
  readonly event: SinkEvent;
}

/** Bounds of a batch: bytes of its blocks, and their number. A batch holds one block at least. */
const BATCH_BYTES = 2 << 20;
const BATCH_BLOCKS = 500;

/** Reads batches of blocks, one after the other. */
export class BatchReader {
  readonly #reads: ChainReads;
  /** Holds its memory for the next batch. */
  readonly #rows = new BlockRows();

  constructor(reads: ChainReads) {
    this.#reads = reads;
  }

  /** Returns the blocks behind a block; null above the tip, and where a reorg has disconnected that block. Calls `onProgress` before each. */
  readBatch(request: RowsRequest, onProgress: () => void = () => {}): BatchReply {
    const { after } = request;
    const rows = this.#rows;
    const events: SinkEvent[] = [];
    const blocks: NamedBlock[] = [];
    let last: HeaderRecord | null = null;
    let bytes = 0;
    rows.clear();
    try {
      while (blocks.length < BATCH_BLOCKS) {
        onProgress();
        const height: number = (last ?? after).height + 1;
        const previous: Uint8Array | null = last?.hash ?? (height === 0 ? null : hashFromHex(after.hash));
        const room: number = last === null ? Number.POSITIVE_INFINITY : BATCH_BYTES - bytes;
        const add = (): AddedBlock | null => this.#addNext(height, previous, room, request);
        const next: AddedBlock | null = this.#reads.snapshot(add);
        if (next === null) break;
        const { record, event }: AddedBlock = next;
        last = record;
        bytes += record.stats!.size;
        events.push(event);
        blocks.push({ height, hash: hashToHex(record.hash) });
      }
    } catch (error) {
      if (!(error instanceof BlockPruned)) throw error;
      if (last === null) return { pruneHeight: error.pruneHeight };
    }
    if (last === null) return null;
    const { count: number } = rows;
    const balances = [...rows.balances.values()];
    return { tables: rows.encodedTables(), rows: number, balances, events, blocks, chainwork: last.chainwork };
  }

  /** Adds the rows of a block of the active chain. Returns null if there is none, or if it is larger than `room`, bytes. */
  #addNext(height: number, previous: Uint8Array | null, room: number, request: RowsRequest): AddedBlock | null {
    const reads = this.#reads;
    const record = reads.headers.byHeight(height);
    if (record === null) return null;
    if (previous !== null && !equalBytes(record.header.subarray(4, 36), previous)) return null;
    if ((record.stats?.size ?? 0) > room) return null;
    const raw = reads.rawBlock(record);
    const undo = raw && reads.rawUndo(record);
    // The genesis block has no undo data. Those of other blocks are missing behind a loaded UTXO set until it is validated.
    const totals = totalsAt(reads, height);
    if (raw === null || totals === null || (undo === null && height > 0)) return null;
    const { chainwork, fees } = record;
    const { halvingInterval, time, reorg, initialSync } = request;
    const median = medianTime(reads, record, true);
    const block = parseBlock(raw);
    const made = {
      height,
      block,
      chainwork,
      medianTime: median,
      undo: undo ?? new Uint8Array(),
      fees: fees ?? 0,
      totals,
    };
    this.#rows.addBlock(made, !initialSync);
    const event = connectedEvent(record, {
      ...{ hash: hashToHex(record.hash), medianTime: median, headers: reads.tip().height },
      ...{ time, reorg, initialSync, params: { subsidyHalvingInterval: halvingInterval } },
    });
    return { record, event };
  }
}
