import { join } from 'node:path';
import { readTxUndo } from '../primitives/undo.ts';
import type { TxIndexName } from '../storage/index-store.ts';
import { IMAGE_LIMIT } from '../storage/runs/merge-runs.ts';
import { type BuiltRun, buildRun } from '../storage/runs/run-builder.ts';
import type { RunFamily } from '../storage/runs/run-family.ts';
import { runFileName, runFolder } from '../storage/runs/run-manifest.ts';
import { ScriptKeys } from '../storage/script-store.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';
import { IndexRows } from './index-rows.ts';
import { readStoredBlocks, type StoredBlock } from './job-block-reader.ts';

/** Blocks whose rows are added to indexes or removed from them. All of it can be sent to a worker. */
export interface IndexJob {
  readonly chainDir: string;
  readonly indexes: readonly TxIndexName[];
  /** Whether the rows are removed; the highest block comes first then, and the lowest otherwise. */
  readonly removed: boolean;
  readonly blocks: readonly StoredBlock[];
  /** Salt of the keys of scripts. */
  readonly scriptSalt: Uint8Array;
  /** Ids of the new runs, by the number of their family. */
  readonly runIds: ReadonlyMap<number, number>;
}

/** Rows of the table of positions, in the order of blocks and transactions. */
export interface PositionRows {
  /** Number of transactions of each block. */
  readonly counts: Uint32Array;
  /** 32 bytes each. */
  readonly txids: Uint8Array;
  readonly offsets: Uint32Array;
  readonly undoOffsets: Uint32Array;
}

/** A run that is built and not listed yet. */
interface NamedRun {
  readonly family: RunFamily;
  readonly id: number;
  readonly run: BuiltRun;
}

export interface IndexJobResult {
  readonly runs: readonly NamedRun[];
  /** Null if no positions are added. */
  readonly positions: PositionRows | null;
}

/**
 * Reads the blocks and builds the runs of their rows, in files where they are large. Calls `onProgress` now and then.
 * Throws if a block cannot be read.
 */
export function runIndexJob(job: IndexJob, onProgress: () => void = () => {}): IndexJobResult {
  const { chainDir, removed, blocks } = job;
  const indexes = new Set(job.indexes);
  const rows = new IndexRows();
  const positions = indexes.has('positions') && !removed ? new PositionRowsWriter() : null;
  for (const { stored, block, undo } of readStoredBlocks(chainDir, blocks, onProgress)) {
    rows.addBlock(block, undo, { height: stored.height, indexes, removed });
    positions?.addBlock(block.txs, block.txids, undo);
  }
  const runs: NamedRun[] = [];
  for (const batch of rows.batches(new ScriptKeys(job.scriptSalt))) {
    onProgress();
    if (batch.count === 0) continue;
    const { family } = batch;
    const id = job.runIds.get(family.code)!;
    const path = batch.bytes <= IMAGE_LIMIT ? null : join(runFolder(chainDir), runFileName(id, family));
    runs.push({ family, id, run: buildRun(family, id, path, batch.count, (builder) => batch.writeTo(builder)) });
  }
  return { runs, positions: positions?.finish() ?? null };
}

class PositionRowsWriter {
  readonly #counts: number[] = [];
  readonly #txids = new ByteWriter(1 << 16);
  readonly #offsets: number[] = [];
  readonly #undoOffsets: number[] = [];

  addBlock(
    txs: readonly { offset: number; tx: { inputs: readonly unknown[] } }[],
    txids: Uint8Array,
    undo: Uint8Array,
  ) {
    this.#counts.push(txs.length);
    this.#txids.bytes(txids);
    const r = new ByteReader(undo);
    for (let i = 0; i < txs.length; i++) {
      const { offset, tx } = txs[i]!;
      this.#offsets.push(offset);
      this.#undoOffsets.push(r.pos);
      if (i > 0) readTxUndo(r, tx.inputs.length);
    }
  }

  finish(): PositionRows {
    return {
      counts: Uint32Array.from(this.#counts),
      txids: this.#txids.finish().slice(),
      offsets: Uint32Array.from(this.#offsets),
      undoOffsets: Uint32Array.from(this.#undoOffsets),
    };
  }
}
