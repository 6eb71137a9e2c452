import { parseBlock } from '../primitives/block.ts';
import { medianTime } from '../queries/block-facts.ts';
import type { ChainReads } from '../storage/chain-reads.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { equalBytes } from '../util/bytes.ts';
import { type BlockRows, displayHex } from './block-rows.ts';
import { connectedEvent, type NamedBlock, type SinkEvent } from './sink-events.ts';

/** Blocks that follow each other in the active chain, with the rows and events of all of them. */
export interface BlockBatch {
  readonly rows: BlockRows;
  readonly events: readonly SinkEvent[];
  readonly blocks: readonly NamedBlock[];
  /** The last block. */
  readonly last: HeaderRecord;
}

/** Facts of the events of a batch besides the blocks. */
interface BatchFacts {
  readonly halvingInterval: number;
  /** Unix seconds. */
  readonly time: number;
  readonly reorg: boolean;
  readonly initialSync: boolean;
}

/** Bounds of a batch: bytes of its blocks, and their number. A batch holds one block at least. */
const BATCH_BYTES = 4 << 20;
const BATCH_BLOCKS = 500;

/** Reads a batch block by block. Other tasks of the thread may run between two blocks. */
export class BatchReader {
  readonly #reads: ChainReads;
  readonly #facts: BatchFacts;
  readonly #rows: BlockRows;
  readonly #events: SinkEvent[] = [];
  readonly #blocks: NamedBlock[] = [];
  #last: HeaderRecord | null = null;
  #bytes = 0;

  /** `rows` is empty, and belongs to the batch from now on. */
  constructor(reads: ChainReads, rows: BlockRows, facts: BatchFacts) {
    this.#reads = reads;
    this.#rows = rows;
    this.#facts = facts;
  }

  /**
   * Adds the block of the active chain behind `previous`, which is -1 and null before the first block. Returns false if the
   * batch is full, or if there is no such block: above the tip, or since a reorg. Throws BlockPruned where its body or undo
   * data are no longer stored.
   */
  addNext(previous: { readonly height: number; readonly hash: Uint8Array | null }): boolean {
    return this.#reads.snapshot(() => {
      const record = this.#reads.headers.byHeight(previous.height + 1);
      if (record === null || this.#blocks.length === BATCH_BLOCKS) return false;
      if (previous.hash !== null && !equalBytes(record.header.subarray(4, 36), previous.hash)) return false;
      const size = record.stats?.size ?? 0;
      if (this.#last !== null && this.#bytes + size > BATCH_BYTES) return false;
      this.#bytes += size;
      return this.#addBlock(record);
    });
  }

  /** The last block; null before the first. */
  get last(): HeaderRecord | null {
    return this.#last;
  }

  /** Returns what was added; null without a block. */
  finish(): BlockBatch | null {
    const last = this.#last;
    return last && { rows: this.#rows, events: this.#events, blocks: this.#blocks, last };
  }

  #addBlock(record: HeaderRecord): boolean {
    const reads = this.#reads;
    const { height, chainwork, fees } = record;
    const raw = reads.rawBlock(record);
    const undo = raw && reads.rawUndo(record);
    // The genesis block has no undo data. Those of other blocks are missing behind a loaded UTXO set until it is validated.
    if (raw === null || (undo === null && height > 0)) return false;
    const median = medianTime(reads, record, true);
    const block = parseBlock(raw);
    const made = { height, block, chainwork, medianTime: median, undo: undo ?? new Uint8Array(), fees: fees ?? 0 };
    // The end of the first fill sums the balances.
    this.#rows.addBlock(made, !this.#facts.initialSync);
    const hash = displayHex(record.hash);
    const { halvingInterval, ...facts } = this.#facts;
    this.#events.push(
      connectedEvent(record, {
        ...facts,
        ...{ hash, medianTime: median, headers: reads.tip().height },
        params: { subsidyHalvingInterval: halvingInterval },
      }),
    );
    this.#blocks.push({ height, hash });
    this.#last = record;
    return true;
  }
}
