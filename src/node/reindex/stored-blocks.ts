import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { checkProofOfWork } from '../../consensus/work.ts';
import { hash256 } from '../../crypto/hash-functions.ts';
import { genesisBlock } from '../../params/genesis.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import { type BlockHeader, HEADER_SIZE, headerFromBytes } from '../../primitives/header.ts';
import {
  type FilePosition,
  RECORD_HEADER,
  RecordReader,
  recordFileName,
  recordFileNumbers,
} from '../../storage/block-files.ts';
import { equalBytes } from '../../util/bytes.ts';
import { withDescriptors } from '../../util/descriptors.ts';

/** A block of four million weight units has at most four million bytes. */
const MAX_BLOCK_SIZE = 4_000_000;
const WINDOW = 1 << 16;
const RECORD_START = RECORD_HEADER + HEADER_SIZE;

/** Bytes of a block file that are no block, apart from zeros. */
export interface UnreadableRange {
  readonly file: string;
  readonly offset: number;
  readonly bytes: number;
}

/** The blocks of the block files in the order of the files: headers and positions, in packed arrays. */
export class RecordedBlocks {
  readonly unreadable: UnreadableRange[] = [];
  #headers = new Uint8Array(HEADER_SIZE * 1024);
  /** File, offset and size of each. */
  #places = new Float64Array(3 * 1024);
  #count = 0;
  #bytes = 0;

  get count(): number {
    return this.#count;
  }

  /** Bytes of all blocks. */
  get bytes(): number {
    return this.#bytes;
  }

  header(n: number): BlockHeader {
    return headerFromBytes(this.#headers.subarray(n * HEADER_SIZE, (n + 1) * HEADER_SIZE));
  }

  hash(n: number): Uint8Array {
    return hash256(this.#headers.subarray(n * HEADER_SIZE, (n + 1) * HEADER_SIZE));
  }

  position(n: number): FilePosition {
    return { file: this.#places[n * 3]!, offset: this.#places[n * 3 + 1]!, size: this.#places[n * 3 + 2]! };
  }

  addBlock(header: Uint8Array, { file, offset, size }: FilePosition): void {
    if (this.#count * 3 === this.#places.length) {
      const headers = new Uint8Array(this.#headers.length * 2);
      headers.set(this.#headers);
      this.#headers = headers;
      const places = new Float64Array(this.#places.length * 2);
      places.set(this.#places);
      this.#places = places;
    }
    this.#headers.set(header, this.#count * HEADER_SIZE);
    this.#places.set([file, offset, size], this.#count * 3);
    this.#count++;
    this.#bytes += size;
  }
}

/**
 * Finds the blocks of the block files in a folder by their headers, without reading the rest. Yields after each file. A
 * record counts if its magic is that of the network and its header has a valid proof of work, so its body may still be
 * damaged. After damage the search goes on at the next magic.
 */
export function* scanStoredBlocks(dir: string, { magic, consensus }: NetworkParams): Generator<void, RecordedBlocks> {
  const found = new RecordedBlocks();
  for (const file of recordFileNumbers(dir, 'blk')) {
    const scan = new FileScan(recordFileName(dir, 'blk', file), magic, consensus.powLimit);
    try {
      scan.addBlocks(file, found);
    } finally {
      scan.close();
    }
    yield;
  }
  return found;
}

/** Returns where an intact record of the genesis block is; null without one. */
export function findGenesis(dir: string, params: NetworkParams, stored: RecordedBlocks): FilePosition | null {
  const genesis = genesisBlock(params);
  const reader = new RecordReader(dir, 'blk');
  try {
    for (let n = 0; n < stored.count; n++) {
      if (!equalBytes(stored.hash(n), params.consensus.genesisHash)) continue;
      const position = stored.position(n);
      if (equalBytes(reader.read(position), genesis)) return position;
    }
    return null;
  } finally {
    reader.close();
  }
}

class FileScan {
  readonly #path: string;
  readonly #magic: number;
  readonly #powLimit: bigint;
  readonly #fd: number;
  readonly #size: number;
  readonly #start = Buffer.alloc(RECORD_START);
  readonly #window = Buffer.alloc(WINDOW);

  constructor(path: string, magic: number, powLimit: bigint) {
    this.#path = path;
    this.#magic = magic;
    this.#powLimit = powLimit;
    this.#fd = withDescriptors(() => openSync(path, 'r'));
    this.#size = fstatSync(this.#fd).size;
  }

  addBlocks(file: number, found: RecordedBlocks): void {
    /** End of the last record, and offset from which a record may begin if it was no intact one. */
    let end = 0;
    let from = 0;
    for (let at = 0; at < this.#size; ) {
      const size = this.#recordAt(at);
      if (size === null) {
        at = this.#nextMagic(Math.max(from, at === end ? from : at + 1));
        from = at + 1;
        continue;
      }
      if (at > end) this.#addUnreadable(end, at, found);
      found.addBlock(this.#start.subarray(RECORD_HEADER), { file, offset: at + RECORD_HEADER, size });
      from = at + RECORD_START;
      end = at + RECORD_HEADER + size;
      at = end;
    }
    if (end < this.#size) this.#addUnreadable(end, this.#size, found);
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** Returns the size of the block whose record begins at `at`; null without one. Its header is in `#start` then. */
  #recordAt(at: number): number | null {
    const start = this.#start;
    if (at + RECORD_START > this.#size || readSync(this.#fd, start, 0, RECORD_START, at) < RECORD_START) return null;
    if (start.readUInt32LE(0) !== this.#magic) return null;
    const size = start.readUInt32LE(4);
    if (size <= HEADER_SIZE || size > MAX_BLOCK_SIZE || at + RECORD_HEADER + size > this.#size) return null;
    const header = start.subarray(RECORD_HEADER);
    return checkProofOfWork(hash256(header), headerFromBytes(header).bits, this.#powLimit) ? size : null;
  }

  /** Returns the offset of the next magic from `from` on; the size of the file without one. */
  #nextMagic(from: number): number {
    const magic = Buffer.alloc(4);
    magic.writeUInt32LE(this.#magic);
    for (let at = from; at < this.#size; at += WINDOW - 3) {
      const found = this.#read(at).indexOf(magic);
      if (found >= 0) return at + found;
    }
    return this.#size;
  }

  /** Adds a range unless it is filled with zeros. */
  #addUnreadable(from: number, to: number, found: RecordedBlocks): void {
    for (let at = from; at < to; at += WINDOW)
      if (
        this.#read(at)
          .subarray(0, to - at)
          .some((byte) => byte !== 0)
      ) {
        found.unreadable.push({ file: this.#path, offset: from, bytes: to - from });
        return;
      }
  }

  #read(at: number): Buffer {
    return this.#window.subarray(0, readSync(this.#fd, this.#window, 0, WINDOW, at));
  }
}
