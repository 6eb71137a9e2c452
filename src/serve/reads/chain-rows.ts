import type { ParsedTransaction } from '../../primitives/block.ts';
import type { Coin, TxPosition } from '../../primitives/coin.ts';
import type { Txid } from '../../primitives/hash.ts';
import type { ChainTotals, HeaderRecord } from '../../storage/header-store.ts';
import type { HistoryRecord, ScriptCoin, ScriptTotals } from '../../storage/script-store.ts';

/** Sums from the genesis block up to a block of the active chain. */
export interface CumulativeSums extends ChainTotals {
  readonly size: number;
  readonly weight: number;
  readonly fees: number;
}

/** A block by its header. */
export interface FetchedBlock {
  readonly record: HeaderRecord;
  /** Null for a block that has left the active chain. */
  readonly medianTime: number | null;
  /** Null there as well, and in tables of version 1 until a node has completed them. */
  readonly sums: CumulativeSums | null;
}

/** A transaction of the active chain with the outputs that it spends. */
export interface WholeTx {
  readonly parsed: ParsedTransaction;
  readonly spent: readonly Coin[];
}

export interface TxPlace {
  readonly txid: Txid;
  readonly size: number;
}

/** The types of rows by the name of their kind. The keys of the cache begin with it. */
interface RowKinds {
  /** By height. */
  block: FetchedBlock;
  /** By hash. */
  hash: FetchedBlock;
  tx: WholeTx;
  /** By position; null where the block has no such transaction. */
  place: TxPlace | null;
  /** Concatenated txids of a block by height, wire order. */
  txids: Uint8Array;
  raw: Uint8Array;
  undo: Uint8Array;
  /** Position of a transaction by txid; null where there is none. */
  position: TxPosition | null;
  /** Indexes of the outputs of a transaction that are spent, by position. */
  spent: ReadonlySet<number>;
  totals: ScriptTotals | null;
  history: readonly HistoryRecord[];
  coins: readonly ScriptCoin[];
  coinbases: number;
  /** Positions of the transactions that spend an output. */
  spenders: readonly TxPosition[];
  /** Height of the first block whose median time is at least a time; null without one. */
  since: number | null;
  /** Whether there is no block with a hash. */
  unknown: true;
}
export type RowKind = keyof RowKinds;
export type RowOf<K extends RowKind> = RowKinds[K];

/** Kinds whose rows stay the same while the chain grows: until a reorg they are true at every later tip. */
const CONFIRMED: ReadonlySet<RowKind> = new Set([
  ...(['block', 'hash', 'tx', 'place', 'txids', 'raw', 'undo'] as const),
]);

interface Kept {
  readonly row: unknown;
  readonly bytes: number;
}

/** Rows by key with a limit of bytes; the least recently used ones are evicted. */
class RowCache {
  readonly #maxBytes: number;
  readonly #rows = new Map<string, Kept>();
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get(key: string): Kept | undefined {
    const kept = this.#rows.get(key);
    if (kept === undefined) return undefined;
    // A Map keeps insertion order, so its first entry is the least recently used one.
    this.#rows.delete(key);
    this.#rows.set(key, kept);
    return kept;
  }

  set(key: string, kept: Kept): void {
    this.#bytes += kept.bytes - (this.#rows.get(key)?.bytes ?? 0);
    this.#rows.delete(key);
    this.#rows.set(key, kept);
    for (const [oldest, { bytes }] of this.#rows) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#rows.delete(oldest);
      this.#bytes -= bytes;
    }
  }

  clear(): void {
    this.#rows.clear();
    this.#bytes = 0;
  }
}

/** Bytes of an entry beside its row. */
const ENTRY_BYTES = 200;

/** The rows of one state of the chain that were fetched last. */
export class ChainRows {
  readonly #confirmed: RowCache;
  readonly #current: RowCache;

  constructor(maxBytes: number) {
    this.#confirmed = new RowCache(maxBytes * 0.75);
    this.#current = new RowCache(maxBytes * 0.25);
  }

  /** Must be called when the tip is another one. `hasGrown`: the former tip is still in the active chain. */
  advance(hasGrown: boolean): void {
    this.#current.clear();
    if (!hasGrown) this.#confirmed.clear();
  }

  get<K extends RowKind>(kind: K, key: string | number): RowOf<K> | undefined {
    return this.#cacheOf(kind).get(`${kind} ${key}`)?.row as RowOf<K> | undefined;
  }

  set<K extends RowKind>(kind: K, key: string | number, row: RowOf<K>, bytes: number): void {
    this.#cacheOf(kind).set(`${kind} ${key}`, { row, bytes: bytes + ENTRY_BYTES });
  }

  #cacheOf(kind: RowKind): RowCache {
    return CONFIRMED.has(kind) ? this.#confirmed : this.#current;
  }
}

/** The rows of one answer: those that it fetched stay until it is made, whatever else is fetched meanwhile. */
export class AnswerRows {
  readonly #shared: ChainRows;
  readonly #own = new Map<string, unknown>();
  /** Bytes that the answer has fetched. */
  bytes = 0;

  constructor(shared: ChainRows) {
    this.#shared = shared;
  }

  get<K extends RowKind>(kind: K, key: string | number): RowOf<K> | undefined {
    const own = this.#own.get(`${kind} ${key}`);
    return own === undefined && !this.#own.has(`${kind} ${key}`) ? this.#shared.get(kind, key) : (own as RowOf<K>);
  }

  set<K extends RowKind>(kind: K, key: string | number, row: RowOf<K>, bytes: number): void {
    this.setOwn(kind, key, row, bytes);
    this.#shared.set(kind, key, row, bytes);
  }

  /** Keeps a row for this answer alone. */
  setOwn<K extends RowKind>(kind: K, key: string | number, row: RowOf<K>, bytes: number): void {
    this.#own.set(`${kind} ${key}`, row);
    this.bytes += bytes;
  }
}

/** Returns the key of a page of a history or of coins. */
export function pageKey(key: string, ...parts: readonly (string | number)[]): string {
  return `${key} ${parts.join(' ')}`;
}
