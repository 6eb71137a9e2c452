import { join } from 'node:path';
import type { BlockOutcome } from '../../chain/block-intake.ts';
import type { Chain } from '../../chain/chain.ts';
import type { ChainEntry } from '../../chain/chain-entry.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { RecordReader, recordFileName } from '../../storage/block-files.ts';
import { bytesToHex } from '../../util/bytes.ts';
import type { Clock } from '../../util/clock.ts';
import type { ImportOptions } from '../import-types.ts';
import type { DamagedBlock, ReindexResult } from './reindex-types.ts';
import type { RecordedBlocks } from './stored-blocks.ts';

/** Headers that are submitted at once. */
const HEADERS_PER_CALL = 2000;
const PROGRESS_INTERVAL_MS = 200;

/**
 * Submits the blocks of the block files to a chain that was opened for a reindex: first all headers, so that the same
 * scripts are assumed valid as in a download, then the blocks of the best chain, then all others. Damaged blocks are
 * skipped; the chain ends before the first of them.
 */
export async function reindexBlocks(
  chain: Chain,
  dir: string,
  stored: RecordedBlocks,
  { signal, progress }: ImportOptions,
  clock: Clock,
): Promise<Omit<ReindexResult, 'continued'>> {
  const run = new ReindexRun(chain, dir, stored, clock);
  try {
    await run.acceptHeaders(signal);
    await run.acceptBlocks(signal, progress);
    // After an abort, blocks that are not validated yet are read again by the next run.
    if (!signal.aborted) await chain.settle();
    progress(run.progress());
    return run.result();
  } finally {
    run.close();
  }
}

class ReindexRun {
  readonly #chain: Chain;
  readonly #blocksDir: string;
  readonly #stored: RecordedBlocks;
  readonly #clock: Clock;
  readonly #reader: RecordReader;
  readonly #startedAt: number;
  readonly #unsubscribe: () => void;
  /** Records by the rows of their headers: the first one, and further ones where a block is stored more than once. */
  readonly #records: number[] = [];
  readonly #copies = new Map<number, number[]>();
  /** Entries with a record, in the order in which their headers were accepted. */
  readonly #entries: ChainEntry[] = [];
  readonly #damaged: DamagedBlock[] = [];
  #withoutParent = 0;
  #connected = 0;
  #inputs = 0;
  #known = 0;
  #bytes = 0;
  #reportedAt = 0;

