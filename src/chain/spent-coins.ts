import { checkSpentCoins } from '../consensus/check-tx-inputs.ts';
import { COINBASE_MATURITY, MAX_MONEY_NUMBER, SEQUENCE_LOCKTIME_DISABLE_FLAG } from '../consensus/limits.ts';
import type { TxRejection } from '../consensus/rejection.ts';
import { type ParsedBlock, transactionOf } from '../primitives/block.ts';
import { u32At } from '../primitives/block-columns.ts';
import { type Coin, positionIndex, txPosition } from '../primitives/coin.ts';
import { readTxUndo } from '../primitives/undo.ts';
import { ByteReader, ByteWriter } from '../util/bytes.ts';
import type { CoinsCache } from './coins-cache.ts';

const INITIAL_COINS = 64;

/** The coins that one transaction of a block spends, in arrays that are used again by the next one. */
export class SpentCoins {
  /** The undo records of the block, those of this transaction at the end. */
  readonly undo = new ByteWriter(1 << 20);
  slot = new Uint32Array(INITIAL_COINS);
  position = new Float64Array(INITIAL_COINS);
  value = new Float64Array(INITIAL_COINS);
  /** Where the scripts lie in the undo records. */
  scriptAt = new Uint32Array(INITIAL_COINS);
  scriptEnd = new Uint32Array(INITIAL_COINS);
  /** The generation of the cache in which the coins have these slots; -1 if it has changed since. */
  generation = -1;
  #count = 0;
  #undoAt = 0;

  /** Finds the coins of the outpoints, and writes their undo records. Returns false if one is missing or spent. */
  findCoins(cache: CoinsCache, raw: Uint8Array, prevoutAt: Uint32Array, first: number, count: number): boolean {
    if (count > this.slot.length) this.#allocate(count * 2);
    this.#count = count;
    this.#undoAt = this.undo.length;
    const generation = cache.slotGeneration;
    for (let n = 0; n < count; n++) {
      const at = prevoutAt[first + n]!;
      const slot = cache.findSlotAt(raw, at, u32At(raw, at + 32));
      if (slot < 0) return false;
      this.slot[n] = slot;
      this.position[n] = cache.positionAt(slot);
      this.value[n] = cache.valueAt(slot);
      cache.writeUndo(slot, this.undo);
      this.scriptEnd[n] = this.undo.length;
      this.scriptAt[n] = this.undo.length - cache.scriptLengthAt(slot);
    }
    this.generation = generation === cache.slotGeneration ? generation : -1;
    return true;
  }

  /** Returns the coins as objects. */
  coins(): Coin[] {
    return readTxUndo(new ByteReader(this.undo.finish(), this.#undoAt), this.#count);
  }

  /**
   * Returns the fee of the transaction with this index, or its rejection: that of `checkSpentCoins`, which decides when
   * anything is unusual.
   */
  feeOf(block: ParsedBlock, i: number, height: number): number | TxRejection {
    const { firstOutput, value } = block.columns;
    // Only coinbases from this position on are too young.
    const youngFrom = txPosition(height - COINBASE_MATURITY + 1, 0);
    let valueIn = 0;
    let usual = true;
    for (let n = 0; n < this.#count; n++) {
      const position = this.position[n]!;
      if (position >= youngFrom && positionIndex(position) === 0) usual = false;
      valueIn += this.value[n]!;
      if (this.value[n]! < 0 || valueIn > MAX_MONEY_NUMBER) usual = false;
    }
    let valueOut = 0;
    for (let output = firstOutput[i]!; output < firstOutput[i + 1]!; output++) valueOut += value[output]!;
    if (usual && valueIn >= valueOut) return valueIn - valueOut;
    const checked = checkSpentCoins(transactionOf(block, i).tx, this.coins(), height);
    return checked.ok ? Number(checked.value) : checked;
  }

  #allocate(size: number): void {
    this.slot = new Uint32Array(size);
    this.position = new Float64Array(size);
    this.value = new Float64Array(size);
    this.scriptAt = new Uint32Array(size);
    this.scriptEnd = new Uint32Array(size);
  }
}

/** Whether an input of a transaction may have a relative lock (BIP-68). */
export function hasSequenceLock({ raw, columns }: ParsedBlock, i: number): boolean {
  if (u32At(raw, columns.txAt[i]!) < 2) return false;
  for (let n = columns.firstInput[i]!; n < columns.firstInput[i + 1]!; n++)
    if (u32At(raw, columns.sequenceAt[n]!) < SEQUENCE_LOCKTIME_DISABLE_FLAG) return true;
  return false;
}
