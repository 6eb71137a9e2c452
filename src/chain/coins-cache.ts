import { u32At } from '../primitives/block-columns.ts';
import type { Coin } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import { writeUndoRecordAt } from '../primitives/undo.ts';
import { batchCoin, batchRemovedCoin, type CoinRow, type CoinStore } from '../storage/coin-store.ts';
import { RunBatch } from '../storage/runs/run-batch.ts';
import { COINS } from '../storage/runs/run-family.ts';
import { assert } from '../util/assert.ts';
import type { ByteWriter } from '../util/bytes.ts';
import { CoinKey, type CoinSource, CoinTable, OCCUPIED, STORED, UNSPENT } from './coin-table.ts';

/**
 * Cache of unspent outputs between validation and the database. It has two generations: coins enter the young one when
 * they are created or read, and when that is full it becomes the old one, whose coins are dropped unless they are used
 * again. `sealChanges` returns the changes for one commit, while blocks go on being connected; `releaseSealed` follows
 * the commit.
 */
export class CoinsCache {
  readonly #store: CoinStore;
  readonly #limitBytes: number;
  readonly #salt = crypto.getRandomValues(new Uint32Array(4));
  #young = new CoinTable(this.#salt);
  /** Coins that were not used lately. A slot that is not unspent says nothing but that the coin is not in the database. */
  #old: CoinTable | null = null;
  /** Whether sealed changes are not in the database yet: coins spent in them must not be read from there. */
  #sealed = false;
  /** Whether the tables hold every coin of the database, so that a miss needs no look-up. */
  #complete: boolean;
  readonly #key = new CoinKey();
  readonly #batch: RunBatch;
  readonly #databaseKey = new Uint8Array(COINS.keySize);

  /** `limitBytes` bounds the memory when changes are released; changes that wait for a commit come on top. */
  constructor(store: CoinStore, options: { limitBytes: number; databaseEmpty: boolean }) {
    this.#store = store;
    this.#batch = new RunBatch(store.family);
    this.#limitBytes = options.limitBytes;
    this.#complete = options.databaseEmpty;
  }

  /** Bytes of memory. */
  get bytes(): number {
    return this.#young.bytes + (this.#old?.bytes ?? 0);
  }

  /**
   * Returns the slot of an unspent coin, loaded from the database if necessary; -1 without one. Valid until the next
   * call.
   */
  findSlot(txid: Uint8Array, vout: number): number {
    return this.findSlotAt(txid, 0, vout);
  }

