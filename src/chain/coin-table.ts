/** Bits of a slot's state; an empty slot has none set. */
export const OCCUPIED = 1;
export const UNSPENT = 2;
/** The database holds the coin with the position in `storedPosition`. */
export const STORED = 4;
/** Changed since the last commit; the slot is in the list of dirty slots. */
const DIRTY = 8;

const KEY_WORDS = 9;
const BYTES_PER_SLOT = KEY_WORDS * 4 + 3 * 8 + 4 + 2 + 1;
/** Few, since a larger table costs each start and each short chain more than growing by doubling costs a long one. */
const INITIAL_SLOTS = 1 << 12;
const INITIAL_ARENA = 1 << 16;

/** Key of a look-up: the txid as little-endian words, and the output index. */
export class CoinKey {
  readonly words = new Uint32Array(KEY_WORDS);

  /** The txid begins at `offset`. */
  load(bytes: Uint8Array, offset: number, vout: number): void {
    // A loop, since `set` costs several times more for 32 bytes.
    for (let i = 0; i < KEY_WORDS - 1; i++) {
      const at = offset + i * 4;
      this.words[i] = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    }
    this.words[8] = vout;
  }

  /** Writes the key of the database: the txid and the output index big-endian, 36 bytes. */
  putDatabaseKey(out: Uint8Array): Uint8Array {
    putKey(this.words, 0, out);
    return out;
  }
}

