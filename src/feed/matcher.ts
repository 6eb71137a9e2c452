import { ApiError } from '../http/errors.ts';
import type { JobResult, ReaderJob } from '../queries/reader-jobs.ts';
import type { ChainSource } from '../storage/chain-source.ts';
import type { StoredEvents } from '../storage/event-store.ts';
import { ancestorEndpoint, ancestorHash, matchUnconfirmed } from './event-readers.ts';
import type { LogEntry } from './log-entry.ts';
import { type TxTouches, touchesFromLine } from './match.ts';
import type { snapshotEndpoint } from './snapshot-lines.ts';
import { type WalletNotificationOptions, WalletNotifications } from './wallet-notifications.ts';
import type { WatchRegistry } from './watches.ts';

/** The transactions of a block that touch what was watched at some version of the registry. */
export class BlockMatches {
  readonly version: number;
  readonly hash: string;
  readonly height: number;
  readonly time: number;
  /** Whether the block has been pruned, so that its transactions are unknown. */
  readonly pruned: boolean;
  readonly bytes: number;
  readonly #lines: string[];
  readonly #txs: (TxTouches | undefined)[] = [];

  constructor(version: number, hash: string, body: Uint8Array) {
    const [first, ...lines] = new TextDecoder().decode(body).split('\n');
    const { height, time, pruned } = JSON.parse(first!) as { height: number; time: number; pruned?: true };
    this.pruned = pruned ?? false;
    this.version = version;
    this.hash = hash;
    this.height = height;
    this.time = time;
    this.bytes = body.length;
    this.#lines = lines;
  }

  get count(): number {
    return this.#lines.length;
  }

  /** Parses one transaction on request, so that no slice of the main thread parses all of them. */
  touchesAt(at: number): TxTouches {
    return (this.#txs[at] ??= touchesFromLine(this.#lines[at]!));
  }
}

/** The chain of a matcher. Without headers it finds the ancestors of a block with jobs. */
export type MatchedChain = StoredEvents &
  Pick<ChainSource, 'pruneHeight'> &
  (object | Pick<ChainSource, 'headers' | 'snapshot'>);

export interface MatcherOptions {
  readonly registry: WatchRegistry;
  /** Runs a job on a reader worker. */
  runJob(job: ReaderJob): Promise<JobResult>;
  readonly wallets: Omit<WalletNotificationOptions, 'run'>;
}

/** Bytes of a transaction that is matched on the main thread; a worker matches larger ones. */
const FRONT_TX_BYTES = 10_000;
const MAX_JOBS = 8;
const MAX_BLOCKS = 256;
const MAX_BLOCK_BYTES = 32 * 1024 ** 2;
const MAX_TXS = 1000;
const MAX_ANCESTORS = 1000;
const MAX_BODY_BYTES = 16 * 1024 ** 2;

type TxMatch = { readonly version: number; readonly touches: TxTouches | null };

/**
 * Derives the matches of events with watched items, once for all clients. Reader workers do the work, and results are
 * cached for a while. Each method returns the result, or a promise after which the call is repeated.
 */
export class Matcher {
  readonly wallets: WalletNotifications;
  readonly #registry: WatchRegistry;
  readonly #options: MatcherOptions;
  readonly #blocks = new Map<string, BlockMatches>();
  readonly #txs = new Map<number, TxMatch>();
  readonly #bodies = new Map<number, string>();
  /** Hashes of ancestors that jobs have found, by the hash of the block and the number of blocks between them. */
  readonly #ancestors = new Map<string, string | null>();
  readonly #running = new Map<string, Promise<void>>();
  readonly #queue: (() => void)[] = [];
  #jobs = 0;
  #blockBytes = 0;
  #bodyBytes = 0;
  #reads: MatchedChain | null = null;

