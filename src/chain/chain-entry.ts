import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { BlockHash, MerkleRoot } from '../primitives/hash.ts';
import type { BlockHeader } from '../primitives/header.ts';
import type { FilePosition } from '../storage/block-files.ts';
import { HeaderStatus } from '../storage/chain-schema.ts';
import { hasFailed } from '../storage/header-store.ts';
import { HeaderTable } from './header-table.ts';

/** Number of consecutive hashes at the beginning of a locator; after them every step doubles. */
const DENSE = 10;

/** A header in the tree. Its fields are columns of the header table. */
export class ChainEntry implements HeaderEntry {
  readonly parent: ChainEntry | null;
  readonly height: number;
  /** Row in the table of its tree. */
  readonly row: number;
  readonly #table: HeaderTable;
  /** A distant ancestor, so that any ancestor is found in O(log n) steps (Core's pskip). */
  readonly #skip: ChainEntry | null;

  constructor(table: HeaderTable, row: number, parent: ChainEntry | null) {
    this.parent = parent;
    this.height = parent === null ? 0 : parent.height + 1;
    this.row = row;
    this.#table = table;
    this.#skip = parent === null ? null : parent.ancestor(skipHeight(this.height));
  }

  /** Returns an entry that is not in a tree, though its parent may be. */
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

  /** Row id in the headers table of the database, in order of arrival. */
  get id(): number {
    return this.#table.id(this.row);
  }

  /** Returns a copy. */
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

  /** The order in which chains became complete. Of two chains with equal work, the one with the lower number wins. */
  get sequence(): number {
    return this.#table.sequence(this.row);
  }

  set sequence(sequence: number) {
    this.#table.setSequence(this.row, sequence);
  }

  /** Whether the bodies of this block and of all its ancestors are or were stored. */
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

  /** Whether the body is stored, or was stored and has been pruned. */
  get hadBody(): boolean {
    return (this.status & HeaderStatus.HAD_BLOCK) !== 0;
  }

  /** Whether the block was connected once, so that its scripts are valid. Its undo data may have been pruned. */
  get wasConnected(): boolean {
    return (this.status & HeaderStatus.HAD_UNDO) !== 0;
  }

  get failed(): boolean {
    return hasFailed(this.status);
  }

  /** Position of the stored body; meaningless without `hasBody`. */
  get body(): FilePosition {
    return this.#table.body(this.row);
  }

  set body(position: FilePosition) {
    this.#table.setBody(this.row, position);
  }

  get undo(): FilePosition {
    return this.#table.undo(this.row);
  }

  set undo(position: FilePosition) {
    this.#table.setUndo(this.row, position);
  }

  ancestor(height: number): ChainEntry | null {
    if (height > this.height || height < 0) return null;
    let at: ChainEntry = this;
    while (at.height > height) {
      const skip = skipHeight(at.height);
      const parentSkip = skipHeight(at.height - 1);
      // The parent's skip may reach further without passing the height.
      const further = parentSkip < skip - 2 && parentSkip >= height;
      at = at.#skip !== null && (skip === height || (skip > height && !further)) ? at.#skip : at.parent!;
    }
    return at;
  }
}

/** Returns the height of an entry's skip, by clearing low bits of the height (Core's GetSkipHeight). */
function skipHeight(height: number): number {
  if (height < 2) return 0;
  return height & 1 ? clearLowestBit(clearLowestBit(height - 1)) + 1 : clearLowestBit(height);
}

function clearLowestBit(n: number): number {
  return n & (n - 1);
}

/** Returns the last common ancestor of two entries. */
export function forkPoint(a: ChainEntry, b: ChainEntry): ChainEntry {
  let left = a.height > b.height ? a.ancestor(b.height)! : a;
  let right = b.height > a.height ? b.ancestor(a.height)! : b;
  while (left !== right) {
    left = left.parent!;
    right = right.parent!;
  }
  return left;
}

/**
 * Returns a block locator: hashes of an entry and of some of its ancestors down to the genesis block, by which a peer
 * finds the fork point.
 */
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