/** Writes the key whose words begin at `base` as the database has it. */
function putKey(words: Uint32Array, base: number, out: Uint8Array): void {
  for (let i = 0; i < KEY_WORDS - 1; i++) {
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

/** A coin whose script is `bytes` from `from` up to before `to`. */
export interface CoinSource {
  readonly position: number;
  readonly value: number;
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
}

/**
 * An open-addressed table of coins in typed arrays: a `Map` with string keys is several times larger and stops the
 * thread for its garbage collection. Slots move when the table grows.
 */
export class CoinTable {
  /** Secret salt, so that an attacker cannot create coins whose slots collide. */
  readonly #salt: Uint32Array;
  #mask = 0;
  #keys = new Uint32Array(0);
  state = new Uint8Array(0);
  position = new Float64Array(0);
  storedPosition = new Float64Array(0);
  value = new Float64Array(0);
  #scriptAt = new Uint32Array(0);
  #scriptLength = new Uint16Array(0);
  #arena = new Uint8Array(INITIAL_ARENA);
  #arenaUsed = 0;
  #used = 0;
  /** Slots that changed since the last seal. */
  dirty: number[] = [];

  constructor(salt: Uint32Array, slots = INITIAL_SLOTS) {
    this.#salt = salt;
    this.#allocate(slots);
  }

  /** Grows whenever slots get other numbers. */
  generation = 0;

  /** Number of slots, occupied or not. */
  get slots(): number {
    return this.#mask + 1;
  }

  /** Bytes of memory. */
  get bytes(): number {
    return (this.#mask + 1) * BYTES_PER_SLOT + this.#arena.length + this.dirty.length * 8;
  }

  /** Bytes of all scripts. The script of a slot begins at `scriptAt`. */
  get arena(): Uint8Array {
    return this.#arena;
  }

  scriptAt(slot: number): number {
    return this.#scriptAt[slot]!;
  }

  scriptEnd(slot: number): number {
    return this.#scriptAt[slot]! + this.#scriptLength[slot]!;
  }

  /** Sets the state of a slot and makes it dirty. */
  changeState(slot: number, state: number): void {
    if ((state & DIRTY) === 0) this.dirty.push(slot);
    this.state[slot] = state | DIRTY;
  }

  /** Writes the key of a slot as the database has it. */
  putDatabaseKey(slot: number, out: Uint8Array): void {
    putKey(this.#keys, slot * KEY_WORDS, out);
  }

  /** Returns the slot of a key, or the empty slot where it belongs. */
  findSlot({ words }: CoinKey): number {
    const keys = this.#keys;
    let slot = this.#hash(words, 0) & this.#mask;
    for (; this.state[slot] !== 0; slot = (slot + 1) & this.#mask) {
      const base = slot * KEY_WORDS;
      if (
        keys[base] === words[0] &&
        keys[base + 8] === words[8] &&
        keys[base + 1] === words[1] &&
        keys[base + 2] === words[2] &&
        keys[base + 3] === words[3] &&
        keys[base + 4] === words[4] &&
        keys[base + 5] === words[5] &&
        keys[base + 6] === words[6] &&
        keys[base + 7] === words[7]
      )
        return slot;
    }
    return slot;
  }

  /**
   * Adds a coin that the table does not have; `empty` is the slot that `findSlot` has returned for its key. Returns its
   * slot. `keep` has the bits of state of which a slot needs one to stay when the table grows.
   */
  insertCoin(
    empty: number,
    key: CoinKey,
    { position, value, bytes, from, to }: CoinSource,
    state: number,
    storedPosition: number,
    keep: number,
  ): number {
    let slot = empty;
    if (this.#used + 1 > (this.#mask + 1) * 0.7) {
      this.#grow(keep);
      slot = this.findSlot(key);
    }
    const base = slot * KEY_WORDS;
    for (let i = 0; i < KEY_WORDS; i++) this.#keys[base + i] = key.words[i]!;
    this.#fill(slot, position, value, state, storedPosition);
    this.#keepScript(slot, bytes, from, to);
    return slot;
  }

  /** Moves the dirty slots to another table, which has none of them. Their coins are no longer unspent here. */
  moveDirtyTo(other: CoinTable, keep: number): void {
    for (const slot of this.dirty) {
      if (other.#used + 1 > (other.#mask + 1) * 0.7) other.#grow(keep);
      const to = other.#freeSlot(this.#keys, slot * KEY_WORDS);
      const state = this.state[slot]!;
      other.#fill(to, this.position[slot]!, this.value[slot]!, state, this.storedPosition[slot]!);
      other.#keepScript(to, this.#arena, this.scriptAt(slot), this.scriptEnd(slot));
      other.dirty.push(to);
      this.state[slot] = OCCUPIED;
    }
    this.dirty = [];
  }

  #fill(slot: number, position: number, value: number, state: number, stored: number): void {
    this.state[slot] = state;
    this.position[slot] = position;
    this.storedPosition[slot] = stored;
    this.value[slot] = value;
    this.#used++;
  }

  /** Copies a key to the empty slot where it belongs, and returns that slot. */
  #freeSlot(keys: Uint32Array, base: number): number {
    let slot = this.#hash(keys, base) & this.#mask;
    while (this.state[slot] !== 0) slot = (slot + 1) & this.#mask;
    const to = slot * KEY_WORDS;
    for (let i = 0; i < KEY_WORDS; i++) this.#keys[to + i] = keys[base + i]!;
    return slot;
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

  #keepScript(slot: number, bytes: Uint8Array, from: number, to: number): void {
    const at = this.#arenaUsed;
    const end = at + to - from;
    if (end > this.#arena.length) {
      const arena = new Uint8Array(Math.max(end, this.#arena.length * 2));
      arena.set(this.#arena.subarray(0, at));
      this.#arena = arena;
    }
    const arena = this.#arena;
    for (let i = from, j = at; i < to; i++, j++) arena[j] = bytes[i]!;
    this.#arenaUsed = end;
    this.#scriptAt[slot] = at;
    this.#scriptLength[slot] = to - from;
  }

  #allocate(slots: number): void {
    this.generation++;
    this.#mask = slots - 1;
    this.#keys = new Uint32Array(slots * KEY_WORDS);
    this.state = new Uint8Array(slots);
    this.position = new Float64Array(slots);
    this.storedPosition = new Float64Array(slots);
    this.value = new Float64Array(slots);
    this.#scriptAt = new Uint32Array(slots);
    this.#scriptLength = new Uint16Array(slots);
    this.#used = 0;
    this.dirty = [];
  }

  /** Makes room by dropping slots without a bit of `keep`, or by doubling the slots. */
  #grow(keep: number): void {
    let live = 0;
    for (let slot = 0; slot <= this.#mask; slot++) if (this.state[slot]! & keep) live++;
    let slots = INITIAL_SLOTS;
    while (slots * 0.5 < live + 1) slots *= 2;
    const old = {
      keys: this.#keys,
      state: this.state,
      position: this.position,
      storedPosition: this.storedPosition,
      value: this.value,
      scriptAt: this.#scriptAt,
      scriptLength: this.#scriptLength,
      arena: this.#arena,
    };
    this.#allocate(slots);
    this.#arena = new Uint8Array(Math.max(INITIAL_ARENA, old.arena.length >> 1));
    this.#arenaUsed = 0;
    for (let from = 0; from < old.state.length; from++) {
      const state = old.state[from]!;
      if ((state & keep) === 0) continue;
      const slot = this.#freeSlot(old.keys, from * KEY_WORDS);
      const at = old.scriptAt[from]!;
      this.#fill(slot, old.position[from]!, old.value[from]!, state, old.storedPosition[from]!);
      this.#keepScript(slot, old.arena, at, at + old.scriptLength[from]!);
      if (state & DIRTY) this.dirty.push(slot);
    }
  }
}