  constructor(options: MatcherOptions) {
    this.#registry = options.registry;
    this.#options = options;
    this.wallets = new WalletNotifications({ ...options.wallets, run: (name, input) => this.#run(name, input) });
  }

  attach(reads: MatchedChain): void {
    this.#reads = reads;
  }

  /** Seed of the prints of watched items. */
  get seed(): number {
    return this.#registry.seed;
  }

  /** Returns the lines of the endpoint `event-snapshot`. */
  async snapshot(input: Parameters<typeof snapshotEndpoint.run>[1]): Promise<string[]> {
    const text = textOf(await this.#run('event-snapshot', input));
    return text === '' ? [] : text.split('\n');
  }

  /** Returns the matches of a block at this version of the registry or a later one. */
  matchBlock(hash: string, version: number): BlockMatches | Promise<void> {
    const known = this.#blocks.get(hash);
    if (known && known.version >= version) return known;
    return this.#once(`block ${hash}`, async () => {
      const matchedAt = this.#registry.version;
      const body = await this.#run('event-block-matches', { hash, filter: this.#registry.data() });
      this.#keepBlock(new BlockMatches(matchedAt, hash, body));
    });
  }

  /** Returns the match of an unconfirmed transaction at this version of the registry or a later one. */
  matchTransaction({ seq, tx }: LogEntry, version: number): TxMatch | Promise<void> {
    const known = this.#txs.get(seq);
    if (known && known.version >= version) return known;
    const matchedAt = this.#registry.version;
    if (!tx) return { version: matchedAt, touches: null };
    if (tx.raw.length + tx.spent.length <= FRONT_TX_BYTES)
      return this.#keepTx(seq, { version: matchedAt, touches: matchUnconfirmed(tx, this.#registry) });
    return this.#once(`tx ${seq}`, async () => {
      const body = await this.#run('event-tx-matches', { ...tx, filter: this.#registry.data() });
      this.#keepTx(seq, {
        version: matchedAt,
        touches: body.length > 0 ? touchesFromLine(textOf(body)) : null,
      });
    });
  }

  /** JSON of the block (by hash, display order) or transaction that an event is about, as REST gives it. */
  readBody(entry: LogEntry, hash: string | null): string | Promise<void> {
    // The key is the event, since a disconnected block differs from the connected one.
    const key = entry.seq;
    const known = this.#bodies.get(key);
    if (known !== undefined) return known;
    return this.#once(`body ${key}`, async () => {
      const body = hash
        ? await this.#run('block', { hash, summary: false })
        : await this.#run('event-tx', { ...entry.tx! });
      this.#keepBody(key, textOf(body));
    });
  }

  /** Lowest height from which on all blocks are stored; 0 if none has been pruned. */
  get pruneHeight(): number {
    return this.#reads?.pruneHeight() ?? 0;
  }

  /** Number of the newest event of the chain; 0 without any. */
  get newestChainSeq(): number {
    return this.#reads?.events.bounds().last ?? 0;
  }

  /** The hash of the block `back` below another one on its branch, display order; null below the genesis block. */
  ancestor(hash: string, back: number): string | null | Promise<void> {
    if (this.#reads === null) return null;
    if ('headers' in this.#reads) return ancestorHash({ reads: this.#reads }, hash, back);
    const key = `${back} ${hash}`;
    const known = this.#ancestors.get(key);
    if (known !== undefined) return known;
    return this.#once(`ancestor ${key}`, async () => {
      const found = textOf(await this.#run(ancestorEndpoint.name, { hash, back }));
      this.#ancestors.set(key, found === '' ? null : found);
      if (this.#ancestors.size > MAX_ANCESTORS) this.#ancestors.delete(this.#ancestors.keys().next().value!);
    });
  }

  #once(key: string, make: () => Promise<void>): Promise<void> {
    let running = this.#running.get(key);
    if (!running) {
      running = make().finally(() => this.#running.delete(key));
      this.#running.set(key, running);
    }
    return running;
  }

  /** Runs a bounded number of jobs at a time, so that many replays do not crowd out REST. */
  async #run(name: string, input: unknown): Promise<Uint8Array> {
    while (this.#jobs >= MAX_JOBS) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#jobs++;
    try {
      return await this.#job(name, input);
    } finally {
      this.#jobs--;
      this.#queue.shift()?.();
    }
  }

  async #job(name: string, input: unknown): Promise<Uint8Array> {
    const result = await this.#options.runJob({ kind: 'rest', name, input });
    if (!result.ok && 'api' in result && result.api.failure === 'block_pruned')
      throw new ApiError(result.api.failure, result.api.message, result.api.details);
    if (!result.ok) throw new Error(`${name}: ${'rpc' in result ? result.rpc.message : result.api.message}`);
    const { body } = result.reply;
    return typeof body === 'string' ? new TextEncoder().encode(body) : body;
  }

  #keepBlock(matches: BlockMatches): void {
    const { hash, bytes } = matches;
    this.#blockBytes += bytes - (this.#blocks.get(hash)?.bytes ?? 0);
    this.#blocks.delete(hash);
    this.#blocks.set(hash, matches);
    for (const [key, old] of this.#blocks) {
      if (key === hash || (this.#blocks.size <= MAX_BLOCKS && this.#blockBytes <= MAX_BLOCK_BYTES)) break;
      this.#blocks.delete(key);
      this.#blockBytes -= old.bytes;
    }
  }

  #keepTx(seq: number, match: TxMatch): TxMatch {
    this.#txs.delete(seq);
    this.#txs.set(seq, match);
    if (this.#txs.size > MAX_TXS) this.#txs.delete(this.#txs.keys().next().value!);
    return match;
  }

  #keepBody(key: number, text: string): void {
    this.#bodies.set(key, text);
    this.#bodyBytes += text.length;
    for (const [old, { length }] of this.#bodies) {
      if (old === key || this.#bodyBytes <= MAX_BODY_BYTES) break;
      this.#bodies.delete(old);
      this.#bodyBytes -= length;
    }
  }
}

function textOf(body: Uint8Array): string {
  return new TextDecoder().decode(body);
}
