import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { base32nopad } from '@scure/base';
import { ApiError, fail } from '../http/errors.ts';
import type { ApiOptions } from '../http/options.ts';
import type { Principal } from '../http/principal.ts';
import { slicePauses } from '../http/slice-pauses.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import { type WatchChange, type WatchQuery, type WatchRecord, WatchStore } from './watch-store.ts';
import { defaultThresholds, itemOf, MAX_THRESHOLDS_IN_ALL, type WatchKind, type WatchTarget } from './watch-values.ts';
import type { WatchWrite, WatchWritten } from './watch-worker-messages.ts';
import { WatchWriter } from './watch-writer.ts';
import { NO_WATCHES, type Watched, type WatchRegistry, WatchSet } from './watches.ts';

/** A watch in the request of a client. An undefined member keeps its value, or gets its default. */
export interface WatchRequest extends WatchTarget {
  readonly confirmations: readonly number[] | undefined;
  readonly label: string | null | undefined;
}

/** A stored watch, and whether this request created it. */
export interface WatchDone {
  readonly watch: WatchRecord;
  readonly created: boolean;
}

export interface StoredWatchesOptions {
  readonly registry: WatchRegistry;
  readonly params: NetworkParams;
  /** Limits of the watches of one key and of all, which can change. */
  readonly limits: Pick<ApiOptions['limits'], 'watchesPerKey' | 'watchesTotal'>;
  readonly log: Log;
  readonly clock: Clock;
  /** Whether the key exists and is not revoked. */
  isOwner(id: string): boolean;
  /** Makes the changes on a front that is not the first one; absent on the first. */
  readonly owner?: WatchOwner;
  /** Called when a change is stored. Resolves when the other fronts have applied it. */
  announce?(owner: string, written: WrittenWatches): Promise<void>;
  /** Creates the writer; by default a thread of its own. */
  makeWriter?(path: string): Writer;
}

type Writer = Pick<WatchWriter, 'write' | 'close'>;

/** The first front, which makes the changes of all. */
export type WatchOwner = Pick<StoredWatches, 'addWatches' | 'removeWatches' | 'removeAll'>;

/** A stored change. */
export interface WrittenWatches {
  readonly put: readonly WatchRecord[];
  /** The removed targets; null removes all of the key. */
  readonly removed: readonly string[] | null;
}

/** Rows per query. */
const PAGE = 100;
/** Time limit of one slice of loading, milliseconds. */
const SLICE_MS = 1;
const RETRY_MS = 1000;
/** Limit of the queued changes. */
const MAX_PENDING = 1000;
const ID_BYTES = 10;

/**
 * Stored watches of keys. watches.db holds them; each key has one set in memory, which all its connections share. Changes
 * are made one after the other: first in the database, then in memory.
 */
export class StoredWatches {
  readonly #options: StoredWatchesOptions;
  readonly #sets = new Map<string, WatchSet>();
  readonly #listeners = new Set<(owner: string) => void>();
  readonly #loaded = Promise.withResolvers<void>();
  #isLoaded = false;
  #total = 0;
  #pending = 0;
  #last: Promise<unknown> = this.#loaded.promise;
  #path = '';
  #store: WatchStore | null = null;
  #writer: Writer | null = null;
  #isOpen = false;

  constructor(options: StoredWatchesOptions) {
    this.#options = options;
  }

