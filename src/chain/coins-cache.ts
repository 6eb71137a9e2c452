import type { Coin } from '../primitives/coin.ts';
import type { Outpoint } from '../primitives/outpoint.ts';
import type { CoinStore } from '../storage/coin-store.ts';
import { assert } from '../util/assert.ts';

/** Bits of a slot's state; an empty slot has none set. */
const OCCUPIED = 1;
const UNSPENT = 2;
/** The database holds the coin with the position in `storedPosition`. */
const STORED = 4;
/** Changed since the last commit; the slot is in the list of dirty slots. */
const DIRTY = 8;

const KEY_WORDS = 9;
const KEY_SIZE = 36;
const BYTES_PER_SLOT = KEY_WORDS * 4 + 3 * 8 + 4 + 2 + 1;
const INITIAL_SLOTS = 1 << 16;
const INITIAL_ARENA = 1 << 20;

/** A coin whose row differs from the database. */
export interface CoinChange {
  /** Database key: txid in wire order, index big-endian. */
  readonly key: Uint8Array;
  readonly vout: number;
  readonly script: Uint8Array;
  readonly value: number;
  /** Position of the transaction that created the coin; null if the coin is spent. */
  readonly position: number | null;
  /** Position in the database; null if the database does not hold the coin. */
  readonly storedPosition: number | null;
}

/**
 * Cache of unspent outputs between validation and the database: an open-addressed table of typed arrays, since a `Map`
 * with string keys is several times larger and stops the thread for its garbage collection. `sealChanges` returns the
 * changes for one commit, while blocks go on being connected; `releaseSealed` follows the commit, and empties the table
 * if it is above its limit.
 */
export class CoinsCache {
  readonly #store: CoinStore;
  readonly #limitBytes: number;
  /** Secret salt, so that an attacker cannot create coins whose slots collide. */
  readonly #salt = crypto.getRandomValues(new Uint32Array(4));
  #mask = 0;
  #keys = new Uint32Array(0);
  #state = new Uint8Array(0);
  #position = new Float64Array(0);
  #storedPosition = new Float64Array(0);
  #value = new Float64Array(0);
  #scriptAt = new Uint32Array(0);
  #scriptLength = new Uint16Array(0);
  #arena = new Uint8Array(0);
  #arenaUsed = 0;
  #used = 0;
  #dirty: number[] = [];
  /** Whether sealed changes are not in the database yet: coins spent in them must not be read from there. */
  #sealed = false;
  /** Whether the table holds every coin of the database, so that a miss needs no look-up. */
  #complete: boolean;
  readonly #word = new Uint32Array(KEY_WORDS);
  readonly #wordBytes = new Uint8Array(this.#word.buffer);
  readonly #key = new Uint8Array(KEY_SIZE);

  constructor(store: CoinStore, options: { limitBytes: number; databaseEmpty: boolean }) {
    this.#store = store;
    this.#limitBytes = options.limitBytes;
    this.#complete = options.databaseEmpty;
    this.#clear();
  }

