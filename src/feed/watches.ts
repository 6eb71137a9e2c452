import {
  type FilterData,
  outpointBytes,
  outpointPrint,
  scriptPrint,
  txidPrint,
  type WatchFilter,
} from './watch-filter.ts';

/** An item that a client watches. */
export interface WatchItem {
  readonly kind: 'script' | 'txid' | 'outpoint';
  /** Unique key: `s` and the hex of the script, `t` and the txid, or `o` and `txid:n`. */
  readonly key: string;
  /** Name of the item in events; null for a transaction. */
  readonly label: string | null;
  /** 32 bits by which it is found. */
  readonly print: number;
  /** Numbers of confirmations with an event, ascending. */
  readonly thresholds: readonly number[];
  /** Id of the stored watch; null if only a connection watches the item. */
  readonly watchId: string | null;
}

/** All watched items of all connections and keys, against which blocks and transactions are matched. */
export class WatchRegistry implements WatchFilter {
  readonly seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  readonly #refs = new Map<number, number>();
  /** All prints, and some that are no longer watched, which only cause needless comparisons. */
  #prints = new Uint32Array(64);
  #printCount = 0;
  #txids = 0;
  #outpoints = 0;
  #size = 0;
  #version = 0;
  #data: FilterData | null = null;

  /** Number of items over all connections and keys. */
  get size(): number {
    return this.#size;
  }

  /** Grows when an item is added, since earlier matches do not include it. */
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

  /** Returns the filter for a reader worker. */
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
      // Twice the needed size, so that rebuilding is rare even if items are often added and removed.
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

/** Items about which one recipient is notified. */
export interface Watched {
  readonly size: number;
  /** Matches at this version of the registry or later include all these items. */
  readonly version: number;
  get(key: string): WatchItem | undefined;
  has(key: string): boolean;
  /** Ascending. */
  thresholds(): readonly number[];
}

/** The items of a caller who watches none. */
export const NO_WATCHES: Watched = {
  size: 0,
  version: 0,
  get: () => undefined,
  has: () => false,
  thresholds: () => [],
};

/** Items that one connection or one key watches. */
export class WatchSet implements Watched {
  readonly #registry: WatchRegistry;
  readonly #items = new Map<string, WatchItem>();
  readonly #thresholds = new Map<number, number>();
  /** The thresholds in ascending order; null after one was added or removed. */
  #ascending: readonly number[] | null = null;
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

  thresholds(): readonly number[] {
    return (this.#ascending ??= [...this.#thresholds.keys()].sort(ascending));
  }

  /** Adds an item. One that is already watched gets the new thresholds. */
  add(item: WatchItem): void {
    this.remove(item.key);
    this.#items.set(item.key, item);
    for (const n of item.thresholds) this.#thresholds.set(n, (this.#thresholds.get(n) ?? 0) + 1);
    this.#ascending = null;
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
    this.#ascending = null;
    this.#registry.remove(item);
  }

  keys(): string[] {
    return [...this.#items.keys()];
  }

  clear(): void {
    for (const key of this.keys()) this.remove(key);
  }
}

/** Items of one connection: its own, and the stored watches of its key, which all connections of the key share. */
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

  /** Returns an item. One that is watched both ways appears once, as the stored watch with the thresholds of both. */
  get(key: string): WatchItem | undefined {
    const own = this.own.get(key);
    const stored = this.stored.get(key);
    if (!own || !stored) return stored ?? own;
    return { ...stored, thresholds: merged(own.thresholds, stored.thresholds) };
  }

  has(key: string): boolean {
    return this.own.has(key) || this.stored.has(key);
  }

  thresholds(): readonly number[] {
    return merged(this.own.thresholds(), this.stored.thresholds());
  }
}

function merged(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort(ascending);
}

function ascending(a: number, b: number): number {
  return a - b;
}
