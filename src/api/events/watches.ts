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
}

/** All that is watched over all connections; what blocks and transactions are matched against. */
export class WatchRegistry implements WatchFilter {
  readonly seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  readonly #refs = new Map<number, number>();
  #txids = 0;
  #outpoints = 0;
  #size = 0;
  #version = 0;
  #data: FilterData | null = null;

  /** Items over all connections. */
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
    this.#count(kind, 1);
    this.#version++;
    this.#data = null;
  }

  remove({ kind, print }: WatchItem): void {
    const refs = this.#refs.get(print)! - 1;
    if (refs > 0) this.#refs.set(print, refs);
    else this.#refs.delete(print);
    this.#count(kind, -1);
    this.#data = null;
  }

  /** For a reader worker. */
  data(): FilterData {
    this.#data ??= {
      prints: Uint32Array.from(this.#refs.keys()),
      seed: this.seed,
      txids: this.txids,
      outpoints: this.outpoints,
    };
    return this.#data;
  }

  scriptItem(script: Uint8Array, label: string, thresholds: readonly number[]): WatchItem {
    const print = scriptPrint(script, this.seed);
    return { kind: 'script', key: scriptKey(script.toHex()), label, print, thresholds };
  }

  /** `txid` in wire order, `hex` in display order. */
  txidItem(txid: Uint8Array, hex: string, thresholds: readonly number[]): WatchItem {
    return { kind: 'txid', key: txidKey(hex), label: null, print: txidPrint(txid, this.seed), thresholds };
  }

  outpointItem(txid: Uint8Array, vout: number, text: string, thresholds: readonly number[]): WatchItem {
    const print = outpointPrint(outpointBytes(txid, vout), this.seed);
    return { kind: 'outpoint', key: outpointKey(text), label: text, print, thresholds };
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

export function outpointKey(text: string): string {
  return `o${text}`;
}

/** What one connection watches. */
export class WatchSet {
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

  /** What was matched at this version of the registry or later knows of all that is watched here. */
  get version(): number {
    return this.#version;
  }

  get(key: string): WatchItem | undefined {
    return this.#items.get(key);
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  /** Ascending. */
  thresholds(): number[] {
    return [...this.#thresholds.keys()].sort((a, b) => a - b);
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

  clear(): void {
    for (const key of [...this.#items.keys()]) this.remove(key);
  }
}
