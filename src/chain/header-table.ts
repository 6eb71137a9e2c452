import type { BlockHash, MerkleRoot } from '../primitives/hash.ts';
import type { BlockHeader } from '../primitives/header.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import { assert } from '../util/assert.ts';
import { grown, grownRows } from '../util/column.ts';
import { SlotIndex } from '../util/slot-index.ts';

const HASH = 32;
const INITIAL = 1024;
/** Words of 64 bits for chainwork, which stays far below 2^128 with any hash rate. */
const WORK = 2;
const WORK_BITS = 128n;
/** Words of a file position: file, offset and size. */
const POSITION = 3;

/**
 * The fields of all headers in columns of typed arrays. The main chain has about a million headers: as objects with
 * hashes, strings and bigints they would take three times the memory, and half a second of each garbage collection.
 */
export class HeaderTable {
  #capacity: number;
  #count = 0;
  #id: Uint32Array<ArrayBuffer>;
  #hash: Uint8Array<ArrayBuffer>;
  #merkleRoot: Uint8Array<ArrayBuffer>;
  #version: Int32Array<ArrayBuffer>;
  #time: Uint32Array<ArrayBuffer>;
  #bits: Uint32Array<ArrayBuffer>;
  #nonce: Uint32Array<ArrayBuffer>;
  #chainwork: BigUint64Array<ArrayBuffer>;
  #status: Uint8Array<ArrayBuffer>;
  #complete: Uint8Array<ArrayBuffer>;
  #sequence: Float64Array<ArrayBuffer>;
  #body: Uint32Array<ArrayBuffer>;
  #undo: Uint32Array<ArrayBuffer>;
  /** Rows of the newest child and of the next older sibling; -1 if there is none. */
  #child: Int32Array<ArrayBuffer>;
  #sibling: Int32Array<ArrayBuffer>;
  readonly #byHash = new SlotIndex(HASH, () => this.#hash);

  constructor(capacity = INITIAL) {
    this.#capacity = capacity;
    this.#id = new Uint32Array(capacity);
    this.#hash = new Uint8Array(capacity * HASH);
    this.#merkleRoot = new Uint8Array(capacity * HASH);
    this.#version = new Int32Array(capacity);
    this.#time = new Uint32Array(capacity);
    this.#bits = new Uint32Array(capacity);
    this.#nonce = new Uint32Array(capacity);
    this.#chainwork = new BigUint64Array(capacity * WORK);
    this.#status = new Uint8Array(capacity);
    this.#complete = new Uint8Array(capacity);
    this.#sequence = new Float64Array(capacity);
    this.#body = new Uint32Array(capacity * POSITION);
    this.#undo = new Uint32Array(capacity * POSITION);
    this.#child = new Int32Array(capacity);
    this.#sibling = new Int32Array(capacity);
  }

  /** Returns the row of a hash, or -1. */
  findRow(hash: Uint8Array): number {
    return this.#byHash.find(hash);
  }

