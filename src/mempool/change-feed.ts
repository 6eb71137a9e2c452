import { signalsOptInRbf } from '../policy/rbf.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import type { MempoolChange, RemovalReason } from './changes.ts';
import type { FeeReport } from './fees/fee-estimator.ts';
import type { Arrival, Departure, Mempool, MempoolObserver } from './pool.ts';

export interface ChangeFeedDeps {
  readonly clock: Clock;
  /** Returns the next number of the node's event sequence. */
  nextSeq(): number;
  /** Returns height and hash of the tip, the hash in display order. */
  tip(): { readonly height: number; readonly hash: string };
  /** Returns whether clients are not notified, as during initial block download. */
  silent(): boolean;
  /** Receives the changes since the last call, at the end of an event loop turn. */
  emit(changes: readonly MempoolChange[]): void;
}

/** Minimum interval between two `mempoolUpdate` events, milliseconds; those after a block are sent at once. */
const UPDATE_INTERVAL_MS = 1000;

/** Converts changes of the mempool to numbered changes with the JSON text of their events. */
export class ChangeFeed implements MempoolObserver {
  readonly #deps: ChangeFeedDeps;
  #mempool: Mempool | null = null;
  #changes: MempoolChange[] = [];
  #added = 0;
  #removed = 0;
  #dirty = false;
  /** Whether readers do not have the current totals. */
  #stale = false;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #updateTimer: ReturnType<typeof setTimeout> | null = null;
  #flush: ReturnType<typeof setImmediate> | null = null;
  #held = false;
  #closed = false;

  constructor(deps: ChangeFeedDeps) {
    this.#deps = deps;
  }

  /** Sets the mempool whose changes are observed. */
  observe(mempool: Mempool): void {
    this.#mempool = mempool;
  }

