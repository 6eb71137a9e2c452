import { closeSync, openSync, readSync } from 'node:fs';
import { type ParsedTransaction, readTransaction } from '../primitives/block.ts';
import { readCompactSize } from '../primitives/compact-size.ts';
import type { Txid } from '../primitives/hash.ts';
import { ByteReader, DecodeError } from '../util/bytes.ts';
import { withDescriptors } from '../util/descriptors.ts';

export interface MempoolFileEntry {
  /** Views of the file's bytes; `offset` is meaningless. */
  readonly parsed: ParsedTransaction;
  /** Time of entry, Unix seconds. */
  readonly time: number;
  /** Prioritisation delta, satoshis. */
  readonly feeDelta: number;
}

const PLAIN = 1n;
/** Everything after the key is XORed with it, by file offset. */
const OBFUSCATED = 2n;
const KEY_SIZE = 8;
/** Upper bound of a record: the largest transaction that fits a block, with its other fields. */
const MAX_RECORD = 4_000_100;
const WINDOW = 2 * MAX_RECORD;

/** Sequential reader of a `mempool.dat` of Bitcoin Core. All methods throw DecodeError if the file is invalid. */
export class MempoolFile implements Disposable {
  /** Number of transactions in the file. */
  readonly count: number;
  readonly #fd: number;
  #window = new Uint8Array(WINDOW);
  #key: Uint8Array | null = null;
  /** Offsets in the window: the next record, and the end of the bytes read. */
  #at = 0;
  #end = 0;
  /** Number of bytes read from the file, and whether its end was reached. */
  #read = 0;
  #ended = false;

  constructor(path: string) {
    this.#fd = withDescriptors(() => openSync(path, 'r'));
    try {
      const version = this.#readRecord(8, (r) => r.u64());
      if (version === OBFUSCATED) this.#readKey();
      else if (version !== PLAIN) throw new DecodeError('unknown version of the mempool file');
      this.count = Number(this.#readRecord(8, (r) => r.u64()));
    } catch (error) {
      this[Symbol.dispose]();
      throw error;
    }
  }

  *transactions(): Generator<MempoolFileEntry> {
    for (let i = 0; i < this.count; i++)
      yield this.#readRecord(MAX_RECORD, (r) => {
        const parsed = readTransaction(r);
        return { parsed, time: Number(r.i64()), feeDelta: readDelta(r) };
      });
  }

  /**
   * Yields the prioritisation deltas of transactions that are not in the file, satoshis. They follow the transactions.
   */
  *feeDeltas(): Generator<readonly [Txid, number]> {
    for (let left = this.#size(); left > 0; left--)
      yield this.#readRecord(40, (r) => [r.bytes(32).slice() as Txid, readDelta(r)] as const);
  }

  /** Yields the txids of unbroadcast transactions. They follow the deltas. */
  *unbroadcast(): Generator<Txid> {
    for (let left = this.#size(); left > 0; left--) yield this.#readRecord(32, (r) => r.bytes(32).slice() as Txid);
  }

  [Symbol.dispose](): void {
    closeSync(this.#fd);
  }

  #readKey(): void {
    const key = this.#readRecord(1 + KEY_SIZE, (r) => {
      if (readCompactSize(r) !== KEY_SIZE) throw new DecodeError('invalid key size in the mempool file');
      return r.bytes(KEY_SIZE).slice();
    });
    // The bytes already read beyond the key are still obfuscated.
    this.#key = key;
    this.#deobfuscate(this.#at, this.#end);
  }

  #size(): number {
    return this.#readRecord(9, readCompactSize);
  }

  /** Reads a value of at most `most` bytes. */
  #readRecord<T>(most: number, read: (r: ByteReader) => T): T {
    if (this.#end - this.#at < most && !this.#ended) this.#fill();
    const r = new ByteReader(this.#window.subarray(this.#at, this.#end));
    const value = read(r);
    this.#at += r.pos;
    return value;
  }

  #fill(): void {
    // A new window each time, since records of the previous one are views of it.
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
      this.#deobfuscate(this.#end - more, this.#end);
    }
  }

  #deobfuscate(from: number, to: number): void {
    if (this.#key === null) return;
    const place = this.#read - this.#end;
    for (let i = from; i < to; i++) this.#window[i]! ^= this.#key[(place + i) % KEY_SIZE]!;
  }
}

function readDelta(r: ByteReader): number {
  const delta = Number(r.i64());
  if (!Number.isSafeInteger(delta)) throw new DecodeError('fee delta out of range in the mempool file');
  return delta;
}
