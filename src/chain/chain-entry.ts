import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { BlockHash, MerkleRoot } from '../primitives/hash.ts';
import type { BlockHeader } from '../primitives/header.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { hasFailed } from '../storage/header-store.ts';
import { HeaderStatus } from '../storage/schema.ts';
import { HeaderTable } from './header-table.ts';

/** So many of the newest come one after another; behind them every step is twice the one before. */
const DENSE = 10;

/** A header in the tree. All but its place in it stands in the table. */
export class ChainEntry implements HeaderEntry {
  readonly parent: ChainEntry | null;
  readonly height: number;
  /** Where it stands in the table of its tree. */
  readonly row: number;
  readonly #table: HeaderTable;
  /** An ancestor far back, so that any ancestor is found in O(log n) steps. */
  readonly #skip: ChainEntry | null;

  constructor(table: HeaderTable, row: number, parent: ChainEntry | null) {
    this.parent = parent;
    this.height = parent === null ? 0 : parent.height + 1;
    this.row = row;
    this.#table = table;
    this.#skip = parent === null ? null : parent.ancestor(skipHeight(this.height));
  }

  /** One that is in no tree, though its parent may be. */
  static detached(
    id: number,
    hash: BlockHash,
    header: BlockHeader,
    parent: ChainEntry | null,
    work: bigint,
  ): ChainEntry {
    const table = new HeaderTable(1);
    return new ChainEntry(table, table.addRow(id, hash, header, -1, work), parent);
  }

  /** Row of the headers table of the database, in order of arrival. */
  get id(): number {
    return this.#table.id(this.row);
  }

  /** 32 bytes of the caller's own. */
  get hash(): BlockHash {
    return this.#table.hash(this.row);
  }

  get version(): number {
    return this.#table.version(this.row);
  }

  get merkleRoot(): MerkleRoot {
    return this.#table.merkleRoot(this.row);
  }

  get time(): number {
    return this.#table.time(this.row);
  }

  get bits(): number {
    return this.#table.bits(this.row);
  }

  get nonce(): number {
    return this.#table.nonce(this.row);
  }

  get chainwork(): bigint {
    return this.#table.chainwork(this.row);
  }

  /** Bits of HeaderStatus. */
  get status(): number {
    return this.#table.status(this.row);
  }

  set status(status: number) {
    this.#table.setStatus(this.row, status);
  }

  /** The order in which chains became complete: of two with equal work the first seen stays. */
  get sequence(): number {
    return this.#table.sequence(this.row);
  }

  set sequence(sequence: number) {
    this.#table.setSequence(this.row, sequence);
  }

  /** Whether this body and those of all ancestors are there. */
  get complete(): boolean {
    return this.#table.complete(this.row);
  }

  set complete(complete: boolean) {
    this.#table.setComplete(this.row, complete);
  }

  get header(): BlockHeader {
    return {
      version: this.version,
      previousHash: this.parent ? this.parent.hash : (new Uint8Array(32) as BlockHash),
      merkleRoot: this.merkleRoot,
      time: this.time,
      bits: this.bits,
      nonce: this.nonce,
    };
  }

  get hasBody(): boolean {
    return (this.status & HeaderStatus.HAVE_BLOCK) !== 0;
  }

  get hasUndo(): boolean {
    return (this.status & HeaderStatus.HAVE_UNDO) !== 0;
  }

  get failed(): boolean {
    return hasFailed(this.status);
  }

  /** Where its body is stored, if it is. */
  get body(): FilePosition {
    return this.#table.body(this.row);
  }

  set body(place: FilePosition) {
    this.#table.setBody(this.row, place);
  }

  get undo(): FilePosition {
    return this.#table.undo(this.row);
  }

  set undo(place: FilePosition) {
    this.#table.setUndo(this.row, place);
  }

  ancestor(height: number): ChainEntry | null {
    if (height > this.height || height < 0) return null;
    let at: ChainEntry = this;
    while (at.height > height) {
      const skip = skipHeight(at.height);
      const parentSkip = skipHeight(at.height - 1);
      // The skip of the parent may lead further without passing the goal.
      const further = parentSkip < skip - 2 && parentSkip >= height;
      at = at.#skip !== null && (skip === height || (skip > height && !further)) ? at.#skip : at.parent!;
    }
    return at;
  }
}

/** Where the skip of an entry leads: turning low bits of the height to zero. */
function skipHeight(height: number): number {
  if (height < 2) return 0;
  return height & 1 ? clearLowestBit(clearLowestBit(height - 1)) + 1 : clearLowestBit(height);
}

function clearLowestBit(n: number): number {
  return n & (n - 1);
}

/** The last entry that two chains share. */
export function forkPoint(a: ChainEntry, b: ChainEntry): ChainEntry {
  let left = a.height > b.height ? a.ancestor(b.height)! : a;
  let right = b.height > a.height ? b.ancestor(a.height)! : b;
  while (left !== right) {
    left = left.parent!;
    right = right.parent!;
  }
  return left;
}

/** Hashes of an entry and of some of its ancestors, down to the genesis block: tells a peer where chains may fork. */
export function locatorOf(entry: HeaderEntry): BlockHash[] {
  const hashes: BlockHash[] = [];
  let step = 1;
  for (let at = entry; ; ) {
    hashes.push(at.hash);
    if (at.height === 0) return hashes;
    at = at.ancestor(Math.max(at.height - step, 0))!;
    if (hashes.length > DENSE) step *= 2;
  }
}
