import type { Chain } from '../chain/chain.ts';
import { hash256 } from '../crypto/hash-functions.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { NETWORK_NAMES, paramsFor } from '../params/networks.ts';
import { hashToHex } from '../primitives/hash.ts';
import { HEADER_SIZE } from '../primitives/header.ts';
import { bytesToHex } from '../util/bytes.ts';
import type { Clock } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { BlockFileScanner } from './block-file-scanner.ts';
import type { BadBlock, ImportOptions, ImportResult } from './import-types.ts';

/** The position of a block within the imported files. */
interface BlockLocation {
  readonly file: number;
  readonly offset: number;
}

/**
 * Bounds both the blocks that wait for their parent and the remembered positions of blocks whose scripts are not
 * verified yet.
 */
const WAITING_LIMIT = 1_000_000;
const LOCATION_LIMIT = 100_000;
const PROGRESS_INTERVAL_MS = 200;

/**
 * Submits the blocks of files to the chain, in the order of the files or as soon as their parent is known, and stops at
 * the first invalid block. Throws OperatorError where a file holds no block of this network.
 */
export async function importFiles(
  chain: Chain,
  files: readonly string[],
  { signal, progress }: ImportOptions,
  { clock, log }: { clock: Clock; log: Log },
): Promise<ImportResult> {
  const run = new ImportRun(chain, files, clock, log);
  const leave = run.watch();
  try {
    await run.all(signal, progress);
    // After an abort, blocks that are not validated yet are read again by the next run.
    if (!signal.aborted) await chain.settle();
    progress(run.progress());
    return run.result();
  } finally {
    leave();
    run.close();
  }
}

class ImportRun {
  readonly #chain: Chain;
  readonly #files: readonly string[];
  readonly #scanners: BlockFileScanner[];
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #startedAt: number;
  /** Blocks by the hash of their missing parent, hex. */
  readonly #waiting = new Map<string, BlockLocation[]>();
  #waitingCount = 0;
  /** Positions by block hash, hex; the oldest are dropped first. */
  readonly #locations = new Map<string, BlockLocation>();
  #file = 0;
  #recordCount = 0;
  #connected = 0;
  #inputs = 0;
  #known = 0;
  #badBlock: BadBlock | null = null;
  #reportedAt = 0;

  constructor(chain: Chain, files: readonly string[], clock: Clock, log: Log) {
    this.#chain = chain;
    this.#files = files;
    this.#clock = clock;
    this.#log = log;
    this.#startedAt = clock.monotonicMs();
    this.#scanners = files.map((file) => new BlockFileScanner(file, chain.params.magic));
  }

