import { fail } from '../../http/errors.ts';
import { type BlockHash, hashToHex } from '../../primitives/hash.ts';
import { headerTime } from '../../queries/block-facts.ts';
import type { BlockSums } from '../../storage/block-sum-pages.ts';
import type { HeaderRows } from '../../storage/chain-source.ts';
import type { ChainTotals, HeaderRecord } from '../../storage/header-store.ts';
import { equalBytes } from '../../util/bytes.ts';
import type { AnswerRows, CumulativeSums, FetchedBlock } from './chain-rows.ts';
import { notInSink } from './not-in-sink.ts';
import { RowsMissing } from './row-needs.ts';

/** Blocks around one that are fetched with it: its median time and the next hash need them. */
const BEFORE = 10;
const BEHIND = 1;

/** The headers of the active chain of a sink, and of the blocks that have left it. */
export class SinkHeaders implements HeaderRows {
  readonly sumPages: HeaderRows['sumPages'];
  readonly #rows: AnswerRows;
  readonly #tip: HeaderRecord;

  constructor(rows: AnswerRows, tip: HeaderRecord) {
    this.#rows = rows;
    this.#tip = tip;
    this.sumPages = {
      sums: (from, to) => this.#sums(from, to),
      readPages: () => {},
    };
  }

  byHash(hash: Uint8Array): HeaderRecord | null {
    if (equalBytes(hash, this.#tip.hash)) return this.#tip;
    const key = hash.toHex();
    const block = this.#rows.get('hash', key);
    if (block) return block.record;
    if (this.#rows.get('unknown', key)) return null;
    throw new RowsMissing({ hashes: [hashToHex(hash as BlockHash)] });
  }

  byHeight(height: number): HeaderRecord | null {
    if (height < 0 || height > this.#tip.height || !Number.isInteger(height)) return null;
    return this.#blockAt(height).record;
  }

  range(from: number, limit: number): HeaderRecord[] {
    const to = Math.min(this.#tip.height, from + limit - 1);
    return this.#blocks(Math.max(0, from), to).map(({ record }) => record);
  }

  times(from: number, count: number): number[] {
    return this.range(from, count).map(headerTime);
  }

  medianTime(height: number): number {
    return this.#blockAt(height).medianTime!;
  }

  all(): Generator<HeaderRecord> {
    return notInSink('list of all headers');
  }

  tip(): HeaderRecord {
    return this.#tip;
  }

  isActive({ hash, height }: HeaderRecord): boolean {
    const active = this.byHeight(height);
    return active !== null && equalBytes(active.hash, hash);
  }

  fileEnd(): never {
    return notInSink('block files');
  }

  totals(height: number): ChainTotals | null {
    return height < 0 || height > this.#tip.height ? null : this.#sumsAt(height);
  }

  #blockAt(height: number): FetchedBlock {
    const block = this.#rows.get('block', height);
    if (block !== undefined) return block;
    throw new RowsMissing({ blocks: [[Math.max(0, height - BEFORE), Math.min(this.#tip.height, height + BEHIND)]] });
  }

  /** Returns the blocks from one height to another. */
  #blocks(from: number, to: number): FetchedBlock[] {
    const found: FetchedBlock[] = [];
    for (let height = from; height <= to; height++) {
      const block = this.#rows.get('block', height);
      if (block === undefined)
        throw new RowsMissing({ blocks: [[Math.max(0, height - BEFORE), Math.min(this.#tip.height, to + BEHIND)]] });
      found.push(block);
    }
    return found;
  }

  #sumsAt(height: number): CumulativeSums {
    return (
      this.#blockAt(height).sums ??
      fail('warming_up', 'the tables of the sink are of an earlier version, and a node is completing them')
    );
  }

  /** Returns the sums of all blocks from one height above 0 up to another. */
  #sums(from: number, to: number): BlockSums {
    const [before, last] = [this.#sumsAt(from - 1), this.#sumsAt(to)];
    const [size, weight] = [last.size - before.size, last.weight - before.weight];
    const blocks = to - from + 1;
    return {
      ...{ received: blocks, connected: blocks, size, strippedSize: (weight - size) / 3 },
      ...{ txCount: last.txs - before.txs, fees: last.fees - before.fees, connectedWeight: weight },
    };
  }
}
