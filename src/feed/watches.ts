import {
  type FilterData,
  outpointBytes,
  outpointPrint,
  scriptPrint,
  txidPrint,
  type WatchFilter,
} from './watch-filter.ts';

/** Something a client wants to hear of. */
export interface WatchItem {
  readonly kind: 'script' | 'txid' | 'outpoint';
  /** Tells it from all others: `s` and the script's hex, `t` and the id, `o` and `txid:n`. */
  readonly key: string;
  /** What events call it; null for a transaction. */
  readonly label: string | null;
  /** 32 bits that it is found by. */
  readonly print: number;
  /** Numbers of confirmations that are told, ascending. */
  readonly thresholds: readonly number[];
  /** Names a watch that is stored for a key; null where a connection alone watches it. */
  readonly watchId: string | null;
}

/** All that is watched over all connections and keys; what blocks and transactions are matched against. */
export class WatchRegistry implements WatchFilter {
  readonly seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  readonly #refs = new Map<number, number>();
  /** All prints, and some that are no longer watched: those only make others look twice. */
  #prints = new Uint32Array(64);
  #printCount = 0;
  #txids = 0;
  #outpoints = 0;
  #size = 0;
  #version = 0;
  #data: FilterData | null = null;

  /** Items over all connections and keys. */
  get size(): number {
    return this.#size;
  }

  /** Grows when something is added: what was matched before that does not know of it. */
  get version(): number {
    return this.#version;
  }

  get txids(): boolean {
    return this.#txids > 0;
  }

  get outpoints(): boolean {
    return this.#outpoints > 0;
  }

  has(print: number): boolean {
    return this.#refs.has(print);
  }

  add({ kind, print }: WatchItem): void {
    const refs = this.#refs.get(print) ?? 0;
    this.#refs.set(print, refs + 1);
    if (refs === 0) this.#list(print);
    this.#count(kind, 1);
    this.#version++;
    this.#data = null;
  }

  remove({ kind, print }: WatchItem): void {
    const refs = this.#refs.get(print)! - 1;
    if (refs > 0) this.#refs.set(print, refs);
    else this.#refs.delete(print);
    if (this.#refs.size === 0) this.#printCount = 0;
    this.#count(kind, -1);
    this.#data = null;
  }

  /** For a reader worker. */
  data(): FilterData {
    this.#data ??= {
      prints: this.#prints.slice(0, this.#printCount),
      seed: this.seed,
      txids: this.txids,
      outpoints: this.outpoints,
    };
    return this.#data;
  }

  scriptItem(
    script: Uint8Array,
    label: string,
    thresholds: readonly number[],
    watchId: string | null = null,
  ): WatchItem {
    const print = scriptPrint(script, this.seed);
    return { kind: 'script', key: scriptKey(script.toHex()), label, print, thresholds, watchId };
  }

  /** `txid` in wire order, `hex` in display order. */
  txidItem(txid: Uint8Array, hex: string, thresholds: readonly number[], watchId: string | null = null): WatchItem {
    return { kind: 'txid', key: txidKey(hex), label: null, print: txidPrint(txid, this.seed), thresholds, watchId };
  }

  outpointItem(
    txid: Uint8Array,
    vout: number,
    text: string,
    thresholds: readonly number[],
    watchId: string | null = null,
  ): WatchItem {
    const print = outpointPrint(outpointBytes(txid, vout), this.seed);
    return { kind: 'outpoint', key: watchedOutpointKey(text), label: text, print, thresholds, watchId };
  }

  #list(print: number): void {
    if (this.#printCount === this.#prints.length) {
      // Room for twice what is watched, so that this is rare however often things come and go.
      this.#prints = new Uint32Array(Math.max(64, this.#refs.size * 2));
      this.#printCount = 0;
      for (const each of this.#refs.keys()) this.#prints[this.#printCount++] = each;
      return;
    }
    this.#prints[this.#printCount++] = print;
  }

  #count(kind: WatchItem['kind'], by: number): void {
    this.#size += by;
    if (kind === 'txid') this.#txids += by;
    else if (kind === 'outpoint') this.#outpoints += by;
  }
}

export function scriptKey(hex: string): string {
  return `s${hex}`;
}

export function txidKey(hex: string): string {
  return `t${hex}`;
}

export function watchedOutpointKey(text: string): string {
  return `o${text}`;
}

/** What somebody is told of. */
export interface Watched {
  readonly size: number;
  /** What was matched at this version of the registry or later knows of all that is watched here. */
  readonly version: number;
  get(key: string): WatchItem | undefined;
  has(key: string): boolean;
  /** Ascending. */
  thresholds(): number[];
}

/** What one connection watches, or one key. */
export class WatchSet implements Watched {
  readonly #registry: WatchRegistry;
  readonly #items = new Map<string, WatchItem>();
  readonly #thresholds = new Map<number, number>();
  #version = 0;

  constructor(registry: WatchRegistry) {
    this.#registry = registry;
  }

  get size(): number {
    return this.#items.size;
  }

  get version(): number {
    return this.#version;
  }

  get(key: string): WatchItem | undefined {
    return this.#items.get(key);
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  thresholds(): number[] {
    return [...this.#thresholds.keys()].sort(ascending);
  }

  /** An item that is watched already gets the new thresholds. */
  add(item: WatchItem): void {
    this.remove(item.key);
    this.#items.set(item.key, item);
    for (const n of item.thresholds) this.#thresholds.set(n, (this.#thresholds.get(n) ?? 0) + 1);
    this.#registry.add(item);
    this.#version = this.#registry.version;
  }

  remove(key: string): void {
    const item = this.#items.get(key);
    if (!item) return;
    this.#items.delete(key);
    for (const n of item.thresholds) {
      const uses = this.#thresholds.get(n)! - 1;
      if (uses > 0) this.#thresholds.set(n, uses);
      else this.#thresholds.delete(n);
    }
    this.#registry.remove(item);
  }

  keys(): string[] {
    return [...this.#items.keys()];
  }

  clear(): void {
    for (const key of this.keys()) this.remove(key);
  }
}

/** What one connection is told of: what it watches itself, and what is stored for its key and shared by all of those. */
export class WatchUnion implements Watched {
  readonly own: WatchSet;
  readonly stored: Watched;

  constructor(own: WatchSet, stored: Watched) {
    this.own = own;
    this.stored = stored;
  }

  get size(): number {
    return this.own.size + this.stored.size;
  }

  get version(): number {
    return Math.max(this.own.version, this.stored.version);
  }

  /** Something that is watched both ways is told once, as the stored watch, at the numbers of both. */
  get(key: string): WatchItem | undefined {
    const own = this.own.get(key);
    const stored = this.stored.get(key);
    if (!own || !stored) return stored ?? own;
    return { ...stored, thresholds: merged(own.thresholds, stored.thresholds) };
  }

  has(key: string): boolean {
    return this.own.has(key) || this.stored.has(key);
  }

  thresholds(): number[] {
    return merged(this.own.thresholds(), this.stored.thresholds());
  }
}

function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort(ascending);
}

function ascending(a: number, b: number): number {
  return a - b;
}
