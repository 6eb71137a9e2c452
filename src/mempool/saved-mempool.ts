import { parseTransaction } from '../primitives/block.ts';
import { hashFromHex, hashToHex, type Txid } from '../primitives/hash.ts';
import type { MempoolStore, SavedTransaction } from '../storage/mempool-store.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { Log } from '../util/log.ts';
import type { Mempool } from './pool.ts';
import { processInSlices } from './process-in-slices.ts';
import type { Acceptance } from './validation/acceptance.ts';
import type { PackageAcceptance } from './validation/package-acceptance.ts';

interface RestoreDeps {
  readonly mempool: Mempool;
  readonly acceptance: Acceptance;
  readonly packages: PackageAcceptance;
}

const TXID = 32;
/** Time limit of the first slice, milliseconds: a small mempool is restored before the first request. */
const FIRST_MS = 1000;

/** Persists the mempool across restarts: records its changes and writes them on request. */
export class SavedMempool {
  readonly #store: MempoolStore;
  /** Whether each start restores what was saved, so that changes are recorded. */
  readonly #persistent: boolean;
  /** Txids in hex of the entries to be written, and of those to be deleted. */
  readonly #changed = new Set<string>();
  readonly #removed = new Set<string>();
  /** Txids of the entries that the next start would not restore, with the numbers of their events, in the order of their arrival. */
  readonly #unsaved = new Map<string, number>();
  /** Whether entries are being restored, which are already stored. */
  #loading = false;

  constructor(store: MempoolStore, persistent = true) {
    this.#store = store;
    this.#persistent = persistent;
  }