  /** Appends a row and returns its number. `parent` is a row, or -1. */
  addRow(id: number, hash: BlockHash, header: BlockHeader, parent: number, chainwork: bigint): number {
    assert(chainwork >> WORK_BITS === 0n, 'chainwork is below 2^128');
    if (this.#count === this.#capacity) this.#grow();
    const row = this.#count++;
    this.#id[row] = id;
    this.#hash.set(hash, row * HASH);
    this.#merkleRoot.set(header.merkleRoot, row * HASH);
    this.#version[row] = header.version;
    this.#time[row] = header.time;
    this.#bits[row] = header.bits;
    this.#nonce[row] = header.nonce;
    this.#chainwork[row * WORK] = chainwork;
    this.#chainwork[row * WORK + 1] = chainwork >> 64n;
    this.#child[row] = -1;
    this.#sibling[row] = parent < 0 ? -1 : this.#child[parent]!;
    if (parent >= 0) this.#child[parent] = row;
    this.#byHash.add(row);
    return row;
  }

  id(row: number): number {
    return this.#id[row]!;
  }

  /** Returns a copy. */
  hash(row: number): BlockHash {
    return this.#hash.slice(row * HASH, (row + 1) * HASH) as BlockHash;
  }

  merkleRoot(row: number): MerkleRoot {
    return this.#merkleRoot.slice(row * HASH, (row + 1) * HASH) as MerkleRoot;
  }

  version(row: number): number {
    return this.#version[row]!;
  }

  time(row: number): number {
    return this.#time[row]!;
  }

  bits(row: number): number {
    return this.#bits[row]!;
  }

  nonce(row: number): number {
    return this.#nonce[row]!;
  }

  chainwork(row: number): bigint {
    const high = this.#chainwork[row * WORK + 1]!;
    const low = this.#chainwork[row * WORK]!;
    return high === 0n ? low : (high << 64n) | low;
  }

  status(row: number): number {
    return this.#status[row]!;
  }

  setStatus(row: number, status: number): void {
    this.#status[row] = status;
  }

  complete(row: number): boolean {
    return this.#complete[row] === 1;
  }

  setComplete(row: number, complete: boolean): void {
    this.#complete[row] = complete ? 1 : 0;
  }

  sequence(row: number): number {
    return this.#sequence[row]!;
  }

  setSequence(row: number, sequence: number): void {
    this.#sequence[row] = sequence;
  }

  body(row: number): FilePosition {
    return positionAt(this.#body, row);
  }

  setBody(row: number, position: FilePosition): void {
    setPosition(this.#body, row, position);
  }

  undo(row: number): FilePosition {
    return positionAt(this.#undo, row);
  }

  setUndo(row: number, position: FilePosition): void {
    setPosition(this.#undo, row, position);
  }

  /** Calls `visit` with each row whose status has `bit`, and with the file and the end of its body or undo data. */
  visitRecords(
    bit: typeof HeaderStatus.HAVE_BLOCK | typeof HeaderStatus.HAVE_UNDO,
    visit: (row: number, file: number, end: number) => void,
  ): void {
    const positions = bit === HeaderStatus.HAVE_BLOCK ? this.#body : this.#undo;
    for (let row = 0, at = 0; row < this.#count; row++, at += POSITION)
      if (this.#status[row]! & bit) visit(row, positions[at]!, positions[at + 1]! + positions[at + 2]!);
  }

  hasChildren(row: number): boolean {
    return this.#child[row] !== -1;
  }

  /** Yields the rows of the children, the newest first. */
  *children(row: number): Generator<number> {
    for (let child = this.#child[row]!; child >= 0; child = this.#sibling[child]!) yield child;
  }

  #grow(): void {
    const rows = grownRows(this.#capacity);
    this.#capacity = rows;
    this.#id = grown(this.#id, rows);
    this.#hash = grown(this.#hash, rows * HASH);
    this.#merkleRoot = grown(this.#merkleRoot, rows * HASH);
    this.#version = grown(this.#version, rows);
    this.#time = grown(this.#time, rows);
    this.#bits = grown(this.#bits, rows);
    this.#nonce = grown(this.#nonce, rows);
    const chainwork = new BigUint64Array(rows * WORK);
    chainwork.set(this.#chainwork);
    this.#chainwork = chainwork;
    this.#status = grown(this.#status, rows);
    this.#complete = grown(this.#complete, rows);
    this.#sequence = grown(this.#sequence, rows);
    this.#body = grown(this.#body, rows * POSITION);
    this.#undo = grown(this.#undo, rows * POSITION);
    this.#child = grown(this.#child, rows);
    this.#sibling = grown(this.#sibling, rows);
  }
}

function positionAt(positions: Uint32Array, row: number): FilePosition {
  const at = row * POSITION;
  return { file: positions[at]!, offset: positions[at + 1]!, size: positions[at + 2]! };
}

function setPosition(positions: Uint32Array, row: number, { file, offset, size }: FilePosition): void {
  positions.set([file, offset, size], row * POSITION);
}
