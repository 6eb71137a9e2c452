import type { HeaderEntry } from '../consensus/header-entry.ts';
import type { BlockHash } from '../primitives/hash.ts';
import { headerFromBytes } from '../primitives/header.ts';
import type { ChainSource } from '../storage/chain-source.ts';
import type { HeaderRecord } from '../storage/header-store.ts';
import { equalBytes } from '../util/bytes.ts';

/** A stored header of the active chain as an entry for the consensus rules. Its ancestors are read on demand. */
export class StoredEntry implements HeaderEntry {
  readonly hash: BlockHash;
  readonly version: number;
  readonly time: number;
  readonly bits: number;
  readonly height: number;
  readonly chainwork: bigint;
  readonly #reads: Pick<ChainSource, 'headers'>;
  readonly #previousHash: BlockHash;

  constructor(reads: Pick<ChainSource, 'headers'>, record: HeaderRecord) {
    const header = headerFromBytes(record.header);
    this.hash = record.hash;
    this.version = header.version;
    this.time = header.time;
    this.bits = header.bits;
    this.height = record.height;
    this.chainwork = record.chainwork;
    this.#reads = reads;
    this.#previousHash = header.previousHash;
  }

  get parent(): StoredEntry | null {
    if (this.height === 0) return null;
    const record = this.#reads.headers.byHash(this.#previousHash);
    return record && new StoredEntry(this.#reads, record);
  }

  ancestor(height: number): StoredEntry | null {
    if (height < 0 || height > this.height) return null;
    if (height === this.height) return this;
    const active = this.#reads.headers.byHeight(this.height);
    if (active && equalBytes(active.hash, this.hash)) {
      const record = this.#reads.headers.byHeight(height);
      return record && new StoredEntry(this.#reads, record);
    }
    return this.parent?.ancestor(height) ?? null;
  }
}