  /** Records that an entry was added with the event of this number. */
  recordArrival(txid: Uint8Array, seq: number): void {
    if (!this.#loading) this.#unsaved.set(hashToHex(txid), seq);
    this.recordChange(txid);
  }

  /** Number of the event of the oldest entry that the next start would not restore; 0 without any. */
  get unsavedFrom(): number {
    for (const seq of this.#unsaved.values()) return seq;
    return 0;
  }

  /** Records that an entry was added or changed. */
  recordChange(txid: Uint8Array): void {
    if (!this.#persistent) return;
    const key = hashToHex(txid);
    this.#removed.delete(key);
    if (!this.#loading) this.#changed.add(key);
  }

  recordRemoval(txid: Uint8Array): void {
    const key = hashToHex(txid);
    this.#unsaved.delete(key);
    if (!this.#persistent) return;
    this.#changed.delete(key);
    this.#removed.add(key);
  }

  /** Number of changes that wait for the next save. */
  get pending(): number {
    return this.#changed.size + this.#removed.size;
  }

  /**
   * Writes all changes since the last save in slices. Changes made meanwhile may be left for the next save. Where changes
   * are not recorded, the whole mempool replaces what was saved.
   */
  async save(mempool: Mempool, signal: AbortSignal): Promise<void> {
    if (!this.#persistent) this.#recordAll(mempool);
    for (const waiting of [this.#removed, this.#changed]) {
      const written: string[] = [];
      const run = async <T>(work: () => T) => {
        const result = this.#store.atOnce(work);
        // Removed only after the write, since a failed slice must be written again.
        for (const key of written.splice(0)) {
          waiting.delete(key);
          // Entries that the next start does not restore are lost with this one.
          if (waiting === this.#changed && this.#persistent) this.#unsaved.delete(key);
        }
        return result;
      };
      await processInSlices([...waiting].values(), { run, signal }, (key) => {
        this.#writeEntry(key, mempool);
        written.push(key);
      });
    }
    this.#saveFeeDeltas(mempool);
  }

  /** Writes all changes in one transaction. */
  saveNow(mempool: Mempool): void {
    this.#store.atOnce(() => {
      for (const key of this.#removed) this.#writeEntry(key, mempool);
      for (const key of this.#changed) this.#writeEntry(key, mempool);
      this.#saveFeeDeltas(mempool);
    });
    this.#changed.clear();
    this.#unsaved.clear();
    this.#removed.clear();
  }

  #recordAll({ entries }: Mempool): void {
    const { txids } = this.#store.saved();
    for (let at = 0; at < txids.length; at += TXID) this.#removed.add(hashToHex(txids.subarray(at, at + TXID)));
    for (const slot of entries.slots()) {
      const key = hashToHex(entries.txid(slot));
      this.#removed.delete(key);
      this.#changed.add(key);
    }
  }

  /** Stores an entry, or deletes its row if it is no longer in the mempool. */
  #writeEntry(key: string, mempool: Mempool): void {
    const { entries } = mempool;
    const slot = entries.find(hashFromHex<Txid>(key));
    if (slot < 0) this.#store.remove(hashFromHex<Txid>(key));
    else
      this.#store.put({
        txid: entries.txid(slot),
        arrival: entries.order(slot),
        raw: entries.raw(slot),
        time: entries.time(slot),
        unbroadcast: mempool.isUnbroadcast(slot),
      });
  }

  #saveFeeDeltas({ feeDeltas }: Mempool): void {
    const deltas = Array.from(feeDeltas, ([key, delta]) => [hashFromHex<Txid>(key), delta] as const);
    this.#store.atOnce(() => this.#store.putFeeDeltas(deltas));
  }

  /**
   * Restores the saved transactions through acceptance; those that became invalid or expired are dropped. `run`
   * executes each slice when the chain is settled; between slices other sources may add the same transactions. Rejects
   * when the signal aborts; the rest stays stored for the next start.
   */
  async load(
    { mempool, acceptance, packages }: RestoreDeps,
    {
      run,
      signal,
      clock,
      log,
    }: {
      run: <T>(work: () => T) => Promise<T>;
      signal: AbortSignal;
      clock: Clock;
      log: Log;
    },
  ): Promise<void> {
    const { txids, lastArrival } = this.#store.saved();
    mempool.entries.orderBehind(lastArrival);
    if (!this.#persistent) {
      mempool.loaded = true;
      return;
    }
    for (const [txid, delta] of this.#store.feeDeltas()) mempool.prioritise(txid, delta);
    const counts = { accepted: 0, expired: 0, dropped: 0 };
    const poor = new Map<string, SavedTransaction>();
    const oldest = unixSeconds(clock) - mempool.options.expirySeconds;
    await processInSlices(this.#savedTransactions(txids), { run, signal, firstMs: FIRST_MS }, (transaction) => {
      this.#loading = true;
      const isExpired = transaction.time < oldest;
      // An expired transaction is accepted too: it then leaves the mempool with an event. It does not join a package,
      // whose members would get the present time.
      const parents = isExpired ? new Map<string, SavedTransaction>() : poor;
      const restored = restoreTransaction(transaction, parents, { mempool, acceptance, packages });
      const fate = isExpired ? 'expired' : restored;
      if (mempool.entries.find(transaction.txid) < 0) this.recordRemoval(transaction.txid);
      this.#loading = false;
      counts[fate]++;
    });
    mempool.loaded = true;
    if (counts.accepted + counts.expired + counts.dropped > 0) log.info('mempool restored', counts);
  }

  /** Reads each row when it is needed: it may have been confirmed and deleted meanwhile. */
  *#savedTransactions(txids: Uint8Array): Generator<SavedTransaction> {
    for (let at = 0; at < txids.length; at += TXID) {
      const transaction = this.#store.get(txids.subarray(at, at + TXID));
      if (transaction) yield transaction;
    }
  }
}

/** `poor` collects transactions below the minimum feerate, for which a later child may pay. */
function restoreTransaction(
  transaction: SavedTransaction,
  poor: Map<string, SavedTransaction>,
  { mempool, acceptance, packages }: RestoreDeps,
): 'accepted' | 'dropped' {
  const { raw, time, txid, arrival, unbroadcast } = transaction;
  // A row that does not parse is database corruption, which the caller must see.
  const parsed = parseTransaction(raw);
  if (mempool.entries.find(parsed.txid) >= 0) return 'accepted';
  const result = acceptance.accept(parsed, { time, order: arrival });
  if (result.status === 'accepted') {
    if (unbroadcast) mempool.addUnbroadcast(txid);
    return 'accepted';
  }
  if (result.status !== 'rejected') return 'dropped';
  if (result.rejection.kind === 'fee') poor.set(hashToHex(parsed.txid), transaction);
  const parents = new Set(result.missingInputs.map((prevout) => poor.get(hashToHex(prevout.txid))));
  const members = [...parents].filter((parent) => parent !== undefined);
  if (result.rejection.kind !== 'missing-inputs' || members.length === 0) return 'dropped';
  packages.accept([...members.map((parent) => parseTransaction(parent.raw)), parsed]);
  for (const member of [...members, transaction]) {
    if (member.unbroadcast) mempool.addUnbroadcast(member.txid);
    poor.delete(hashToHex(member.txid as Txid));
  }
  return mempool.entries.find(txid) >= 0 ? 'accepted' : 'dropped';
}
