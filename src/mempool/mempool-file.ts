import { closeSync, openSync, readSync } from 'node:fs';
import { type ParsedTransaction, readTransaction } from '../primitives/block.ts';
import { readCompactSize } from '../primitives/compact-size.ts';
import type { Txid } from '../primitives/hash.ts';
import { ByteReader, DecodeError } from '../util/bytes.ts';
import { withDescriptors } from '../util/descriptors.ts';

export interface MempoolFileEntry {
  /** Views into what was read of the file; its `offset` means nothing. */
  readonly parsed: ParsedTransaction;
  /** Unix seconds when it came. */
  readonly time: number;
  /** Satoshis that it was prioritised by. */
  readonly feeDelta: number;
}

const PLAIN = 1n;
/** Everything behind the key is xored with it, by its place in the file. */
const OBFUSCATED = 2n;
const KEY_SIZE = 8;
/** No transaction that fits a block takes more, with what stands beside it. */
const MAX_RECORD = 4_000_100;
const WINDOW = 2 * MAX_RECORD;

/** A `mempool.dat` of Bitcoin Core, read from its beginning to its end. All methods throw DecodeError on another file. */
export class MempoolFile implements Disposable {
  /** Transactions that are to be in it. */
  readonly count: number;
  readonly #fd: number;
  #window = new Uint8Array(WINDOW);
  #key: Uint8Array | null = null;
  /** Of the window: where the next record begins, and where what was read ends. */
  #at = 0;
  #end = 0;
  /** Of the file: what was read, and whether that is all. */
  #read = 0;
  #ended = false;

  constructor(path: string) {
    this.#fd = withDescriptors(() => openSync(path, 'r'));
    try {
      const version = this.#take(8, (r) => r.u64());
      if (version === OBFUSCATED) this.#obfuscated();
      else if (version !== PLAIN) throw new DecodeError('not a mempool file of a known version');
      this.count = Number(this.#take(8, (r) => r.u64()));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  *transactions(): Generator<MempoolFileEntry> {
    for (let i = 0; i < this.count; i++)
      yield this.#take(MAX_RECORD, (r) => {
        const parsed = readTransaction(r);
        return { parsed, time: Number(r.i64()), feeDelta: readDelta(r) };
      });
  }

  /** Behind the transactions: what was prioritised and is not there, satoshis. */
  *feeDeltas(): Generator<readonly [Txid, number]> {
    for (let left = this.#size(); left > 0; left--)
      yield this.#take(40, (r) => [r.bytes(32).slice() as Txid, readDelta(r)] as const);
  }

  /** Behind those: what no peer has asked for yet. */
  *unbroadcast(): Generator<Txid> {
    for (let left = this.#size(); left > 0; left--) yield this.#take(32, (r) => r.bytes(32).slice() as Txid);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  #obfuscated(): void {
    const key = this.#take(1 + KEY_SIZE, (r) => {
      if (readCompactSize(r) !== KEY_SIZE) throw new DecodeError('a key of another size');
      return r.bytes(KEY_SIZE).slice();
    });
    // What was read ahead of it was read as it is.
    this.#key = key;
    this.#reveal(this.#at, this.#end);
  }

  #size(): number {
    return this.#take(9, readCompactSize);
  }

  /** Reads what takes no more than `most` bytes. */
  #take<T>(most: number, read: (r: ByteReader) => T): T {
    if (this.#end - this.#at < most && !this.#ended) this.#fill();
    const r = new ByteReader(this.#window.subarray(this.#at, this.#end));
    const value = read(r);
    this.#at += r.pos;
    return value;
  }

  #fill(): void {
    // Another one each time: what was read of the last is views into it.
    const window = new Uint8Array(WINDOW);
    window.set(this.#window.subarray(this.#at, this.#end));
    this.#window = window;
    this.#end -= this.#at;
    this.#at = 0;
    while (!this.#ended && this.#end < WINDOW) {
      const more = readSync(this.#fd, this.#window, this.#end, WINDOW - this.#end, this.#read);
      this.#ended = more === 0;
      this.#end += more;
      this.#read += more;
      this.#reveal(this.#end - more, this.#end);
    }
  }

  #reveal(from: number, to: number): void {
    if (this.#key === null) return;
    const place = this.#read - this.#end;
    for (let i = from; i < to; i++) this.#window[i]! ^= this.#key[(place + i) % KEY_SIZE]!;
  }
}

function readDelta(r: ByteReader): number {
  const delta = Number(r.i64());
  if (!Number.isSafeInteger(delta)) throw new DecodeError('a fee delta that no fee can have');
  return delta;
}