  /** Bytes of memory. */
  get bytes(): number {
    return (this.#mask + 1) * BYTES_PER_SLOT + this.#arena.length + this.#dirty.length * 8;
  }

  /**
   * Returns the slot of an unspent coin, loaded from the database if necessary; -1 without one. Valid until the next
   * call.
   */
  findSlot(txid: Uint8Array, vout: number): number {
    this.#load(txid, vout);
    const slot = this.#probe();
    if (this.#state[slot] !== 0) return this.#state[slot]! & UNSPENT ? slot : -1;
    if (this.#complete) return -1;
    const row = this.#store.row(this.#databaseKey());
    if (row === null) return -1;
    return this.#insert(row.position, row.value, row.script, OCCUPIED | UNSPENT | STORED, row.position);
  }

  getCoin({ txid, vout }: Outpoint): Coin | null {
    const slot = this.findSlot(txid, vout);
    return slot < 0 ? null : this.coinAt(slot);
  }

  /** Returns the coin of a slot, with a copy of its script. */
  coinAt(slot: number): Coin {
    const at = this.#scriptAt[slot]!;
    const scriptPubKey = this.#arena.slice(at, at + this.#scriptLength[slot]!);
    return { position: this.#position[slot]!, output: { value: BigInt(this.#value[slot]!), scriptPubKey } };
  }

  /** Whether any output of a transaction is unspent (BIP-30). */
  hasAnyOf(txid: Uint8Array, outputs: number): boolean {
    for (let vout = 0; vout < outputs; vout++) {
      this.#load(txid, vout);
      if (this.#state[this.#probe()]! & UNSPENT) return true;
    }
    if (this.#complete || !this.#store.hasAnyOf(txid)) return false;
    for (let vout = 0; vout < outputs; vout++) if (this.findSlot(txid, vout) >= 0) return true;
    return false;
  }

  spendCoin(slot: number): void {
    this.#touch(slot, this.#state[slot]! & ~UNSPENT);
  }

  /** Adds a coin, or replaces one with the same outpoint (the two exceptions of BIP-30). */
  addCoin(txid: Uint8Array, vout: number, position: number, value: number, script: Uint8Array): void {
    this.#load(txid, vout);
    const slot = this.#probe();
    const state = this.#state[slot]!;
    if (state === 0) {
      this.#touch(this.#insert(position, value, script, OCCUPIED, -1), OCCUPIED | UNSPENT);
      return;
    }
    // The same outpoint has the same value and script; only the position can differ.
    this.#position[slot] = position;
    this.#touch(slot, state | UNSPENT);
  }

  /**
   * Adds a coin that the database may hold although the table does not: one that a disconnected block spent, or an
   * overwritten coinbase.
   */
  restoreCoin(txid: Uint8Array, vout: number, position: number, value: number, script: Uint8Array): void {
    this.findSlot(txid, vout);
    this.addCoin(txid, vout, position, value, script);
  }

  /**
   * Returns what differs from the database, in no order; later changes belong to the next commit. Must be followed by
   * `releaseSealed` before the next call.
   */
  sealChanges(): CoinChange[] {
    assert(!this.#sealed, 'one commit ends before the next is sealed');
    const changes: CoinChange[] = [];
    for (const slot of this.#dirty) {
      const state = this.#state[slot]!;
      const unspent = (state & UNSPENT) !== 0;
      const stored = (state & STORED) !== 0;
      this.#state[slot] = unspent ? OCCUPIED | UNSPENT | STORED : OCCUPIED;
      const storedPosition = this.#storedPosition[slot]!;
      const position = this.#position[slot]!;
      this.#storedPosition[slot] = position;
      if (unspent === stored && (!unspent || position === storedPosition)) continue;
      const at = this.#scriptAt[slot]!;
      const key = new Uint8Array(KEY_SIZE);
      this.#keyBytes(slot, key);
      changes.push({
        key,
        vout: this.#keys[slot * KEY_WORDS + 8]!,
        // A view stays valid: arenas are appended to and replaced, never overwritten.
        script: this.#arena.subarray(at, at + this.#scriptLength[slot]!),
        value: this.#value[slot]!,
        position: unspent ? position : null,
        storedPosition: stored ? storedPosition : null,
      });
    }
    this.#dirty = [];
    this.#sealed = true;
    return changes;
  }

  /**
   * Called when the database holds the sealed changes. Above the memory limit, empties the table except for later
   * changes.
   */
  releaseSealed(): void {
    this.#sealed = false;
    if (this.bytes <= this.#limitBytes) return;
    this.#complete = false;
    if (this.#dirty.length === 0) this.#clear();
    else this.#rebuild(this.#dirty.length, DIRTY);
  }

  /** Drops everything that the database does not hold. */
  reset(): void {
    this.#sealed = false;
    this.#complete = false;
    this.#clear();
  }

  #clear(): void {
    this.#allocate(INITIAL_SLOTS);
    this.#arena = new Uint8Array(INITIAL_ARENA);
    this.#arenaUsed = 0;
  }

  #allocate(slots: number): void {
    this.#mask = slots - 1;
    this.#keys = new Uint32Array(slots * KEY_WORDS);
    this.#state = new Uint8Array(slots);
    this.#position = new Float64Array(slots);
    this.#storedPosition = new Float64Array(slots);
    this.#value = new Float64Array(slots);
    this.#scriptAt = new Uint32Array(slots);
    this.#scriptLength = new Uint16Array(slots);
    this.#used = 0;
    this.#dirty = [];
  }

  #touch(slot: number, state: number): void {
    if ((state & DIRTY) === 0) this.#dirty.push(slot);
    this.#state[slot] = state | DIRTY;
  }

  #load(txid: Uint8Array, vout: number): void {
    this.#wordBytes.set(txid);
    this.#word[8] = vout;
  }

  #databaseKey(): Uint8Array {
    this.#key.set(this.#wordBytes.subarray(0, 32));
    const vout = this.#word[8]!;
    this.#key[32] = vout >>> 24;
    this.#key[33] = vout >>> 16;
    this.#key[34] = vout >>> 8;
    this.#key[35] = vout;
    return this.#key;
  }

  #keyBytes(slot: number, out: Uint8Array): void {
    const words = this.#keys;
    const base = slot * KEY_WORDS;
    for (let i = 0; i < 8; i++) {
      const word = words[base + i]!;
      out[i * 4] = word;
      out[i * 4 + 1] = word >>> 8;
      out[i * 4 + 2] = word >>> 16;
      out[i * 4 + 3] = word >>> 24;
    }
    const vout = words[base + 8]!;
    out[32] = vout >>> 24;
    out[33] = vout >>> 16;
    out[34] = vout >>> 8;
    out[35] = vout;
  }

  #hash(words: Uint32Array, base: number): number {
    const salt = this.#salt;
    let h =
      Math.imul(words[base]! ^ salt[0]!, 0x9e3779b1) ^
      Math.imul(words[base + 1]! ^ salt[1]!, 0x85ebca77) ^
      Math.imul(words[base + 2]! ^ salt[2]!, 0xc2b2ae3d);
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d) ^ Math.imul(words[base + 8]! + salt[3]!, 0x27d4eb2f);
    h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
    return (h ^ (h >>> 15)) >>> 0;
  }

  /** Returns the slot of the loaded key, or the empty slot where it belongs. */
  #probe(): number {
    const word = this.#word;
    const keys = this.#keys;
    let slot = this.#hash(word, 0) & this.#mask;
    for (; this.#state[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const base = slot * KEY_WORDS;
      if (
        keys[base] === word[0] &&
        keys[base + 8] === word[8] &&
        keys[base + 1] === word[1] &&
        keys[base + 2] === word[2] &&
        keys[base + 3] === word[3] &&
        keys[base + 4] === word[4] &&
        keys[base + 5] === word[5] &&
        keys[base + 6] === word[6] &&
        keys[base + 7] === word[7]
      )
        return slot;
    }
    return slot;
  }