  /** Number of the watches of all keys. */
  get total(): number {
    return this.#total;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Resolves when all stored watches are loaded. */
  get loaded(): Promise<void> {
    return this.#loaded.promise;
  }

  /** Begins to load the stored watches. Throws OperatorError for a database of a newer version. */
  open(path: string): void {
    this.#path = path;
    if (!this.#options.owner)
      this.#writer = this.#options.makeWriter?.(path) ?? new WatchWriter(path, this.#options.log);
    this.#isOpen = true;
    // The first watch creates the file.
    if (existsSync(path)) this.#store = new WatchStore(path);
    void this.#load(0, new Set());
  }

  /** Begins without any stored watch, on a server whose `owner` refuses changes. */
  openWithoutStore(): void {
    this.#isOpen = true;
    void this.#load(0, new Set());
  }

  /** Returns the set of a key, which stays the same object until the key is revoked. */
  watchesOf(owner: string): WatchSet {
    let set = this.#sets.get(owner);
    if (!set) this.#sets.set(owner, (set = new WatchSet(this.#options.registry)));
    return set;
  }

  /** Returns the stored watches of a caller. Only keys have any; a set of another caller would be removed at every check. */
  watchesOfCaller({ kind, id }: Pick<Principal, 'kind' | 'id'>): Watched {
    return kind === 'key' || kind === 'static' ? this.watchesOf(id) : NO_WATCHES;
  }

  /** Adds an observer, which is called with the id of a key whose watches were added. */
  onAdded(listener: (owner: string) => void): void {
    this.#listeners.add(listener);
  }

  /** Adds or changes all watches in their order, or none. Throws ApiError `limit_exceeded`. */
  addWatches(owner: string, requests: readonly WatchRequest[]): Promise<WatchDone[]> {
    if (this.#options.owner) return this.#options.owner.addWatches(owner, requests);
    return this.#inTurn(async () => {
      const set = this.watchesOf(owner);
      this.#checkLimits(set, requests);
      const createdAt = unixSeconds(this.#options.clock);
      const pause = slicePauses(SLICE_MS);
      const changes: WatchChange[] = [];
      for (const request of requests) {
        changes.push(changeOf(request, createdAt));
        await pause();
      }
      const { put } = await this.#write({ type: 'put', owner, changes });
      // The key may have been revoked meanwhile.
      if (!this.#options.isOwner(owner)) fail('invalid_credentials', 'the credentials are not valid');
      await this.#applyPut(set, put);
      for (const listener of this.#listeners) listener(owner);
      await this.#options.announce?.(owner, { put, removed: [] });
      // The new id is used only if the target was not watched before.
      return put.map((watch, i) => ({ watch, created: watch.id === changes[i]!.id }));
    });
  }

  /** Removes the watches that the key has, and returns their ids. */
  removeWatches(owner: string, ids: readonly string[]): Promise<string[]> {
    if (this.#options.owner) return this.#options.owner.removeWatches(owner, ids);
    return this.#inTurn(async () => {
      const { removed } = await this.#write({ type: 'remove', owner, ids });
      const targets = removed.map(({ target }) => target);
      await this.#applyRemoved(this.watchesOf(owner), targets);
      await this.#options.announce?.(owner, { put: [], removed: targets });
      return removed.map(({ id }) => id);
    });
  }

  /** Removes all watches of a key, and returns their number. */
  removeAll(owner: string): Promise<number> {
    if (this.#options.owner) return this.#options.owner.removeAll(owner);
    return this.#inTurn(() => this.#clear(owner));
  }

  /** Applies a change that the first front has stored. */
  applyWritten(owner: string, { put, removed }: WrittenWatches): Promise<void> {
    return this.#inTurn(async () => {
      const set = this.watchesOf(owner);
      await this.#applyPut(set, put);
      await this.#applyRemoved(set, removed ?? set.keys());
      if (removed === null && !this.#options.isOwner(owner)) this.#sets.delete(owner);
      if (put.length > 0) for (const listener of this.#listeners) listener(owner);
    });
  }

  page(owner: string, query: WatchQuery): WatchRecord[] {
    return this.#readStore()?.page(owner, query) ?? [];
  }

  byId(owner: string, id: string): WatchRecord | null {
    return this.#readStore()?.byId(owner, id) ?? null;
  }

  /** Removes the watches of revoked keys. It must be called after every change of keys. */
  checkOwners(): void {
    if (this.#options.owner) return;
    for (const owner of this.#sets.keys()) {
      if (this.#options.isOwner(owner)) continue;
      this.#inTurn(() => this.#clear(owner))
        .then(() => this.#sets.delete(owner))
        // The next check repeats the attempt.
        .catch(() => {});
    }
  }

  async close(): Promise<void> {
    await this.#writer?.close();
    this.#store?.close();
    this.#store = null;
    this.#writer = null;
    this.#isOpen = false;
  }

  #readStore(): WatchStore | null {
    if (!this.#store && this.#isOpen && existsSync(this.#path)) this.#store = new WatchStore(this.#path);
    return this.#store;
  }

  async #write(write: WatchWrite): Promise<WatchWritten> {
    if (!this.#writer) throw new ApiError('shutting_down', 'the node is stopping');
    try {
      return await this.#writer.write(write);
    } catch (error) {
      await this.#reread(write.owner);
      throw error;
    }
  }

  /** Reads the rows of a key again. A failed change may have been stored if only its reply was lost. */
  async #reread(owner: string): Promise<void> {
    const set = this.watchesOf(owner);
    const stored = new Set<string>();
    const pause = slicePauses(SLICE_MS);
    try {
      for (let after = 0; ; await pause()) {
        const rows = this.page(owner, { kind: null, label: null, targets: null, after, limit: PAGE });
        for (const row of rows) {
          stored.add(row.target);
          this.#addRecord(set, row);
        }
        if (rows.length < PAGE) break;
        after = rows.at(-1)!.seq;
      }
      for (const key of set.keys()) if (!stored.has(key)) this.#removeItem(set, key);
      for (const listener of this.#listeners) listener(owner);
    } catch (error) {
      this.#options.log.error('watches.db cannot be read', { error });
    }
  }

  async #applyPut(set: WatchSet, put: readonly WatchRecord[]): Promise<void> {
    const pause = slicePauses(SLICE_MS);
    for (const watch of put) {
      this.#addRecord(set, watch);
      await pause();
    }
  }

  async #applyRemoved(set: WatchSet, targets: readonly string[]): Promise<void> {
    const pause = slicePauses(SLICE_MS);
    for (const target of targets) {
      this.#removeItem(set, target);
      await pause();
    }
  }

  #removeItem(set: WatchSet, key: string): void {
    const before = set.size;
    set.remove(key);
    this.#total += set.size - before;
  }

  /** Runs a change after the queued ones. Rejects with ApiError `overloaded` if too many wait. */
  #inTurn<T>(change: () => Promise<T>): Promise<T> {
    if (this.#pending >= MAX_PENDING) return Promise.reject(new ApiError('overloaded', 'too many changes are waiting'));
    this.#pending++;
    const done = this.#last.then(change).finally(() => this.#pending--);
    this.#last = done.catch(() => {});
    return done;
  }

  #checkLimits(set: WatchSet, requests: readonly WatchRequest[]): void {
    const { watchesPerKey: perKey, watchesTotal: inAll } = this.#options.limits;
    const added = new Set(requests.map(({ key }) => key).filter((key) => !set.has(key))).size;
    const details = { watched: set.size, added };
    if (set.size + added > perKey)
      fail('limit_exceeded', `a key cannot watch more than ${perKey} items`, { limit: perKey, ...details });
    if (this.#total + added > inAll)
      fail('limit_exceeded', `all keys together cannot watch more than ${inAll} items`, { limit: inAll, ...details });
    const thresholds = new Set([...set.thresholds(), ...requests.flatMap(thresholdsOf)]);
    if (thresholds.size > MAX_THRESHOLDS_IN_ALL)
      fail('limit_exceeded', 'too many different numbers of confirmations', { limit: MAX_THRESHOLDS_IN_ALL });
  }

  #addRecord(set: WatchSet, { kind, value, target, confirmations, id }: WatchRecord): void {
    const before = set.size;
    set.add(itemOf({ kind: kind as WatchKind, value, key: target }, confirmations, this.#options, id));
    this.#total += set.size - before;
  }

  async #clear(owner: string): Promise<number> {
    await this.#write({ type: 'remove', owner, ids: null });
    const set = this.watchesOf(owner);
    const keys = set.keys();
    await this.#applyRemoved(set, keys);
    await this.#options.announce?.(owner, { put: [], removed: null });
    return keys.length;
  }

  /** Loads the rows in slices, so that the main thread stays responsive. A failed read is repeated. */
  async #load(after: number, orphaned: Set<string>): Promise<void> {
    const { log, isOwner } = this.#options;
    let at = after;
    try {
      const pause = slicePauses(SLICE_MS);
      while (this.#store) {
        const rows = this.#store.all(at, PAGE);
        for (const row of rows) {
          if (isOwner(row.owner)) this.#addRecord(this.watchesOf(row.owner), row);
          else orphaned.add(row.owner);
          at = row.seq;
        }
        if (rows.length < PAGE) break;
        await pause();
      }
    } catch (error) {
      log.error('watches.db cannot be read', { error });
      setTimeout(() => void this.#load(at, orphaned), RETRY_MS).unref();
      return;
    }
    if (!this.#isOpen) return;
    this.#isLoaded = true;
    this.#loaded.resolve();
    if (this.#options.owner) return;
    for (const owner of orphaned) this.#inTurn(() => this.#clear(owner)).catch(() => {});
    if (orphaned.size > 0) log.info('watches of keys that are gone were removed', { keys: orphaned.size });
  }
}

function changeOf({ kind, value, key, confirmations, label }: WatchRequest, createdAt: number): WatchChange {
  return {
    id: base32nopad.encode(randomBytes(ID_BYTES)).toLowerCase(),
    kind,
    value,
    target: key,
    confirmations: thresholdsOf({ kind, confirmations }),
    label: label ?? null,
    createdAt,
    given: { confirmations: confirmations !== undefined, label: label !== undefined },
  };
}

function thresholdsOf({ kind, confirmations }: Pick<WatchRequest, 'kind' | 'confirmations'>): readonly number[] {
  return confirmations ?? defaultThresholds(kind);
}