  constructor(chain: Chain, dir: string, stored: RecordedBlocks, clock: Clock) {
    this.#chain = chain;
    this.#blocksDir = join(dir, 'blocks');
    this.#stored = stored;
    this.#clock = clock;
    this.#reader = new RecordReader(this.#blocksDir, 'blk');
    this.#startedAt = clock.monotonicMs();
    this.#unsubscribe = chain.onBlockConnected((inputs) => {
      this.#connected++;
      this.#inputs += inputs;
    });
  }

  /** Submits the headers, parents first. */
  async acceptHeaders(signal: AbortSignal): Promise<void> {
    /** Records by the hash of their missing parent, hex. */
    const waiting = new Map<string, number[]>();
    const batch = new Map<string, number>();
    for (let n = 0; n < this.#stored.count && !signal.aborted; n++) {
      const queue = [n];
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
        const hash = this.#stored.hash(next);
        if (batch.has(bytesToHex(hash)) || this.#chain.findEntry(hash) !== null) {
          await this.#flushHeaders(batch);
          this.#addRecord(next, hash);
          continue;
        }
        const { previousHash } = this.#stored.header(next);
        const parent = bytesToHex(previousHash);
        if (!batch.has(parent) && this.#chain.findEntry(previousHash) === null) {
          const others = waiting.get(parent);
          if (others) others.push(next);
          else waiting.set(parent, [next]);
          continue;
        }
        const key = bytesToHex(hash);
        batch.set(key, next);
        if (batch.size >= HEADERS_PER_CALL) await this.#flushHeaders(batch);
        queue.push(...(waiting.get(key) ?? []));
        waiting.delete(key);
      }
    }
    await this.#flushHeaders(batch);
    for (const numbers of waiting.values()) this.#withoutParent += numbers.length;
  }

  /** Submits the blocks whose headers are known. */
  async acceptBlocks(signal: AbortSignal, report: ImportOptions['progress']): Promise<void> {
    const best = this.#chain.bestHeader;
    const isBest = (entry: ChainEntry) => best.ancestor(entry.height) === entry;
    const byHeight = this.#entries.toSorted((a, b) => a.height - b.height);
    for (const entries of [byHeight.filter(isBest), byHeight.filter((entry) => !isBest(entry))])
      for (const entry of entries) {
        if (signal.aborted) return;
        await this.#acceptBlock(entry);
        const now = this.#clock.monotonicMs();
        if (now - this.#reportedAt < PROGRESS_INTERVAL_MS) continue;
        this.#reportedAt = now;
        report(this.progress());
      }
  }

  progress() {
    return {
      height: this.#chain.height,
      blocks: this.#connected,
      inputs: this.#inputs,
      bytes: this.#bytes,
      totalBytes: this.#stored.bytes,
      elapsedMs: this.#clock.monotonicMs() - this.#startedAt,
    };
  }

  result(): Omit<ReindexResult, 'continued'> {
    const { tip, bestHeader } = this.#chain;
    return {
      blocksConnected: this.#connected,
      blocksKnown: this.#known,
      height: tip.height,
      hash: hashToHex(tip.hash),
      headers: bestHeader.height,
      damaged: this.#damaged,
      unreadable: this.#stored.unreadable,
      withoutParent: this.#withoutParent,
    };
  }

  close(): void {
    this.#unsubscribe();
    this.#reader.close();
  }

  /** Submits collected headers, in their order. A rejected header has no place in the chain, nor have its descendants. */
  async #flushHeaders(batch: Map<string, number>): Promise<void> {
    const numbers = [...batch.values()];
    batch.clear();
    for (let at = 0; at < numbers.length; ) {
      const rest = numbers.slice(at);
      const { rejection } = await this.#chain.acceptHeaders(rest.map((n) => this.#stored.header(n)));
      const rejected = rest.findIndex((n) => this.#chain.findEntry(this.#stored.hash(n)) === null);
      for (const n of rejected < 0 ? rest : rest.slice(0, rejected)) this.#addRecord(n, this.#stored.hash(n));
      if (rejection === null || rejected < 0) return;
      this.#reportDamage(rest[rejected]!, null, rejection.reason);
      at += rejected + 1;
    }
  }

  #addRecord(n: number, hash: Uint8Array): void {
    const entry = this.#chain.findEntry(hash);
    if (entry === null) return;
    if (this.#records[entry.row] === undefined) {
      this.#records[entry.row] = n;
      this.#entries.push(entry);
    } else this.#copies.set(entry.row, [...(this.#copies.get(entry.row) ?? []), n]);
  }

  /** Submits the first intact record of a block. */
  async #acceptBlock(entry: ChainEntry): Promise<void> {
    const numbers = [this.#records[entry.row]!, ...(this.#copies.get(entry.row) ?? [])];
    for (const n of numbers) this.#bytes += this.#stored.position(n).size;
    if (entry.hasBody) {
      // The genesis block is stored when the chain is created.
      if (entry.height > 0) this.#known++;
      return;
    }
    let problem: { n: number; reason: string } | null = null;
    for (const n of numbers) {
      const outcome = await this.#submit(n);
      // Other rejections are those of invalid blocks, which the chain stores and remembers as such.
      if (outcome.status !== 'rejected' || outcome.rejection.kind !== 'mutated') return;
      problem ??= { n, reason: outcome.rejection.reason };
    }
    if (problem !== null) this.#reportDamage(problem.n, entry.height, problem.reason);
  }

  #submit(n: number): Promise<BlockOutcome> {
    const position = this.#stored.position(n);
    return this.#chain.acceptStoredBlock(this.#reader.read(position), position);
  }

  #reportDamage(n: number, height: number | null, reason: string): void {
    const { file, offset } = this.#stored.position(n);
    const hash = bytesToHex(this.#stored.hash(n).toReversed());
    this.#damaged.push({ file: recordFileName(this.#blocksDir, 'blk', file), offset, hash, height, reason });
  }
}
