import { parseBlock } from '../primitives/block.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { isUnspendable } from '../script/templates.ts';
import { ByteReader } from '../util/bytes.ts';
import type { ChainSource } from './chain-source.ts';
import { batchCoin, batchRemovedCoin, coinKey } from './coin-store.ts';
import type { HeaderRecord } from './header-store.ts';
import type { Run } from './runs/run.ts';
import { RunBatch } from './runs/run-batch.ts';
import { COINS } from './runs/run-family.ts';
import { ScratchRuns } from './runs/scratch-runs.ts';

/** Changes that are kept in memory, bytes. */
const BATCH_LIMIT = 32 << 20;

/** Thrown where the body or the undo data of a block is not stored. */
export class MissingBlockData extends Error {
  override readonly name = 'MissingBlockData';
}

/**
 * The changes that lead from the UTXO set of one block back to that of an ancestor, made from undo data. The stored set
 * stays as it is: the changes are runs that are younger than its own.
 */
export class CoinRewind {
  readonly #reads: ChainSource;
  readonly #scratch: ScratchRuns;
  readonly #batch = new RunBatch(COINS);
  readonly #batchLimit: number;

  constructor(reads: ChainSource, batchLimit = BATCH_LIMIT) {
    this.#reads = reads;
    this.#scratch = new ScratchRuns(reads.dir, COINS);
    this.#batchLimit = batchLimit;
  }

  /**
   * Undoes all blocks from `tip` down to, but not including, `target`. Calls `checkpoint` often; what that throws ends
   * the work. Throws MissingBlockData.
   */
  rewind(tip: HeaderRecord, target: HeaderRecord, checkpoint: () => void): void {
    let at = tip;
    while (at.height > target.height) {
      checkpoint();
      this.#undoBlock(at);
      if (this.#batch.bytes >= this.#batchLimit) this.#scratch.addBatch(this.#batch, checkpoint);
      // Rows of headers are never removed, so no snapshot is needed.
      at = this.#reads.headers.byHash(at.header.subarray(4, 36) as BlockHash)!;
    }
    if (this.#batch.count > 0) this.#scratch.addBatch(this.#batch, checkpoint);
  }

  /** The changes, the youngest first. */
  get runs(): readonly Run[] {
    return this.#scratch.runs;
  }

  close(): void {
    this.#scratch.close();
  }

  #undoBlock(entry: HeaderRecord): void {
    const raw = this.#reads.rawBlock(entry);
    const undo = this.#reads.rawUndo(entry);
    if (raw === null || undo === null) throw new MissingBlockData(`block data of height ${entry.height} is missing`);
    const block = parseBlock(raw);
    const r = new ByteReader(undo);
    const spent = block.txs.map(({ tx }, i) => (i === 0 ? [] : readTxUndo(r, tx.inputs.length)));
    // From the last transaction on, since a coin of the block may be spent in it.
    for (let i = block.txs.length - 1; i >= 0; i--) {
      const { tx, txid } = block.txs[i]!;
      for (const [vout, { scriptPubKey }] of tx.outputs.entries())
        if (!isUnspendable(scriptPubKey)) batchRemovedCoin(this.#batch, coinKey({ txid, vout }));
      for (const [n, { position, output }] of spent[i]!.entries()) {
        const { value, scriptPubKey } = output;
        const key = coinKey(tx.inputs[n]!.prevout);
        batchCoin(this.#batch, key, position, Number(value), scriptPubKey, 0, scriptPubKey.length);
      }
    }
  }
}