  #insert(position: number, value: number, script: Uint8Array, state: number, storedPosition: number): number {
    if (this.#used + 1 > (this.#mask + 1) * 0.7) this.#grow();
    const slot = this.#probe();
    this.#keys.set(this.#word, slot * KEY_WORDS);
    this.#state[slot] = state;
    this.#position[slot] = position;
    this.#storedPosition[slot] = storedPosition;
    this.#value[slot] = value;
    this.#scriptAt[slot] = this.#keepScript(script);
    this.#scriptLength[slot] = script.length;
    this.#used++;
    return slot;
  }

  #keepScript(script: Uint8Array): number {
    const at = this.#arenaUsed;
    const end = at + script.length;
    if (end > this.#arena.length) {
      const arena = new Uint8Array(Math.max(end, this.#arena.length * 2));
      arena.set(this.#arena.subarray(0, at));
      this.#arena = arena;
    }
    this.#arena.set(script, at);
    this.#arenaUsed = end;
    return at;
  }

  /** Makes room by dropping coins that were created and spent since the last commit, or by doubling the slots. */
  #grow(): void {
    const keep = this.#sealed ? OCCUPIED : UNSPENT | STORED;
    let live = 0;
    const slots = this.#mask + 1;
    for (let slot = 0; slot < slots; slot++) if (this.#state[slot]! & keep) live++;
    this.#rebuild(live, keep);
  }

  /** Moves the slots that have one of the bits of `keep`, about `live` of them, to new arrays. */
  #rebuild(live: number, keep: number): void {
    const old = {
      slots: this.#mask + 1,
      keys: this.#keys,
      state: this.#state,
      position: this.#position,
      storedPosition: this.#storedPosition,
      value: this.#value,
      scriptAt: this.#scriptAt,
      scriptLength: this.#scriptLength,
      arena: this.#arena,
    };
    let slots = INITIAL_SLOTS;
    while (slots * 0.5 < live + 1) slots *= 2;
    this.#allocate(slots);
    this.#arena = new Uint8Array(Math.max(INITIAL_ARENA, old.arena.length >> 1));
    this.#arenaUsed = 0;
    for (let from = 0; from < old.slots; from++) {
      const state = old.state[from]!;
      if ((state & keep) === 0) continue;
      let slot = this.#hash(old.keys, from * KEY_WORDS) & this.#mask;
      while (this.#state[slot] !== 0) slot = (slot + 1) & this.#mask;
      this.#keys.set(old.keys.subarray(from * KEY_WORDS, from * KEY_WORDS + KEY_WORDS), slot * KEY_WORDS);
      this.#state[slot] = state;
      if (state & DIRTY) this.#dirty.push(slot);
      this.#position[slot] = old.position[from]!;
      this.#storedPosition[slot] = old.storedPosition[from]!;
      this.#value[slot] = old.value[from]!;
      const at = old.scriptAt[from]!;
      const length = old.scriptLength[from]!;
      this.#scriptAt[slot] = this.#keepScript(old.arena.subarray(at, at + length));
      this.#scriptLength[slot] = length;
      this.#used++;
    }
  }
}
