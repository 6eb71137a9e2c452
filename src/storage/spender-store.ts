import type { ParsedBlock } from '../primitives/block.ts';
import { u32At } from '../primitives/block-columns.ts';
import { type TxPosition, txPosition } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { RunBatch } from './runs/run-batch.ts';
import { SPENDERS } from './runs/run-family.ts';
import { keyAfterPrefix } from './runs/run-format.ts';
import type { RunLists } from './runs/run-lists.ts';
import { liveEntries, positionOf, putPosition } from './runs/run-range.ts';

/** Bytes of the txid in the index. They lead to a few candidates, whose inputs decide. */
const TXID_PREFIX_SIZE = 6;
const TXID_SIZE = 32;
/** A block has room for fewer than 2^19 outputs. */
const VOUT_SIZE = 3;
const OUTPOINT_SIZE = TXID_PREFIX_SIZE + VOUT_SIZE;

/** Returns the keys of the inputs of a block in the spender index, one behind the other. */
export function spenderKeys({ raw, columns }: ParsedBlock, height: number): Uint8Array {
  const { txCount, firstInput, prevoutAt } = columns;
  const keys = new Uint8Array((prevoutAt.length - firstInput[1]!) * SPENDERS.keySize);
  let at = 0;
  for (let i = 1; i < txCount; i++) {
    const position = txPosition(height, i);
    for (let n = firstInput[i]!; n < firstInput[i + 1]!; n++) {
      const from = prevoutAt[n]!;
      putOutpoint(keys, at, raw, from, u32At(raw, from + TXID_SIZE));
      putPosition(keys, at + OUTPOINT_SIZE, position);
      at += SPENDERS.keySize;
    }
  }
  return keys;
}

/** Adds entries with these keys to the batch of the spender index, or their removal. */
export function indexSpenders(batch: RunBatch, spends: Uint8Array, removed: boolean): void {
  for (let from = 0; from < spends.length; from += SPENDERS.keySize) {
    batch.beginEntry(removed, 0);
    const { keys, keyAt } = batch;
    for (let i = 0; i < SPENDERS.keySize; i++) keys[keyAt + i] = spends[from + i]!;
    batch.finishEntry(batch.valueAt);
  }
}

/** The txid begins at `from`. */
function putOutpoint(keys: Uint8Array, at: number, bytes: Uint8Array, from: number, vout: number): void {
  for (let i = 0; i < TXID_PREFIX_SIZE; i++) keys[at + i] = bytes[from + i]!;
  keys[at + TXID_PREFIX_SIZE] = vout >>> 16;
  keys[at + TXID_PREFIX_SIZE + 1] = vout >>> 8;
  keys[at + TXID_PREFIX_SIZE + 2] = vout;
}

/** Read access to the spender index. */
export class SpenderStore {
  readonly #runs: RunLists;

  constructor(runs: RunLists) {
    this.#runs = runs;
  }

  /**
   * Returns the positions of the transactions of the active chain that may spend an output, mostly one: the one that
   * spends it is among them.
   */
  candidates(outpoint: Outpoint): TxPosition[] {
    // No output has a larger index, but the lower bytes of a larger one would name another output.
    if (outpoint.vout >= 2 ** (8 * VOUT_SIZE)) return [];
    const prefix = new Uint8Array(OUTPOINT_SIZE);
    putOutpoint(prefix, 0, outpoint.txid, 0, outpoint.vout);
    const low = new Uint8Array(SPENDERS.keySize);
    low.set(prefix);
    const high = keyAfterPrefix(prefix, SPENDERS.keySize);
    return Array.from(liveEntries(this.#runs.runsOf(SPENDERS), low, high), ({ keys, keyAt }) =>
      positionOf(keys, keyAt + OUTPOINT_SIZE),
    );
  }
}