  /** Returns the number of the event. */
  added(slot: number, parsed: ParsedTransaction, { replaced, reaccepted, local }: Arrival): number {
    const { entries } = this.#mempool!;
    const seq = this.#deps.nextSeq();
    entries.setSeq(slot, seq);
    const time = unixSeconds(this.#deps.clock);
    const { tx } = parsed;
    const [fee, vsize] = [entries.fee(slot), entries.vsize(slot)];
    const data = {
      seq,
      time,
      txid: hashToHex(parsed.txid),
      size: parsed.raw.length,
      wtxid: hashToHex(parsed.wtxid),
      vsize,
      weight: entries.weight(slot),
      fee,
      feeRate: Math.round((fee * 1000) / vsize) / 1000,
      valueOut: tx.outputs.reduce((sum, { value }) => sum + Number(value), 0),
      inputs: tx.inputs.length,
      outputs: tx.outputs.length,
      signalsRbf: signalsOptInRbf(tx),
      replaces: replaced.map(hashToHex),
      reaccepted,
      local,
    };
    this.#added++;
    this.#push({
      kind: 'added',
      seq,
      data: JSON.stringify(data),
      silent: this.#deps.silent(),
      slot,
      raw: parsed.raw,
      spent: entries.spent(slot).slice(),
      fee,
      feeDelta: entries.feeDelta(slot),
      weight: entries.weight(slot),
      vsize,
      sigopCost: entries.sigopCost(slot),
      time: entries.time(slot),
      height: entries.height(slot),
      unbroadcast: this.#mempool!.isUnbroadcast(slot),
      replaced,
    });
    return seq;
  }

  removed(slot: number, reason: RemovalReason, { replacedBy, blockHash }: Departure): void {
    const seq = this.#deps.nextSeq();
    const txid = this.#mempool!.entries.txid(slot).slice();
    const data = {
      seq,
      time: unixSeconds(this.#deps.clock),
      txid: hashToHex(txid),
      reason,
      replacedBy: replacedBy ? hashToHex(replacedBy) : null,
      blockHash: blockHash ?? null,
    };
    this.#removed++;
    this.#push({
      kind: 'removed',
      seq,
      data: JSON.stringify(data),
      silent: this.#deps.silent(),
      slot,
      txid,
      reason,
      replacedBy: replacedBy ?? null,
    });
  }

  modified(slot: number): void {
    const { entries } = this.#mempool!;
    this.#push({
      kind: 'modified',
      txid: entries.txid(slot).slice(),
      feeDelta: entries.feeDelta(slot),
      unbroadcast: this.#mempool!.isUnbroadcast(slot),
    });
  }

  /** Adds an event of another part of the node, with its number and time. */
  addEvent(type: Extract<MempoolChange, { kind: 'note' }>['type'], data: object): void {
    const seq = this.#deps.nextSeq();
    const event = { seq, time: unixSeconds(this.#deps.clock), ...data };
    this.#changes.push({ kind: 'note', seq, type, data: JSON.stringify(event) });
    this.#scheduleFlush();
  }

  /** Adds a fee report. */
  addFeeReport(report: FeeReport): void {
    this.#changes.push({ kind: 'fees', report });
    this.#scheduleFlush();
  }

  /** Schedules a `mempoolUpdate`. */
  markTotalsChanged(): void {
    this.#dirty = true;
    this.#stale = true;
    this.#scheduleFlush();
  }

  /** Schedules a `mempoolUpdate` without the minimum interval. */
  forceUpdate(): void {
    this.#updatedAt = Number.NEGATIVE_INFINITY;
    this.markTotalsChanged();
  }

  /** Holds all changes back until `drainChanges`, because they belong to a commit that is not written yet. */
  holdChanges(): void {
    this.#held = true;
  }

  /** The changes since the last call of `drainChanges`. */
  get waitingChanges(): readonly MempoolChange[] {
    return this.#changes;
  }

  /** Returns all changes since the last call; `afterBlock` adds a `mempoolUpdate`. */
  drainChanges({ afterBlock }: { afterBlock: boolean }): MempoolChange[] {
    this.#held = false;
    if (afterBlock || this.#isUpdateDue()) this.#update();
    else if (this.#stale) this.#changes.push({ kind: 'totals', totals: this.#mempool!.totals() });
    this.#stale = false;
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /** Emits the changes so far, so that a client finds them applied when its reply arrives. */
  flush(): void {
    if (this.#held || this.#closed) return;
    const changes = this.drainChanges({ afterBlock: false });
    if (changes.length > 0) this.#deps.emit(changes);
  }

  close(): void {
    this.#closed = true;
    if (this.#updateTimer) clearTimeout(this.#updateTimer);
    if (this.#flush) clearImmediate(this.#flush);
  }

  #push(change: MempoolChange): void {
    this.#changes.push(change);
    this.markTotalsChanged();
  }

  #scheduleFlush(): void {
    if (this.#flush || this.#closed) return;
    this.#flush = setImmediate(() => {
      this.#flush = null;
      this.flush();
    });
  }

  /** Returns whether a `mempoolUpdate` is due; if it is too early, a timer is set. */
  #isUpdateDue(): boolean {
    if (!this.#dirty) return false;
    const wait = this.#updatedAt + UPDATE_INTERVAL_MS - this.#deps.clock.monotonicMs();
    if (wait <= 0) return true;
    this.#updateTimer ??= setTimeout(() => {
      this.#updateTimer = null;
      this.#scheduleFlush();
    }, wait);
    return false;
  }

  #update(): void {
    if (this.#updateTimer) clearTimeout(this.#updateTimer);
    this.#updateTimer = null;
    this.#dirty = false;
    this.#updatedAt = this.#deps.clock.monotonicMs();
    const totals = this.#mempool!.totals();
    const { count, vsize, size, usage, totalFee, minFeerate } = totals;
    const seq = this.#deps.nextSeq();
    const data = {
      seq,
      time: unixSeconds(this.#deps.clock),
      count,
      vsize,
      size,
      usage,
      totalFee,
      minFeeRate: minFeerate / 1000,
      added: this.#added,
      removed: this.#removed,
      tip: this.#deps.tip(),
    };
    this.#added = 0;
    this.#removed = 0;
    this.#changes.push({ kind: 'update', seq, data: JSON.stringify(data), totals });
  }
}
