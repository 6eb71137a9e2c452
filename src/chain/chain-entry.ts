import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { BlockHash } from '../primitives/hash.ts';
import type { BlockHeader } from '../primitives/header.ts';
import type { FilePlace } from '../storage/block-files.ts';
import { hasFailed } from '../storage/header-store.ts';
import { HeaderStatus } from '../storage/schema.ts';

/** A header in the tree. Flat, because a main chain has a million of them. */
export class ChainEntry implements HeaderEntry {
  /** Row of the headers table, in order of arrival. */
  readonly id: number;
  readonly hash: BlockHash;
  readonly version: number;
  readonly merkleRoot: Uint8Array;
  readonly time: number;
  readonly bits: number;
  readonly nonce: number;
  readonly height: number;
  readonly parent: ChainEntry | null;
  readonly chainwork: bigint;
  /** An ancestor far back, so that any ancestor is found in O(log n) steps. */
  readonly #skip: ChainEntry | null;
  /** Bits of HeaderStatus. */
  status = 0;
  /** The order in which chains became complete: of two with equal work the first seen stays. */
  sequence = 0;
  /** Whether this body and those of all ancestors are there. */
  complete = false;
  file = -1;
  offset = 0;
  size = 0;
  undoFile = -1;
  undoOffset = 0;
  undoSize = 0;

  constructor(id: number, hash: BlockHash, header: BlockHeader, parent: ChainEntry | null, chainwork: bigint) {
    this.id = id;
    this.hash = hash;
    this.version = header.version;
    this.merkleRoot = header.merkleRoot;
    this.time = header.time;
    this.bits = header.bits;
    this.nonce = header.nonce;
    this.parent = parent;
    this.height = parent === null ? 0 : parent.height + 1;
    this.chainwork = chainwork;
    this.#skip = parent === null ? null : parent.ancestor(skipHeight(this.height));
  }

  get header(): BlockHeader {
    return {
      version: this.version,
      previousHash: this.parent ? this.parent.hash : (new Uint8Array(32) as BlockHash),
      merkleRoot: this.merkleRoot as BlockHeader['merkleRoot'],
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

  get body(): FilePlace {
    return { file: this.file, offset: this.offset, size: this.size };
  }

  get undo(): FilePlace {
    return { file: this.undoFile, offset: this.undoOffset, size: this.undoSize };
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
export function forkOf(a: ChainEntry, b: ChainEntry): ChainEntry {
  let left = a.height > b.height ? a.ancestor(b.height)! : a;
  let right = b.height > a.height ? b.ancestor(a.height)! : b;
  while (left !== right) {
    left = left.parent!;
    right = right.parent!;
  }
  return left;
}