  /** A block may prove invalid after it was accepted, when its scripts are verified. */
  watch(): () => void {
    const invalid = this.#chain.onInvalidBlock(({ hash }, { reason }) => {
      const location = this.#locations.get(bytesToHex(hash));
      if (location) this.#refuse(location, hash, reason);
    });
    const connected = this.#chain.onBlockConnected((inputs) => {
      this.#connected++;
      this.#inputs += inputs;
    });
    return () => {
      invalid();
      connected();
    };
  }

  async all(signal: AbortSignal, report: ImportOptions['progress']): Promise<void> {
    for (; this.#file < this.#files.length; this.#file++) {
      const scanner = this.#scanners[this.#file]!;
      const before = this.#recordCount;
      for (let found = scanner.next(); found !== null; found = scanner.next()) {
        await this.#submitWithDescendants({ file: this.#file, offset: found.offset }, found.raw);
        if (this.#badBlock || signal.aborted) return;
        this.#report(report);
      }
      if (this.#recordCount === before && scanner.size > 0) this.#refuseForeign(this.#files[this.#file]!);
    }
    if (this.#waitingCount > 0)
      this.#log.warn('blocks skipped: their ancestors are in none of the files', { blocks: this.#waitingCount });
  }

  progress() {
    let bytes = 0;
    for (let i = 0; i < this.#scanners.length; i++)
      bytes += i < this.#file ? this.#scanners[i]!.size : i === this.#file ? this.#scanners[i]!.position : 0;
    return {
      height: this.#chain.height,
      blocks: this.#connected,
      inputs: this.#inputs,
      bytes,
      totalBytes: this.#scanners.reduce((sum, { size }) => sum + size, 0),
      elapsedMs: this.#clock.monotonicMs() - this.#startedAt,
    };
  }

  result(): ImportResult {
    const { tip } = this.#chain;
    return {
      blocksConnected: this.#connected,
      blocksKnown: this.#known,
      height: tip.height,
      hash: hashToHex(tip.hash),
      badBlock: this.#badBlock,
    };
  }

  close(): void {
    for (const scanner of this.#scanners) scanner.close();
  }

  /** Submits a block, and then those that waited for it. */
  async #submitWithDescendants(location: BlockLocation, raw: Uint8Array): Promise<void> {
    this.#recordCount++;
    const hash = hash256(raw.subarray(0, HEADER_SIZE));
    const parent = raw.subarray(4, 36);
    const known = this.#chain.findEntry(hash);
    // A pruned block is not stored again.
    if (known?.hadBody && !known.failed) this.#known++;
    else if (!known && !this.#chain.findEntry(parent)) return this.#wait(bytesToHex(parent), location);
    else await this.#submit(location, hash, raw);
    const queue = this.#release(hash);
    for (let next = queue.pop(); next !== undefined && !this.#badBlock; next = queue.pop()) {
      const child = this.#scanners[next.file]!.readAt(next.offset);
      const childHash = hash256(child.subarray(0, HEADER_SIZE));
      await this.#submit(next, childHash, child);
      queue.push(...this.#release(childHash));
    }
  }

  async #submit(location: BlockLocation, hash: Uint8Array, raw: Uint8Array): Promise<void> {
    if (this.#locations.size >= LOCATION_LIMIT) this.#locations.delete(this.#locations.keys().next().value!);
    this.#locations.set(bytesToHex(hash), location);
    const outcome = await this.#chain.acceptBlock(raw);
    if (outcome.status === 'known') this.#known++;
    if (outcome.status === 'rejected') this.#refuse(location, hash, outcome.rejection.reason);
  }

  #wait(parent: string, location: BlockLocation): void {
    if (this.#waitingCount >= WAITING_LIMIT) return;
    this.#waitingCount++;
    const others = this.#waiting.get(parent);
    if (others) others.push(location);
    else this.#waiting.set(parent, [location]);
  }

  #release(hash: Uint8Array): BlockLocation[] {
    const key = bytesToHex(hash);
    const places = this.#waiting.get(key) ?? [];
    this.#waiting.delete(key);
    this.#waitingCount -= places.length;
    return places;
  }

  #refuse(location: BlockLocation, hash: Uint8Array, reason: string): void {
    this.#badBlock ??= { file: this.#files[location.file]!, offset: location.offset, hash: hashToHex(hash), reason };
  }

  #refuseForeign(file: string): never {
    const other = NETWORK_NAMES.filter((name) => name !== this.#chain.params.name)
      .map((name) => paramsFor(name))
      .find(({ magic }) => this.#holds(file, magic));
    const hint = other ? `: its blocks are of network ${other.name}` : '';
    throw new OperatorError(`${file} holds no block of network ${this.#chain.params.name}${hint}`);
  }

  #holds(file: string, magic: NetworkParams['magic']): boolean {
    const scanner = new BlockFileScanner(file, magic);
    try {
      return scanner.next() !== null;
    } finally {
      scanner.close();
    }
  }

  #report(report: ImportOptions['progress']): void {
    const now = this.#clock.monotonicMs();
    if (now - this.#reportedAt < PROGRESS_INTERVAL_MS) return;
    this.#reportedAt = now;
    report(this.progress());
  }
}