  /** As `findSlot`, for the txid that begins at `offset`. */
  findSlotAt(bytes: Uint8Array, offset: number, vout: number): number {
    this.#key.load(bytes, offset, vout);
    const slot = this.#young.findSlot(this.#key);
    if (this.#young.state[slot] !== 0) return this.#young.state[slot]! & UNSPENT ? slot : -1;
    const old = this.#old;
    if (old !== null) {
      const from = old.findSlot(this.#key);
      const state = old.state[from]!;
      if (state !== 0) return state & UNSPENT ? this.#promote(old, from, state, slot) : -1;
    }
    if (this.#complete) return -1;
    const row = this.#store.row(this.#key.putDatabaseKey(this.#databaseKey));
    return row === null ? -1 : this.#insertStored(row, slot);
  }

  /**
   * Loads the coins that will be looked up, without waiting for the disk, which reads all those that it has to at the
   * same time. The encoded outpoints begin at `outpointsAt`.
   */
  loadCoins(bytes: Uint8Array, outpointsAt: Uint32Array): void {
    if (this.#complete) return;
    for (const at of outpointsAt) {
      this.#key.load(bytes, at, u32At(bytes, at + 32));
      const slot = this.#young.findSlot(this.#key);
      if (this.#young.state[slot] !== 0) continue;
      if (this.#old !== null && this.#old.state[this.#old.findSlot(this.#key)] !== 0) continue;
      const row = this.#store.rowIfCached(this.#key.putDatabaseKey(this.#databaseKey));
      if (row !== null && row !== 'pending') this.#insertStored(row, slot);
    }
  }

  getCoin({ txid, vout }: Outpoint): Coin | null {
    const slot = this.findSlot(txid, vout);
    return slot < 0 ? null : this.coinAt(slot);
  }

  /** Slots keep their numbers until this changes. */
  get slotGeneration(): number {
    return this.#young.generation;
  }

  positionAt(slot: number): number {
    return this.#young.position[slot]!;
  }

  valueAt(slot: number): number {
    return this.#young.value[slot]!;
  }

  scriptLengthAt(slot: number): number {
    return this.#young.scriptEnd(slot) - this.#young.scriptAt(slot);
  }

  /** Writes the undo record of a coin. */
  writeUndo(slot: number, w: ByteWriter): void {
    const { position, value, arena } = this.#young;
    writeUndoRecordAt(w, position[slot]!, value[slot]!, arena, this.#young.scriptAt(slot), this.#young.scriptEnd(slot));
  }

  /** Returns the coin of a slot, with a copy of its script. */
  coinAt(slot: number): Coin {
    const { position, value, arena } = this.#young;
    const scriptPubKey = arena.slice(this.#young.scriptAt(slot), this.#young.scriptEnd(slot));
    return { position: position[slot]!, output: { value: BigInt(value[slot]!), scriptPubKey } };
  }

  /** Whether any output of a transaction is unspent (BIP-30). */
  hasAnyOf(txid: Uint8Array, outputs: number): boolean {
    for (let vout = 0; vout < outputs; vout++) {
      this.#key.load(txid, 0, vout);
      if (this.#young.state[this.#young.findSlot(this.#key)]! & UNSPENT) return true;
      if (this.#old !== null && this.#old.state[this.#old.findSlot(this.#key)]! & UNSPENT) return true;
    }
    if (this.#complete || !this.#store.hasAnyOf(txid, outputs)) return false;
    for (let vout = 0; vout < outputs; vout++) if (this.findSlot(txid, vout) >= 0) return true;
    return false;
  }

  spendCoin(slot: number): void {
    this.#young.changeState(slot, this.#young.state[slot]! & ~UNSPENT);
  }

  /** Adds a coin, or replaces one with the same outpoint (the two exceptions of BIP-30). */
  addCoin(txid: Uint8Array, vout: number, position: number, value: number, script: Uint8Array): void {
    this.addCoinAt(txid, 0, vout, { position, value, bytes: script, from: 0, to: script.length });
  }

  /** As `addCoin`, for the txid that begins at `offset`. */
  addCoinAt(bytes: Uint8Array, offset: number, vout: number, coin: CoinSource): void {
    this.#key.load(bytes, offset, vout);
    const young = this.#young;
    const slot = young.findSlot(this.#key);
    const state = young.state[slot]!;
    if (state === 0) {
      const added = young.insertCoin(slot, this.#key, coin, OCCUPIED, -1, this.#kept);
      young.changeState(added, OCCUPIED | UNSPENT);
      return;
    }
    // The same outpoint has the same value and script; only the position can differ.
    young.position[slot] = coin.position;
    young.changeState(slot, state | UNSPENT);
  }

  /**
   * Adds a coin that the database may hold although the tables do not: one that a disconnected block spent, or an
   * overwritten coinbase.
   */
  restoreCoin(txid: Uint8Array, vout: number, position: number, value: number, script: Uint8Array): void {
    this.findSlot(txid, vout);
    this.addCoin(txid, vout, position, value, script);
  }

  /**
   * Returns what differs from the database, as a batch of coins that is valid until the next call; later changes
   * belong to the next commit. Must be followed by `releaseSealed` before the next call.
   */
  sealChanges(): RunBatch {
    assert(!this.#sealed, 'one commit ends before the next is sealed');
    const batch = this.#batch;
    batch.clear();
    const table = this.#young;
    const key = this.#databaseKey;
    for (const slot of table.dirty) {
      const state = table.state[slot]!;
      const unspent = (state & UNSPENT) !== 0;
      const stored = (state & STORED) !== 0;
      table.state[slot] = unspent ? OCCUPIED | UNSPENT | STORED : OCCUPIED;
      const storedPosition = table.storedPosition[slot]!;
      const position = table.position[slot]!;
      table.storedPosition[slot] = position;
      if (unspent === stored && (!unspent || position === storedPosition)) continue;
      table.putDatabaseKey(slot, key);
      if (stored) batchRemovedCoin(batch, key);
      if (!unspent) continue;
      batchCoin(batch, key, position, table.value[slot]!, table.arena, table.scriptAt(slot), table.scriptEnd(slot));
    }
    table.dirty = [];
    this.#sealed = true;
    return batch;
  }

  /** Called when the database holds the sealed changes. When the young generation is full, drops the old one. */
  releaseSealed(): void {
    this.#sealed = false;
    if (this.#young.bytes <= this.#limitBytes / 2) return;
    if (this.#old !== null || this.#young.bytes > this.#limitBytes) this.#complete = false;
    // The size of the full table saves the steps of its growth.
    const young = new CoinTable(this.#salt, this.#young.slots);
    this.#young.moveDirtyTo(young, this.#kept);
    this.#old = this.#young.bytes > this.#limitBytes ? null : this.#young;
    this.#young = young;
  }

  /** Drops everything that the database does not hold. */
  reset(): void {
    this.#sealed = false;
    this.#complete = false;
    this.#young = new CoinTable(this.#salt);
    this.#old = null;
  }

  /** Adds a coin that was read from the database, to the empty slot of its key. Returns its slot. */
  #insertStored(row: CoinRow, empty: number): number {
    return this.#young.insertCoin(
      empty,
      this.#key,
      sourceOf(row),
      OCCUPIED | UNSPENT | STORED,
      row.position,
      this.#kept,
    );
  }

  /** Moves a coin of the old generation to the empty slot of its key in the young one. Returns its slot there. */
  #promote(old: CoinTable, from: number, state: number, empty: number): number {
    const coin = {
      position: old.position[from]!,
      value: old.value[from]!,
      bytes: old.arena,
      from: old.scriptAt(from),
      to: old.scriptEnd(from),
    };
    old.state[from] = OCCUPIED;
    return this.#young.insertCoin(empty, this.#key, coin, state, old.storedPosition[from]!, this.#kept);
  }

  /** Bits of state that keep a slot when the young table grows: a coin that was created and spent since is dropped. */
  get #kept(): number {
    return this.#sealed ? OCCUPIED : UNSPENT | STORED;
  }
}

function sourceOf({ position, value, script }: CoinRow): CoinSource {
  return { position, value, bytes: script, from: 0, to: script.length };
}
