import { signalsOptInRbf } from '../policy/rbf.ts';
import type { ParsedTransaction } from '../primitives/block.ts';
import { hashToHex } from '../primitives/hash.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { type MempoolChange, packed, type RemovalReason } from './changes.ts';
import type { FeeReport } from './fees/fee-estimator.ts';
import type { Arrival, Departure, Mempool, MempoolObserver } from './pool.ts';

export interface ChangeFeedDeps {
  readonly clock: Clock;
  /** The next number of the node's sequence of events. */
  nextSeq(): number;
  /** Height and hash of the tip, display order. */
  tip(): { readonly height: number; readonly hash: string };
  /** Nobody is told of what happens: initial sync. */
  silent(): boolean;
  /** Takes the steps since the last call, when a turn of the loop is over. */
  emit(changes: readonly MempoolChange[]): void;
}

/** The least time between two `mempoolUpdate`, but for those that follow a block. */
const UPDATE_INTERVAL_MS = 1000;

/** Turns what happens in the mempool into numbered changes with the text of their events. */
export class ChangeFeed implements MempoolObserver {
  readonly #deps: ChangeFeedDeps;
  #mempool: Mempool | null = null;
  #changes: MempoolChange[] = [];
  #added = 0;
  #removed = 0;
  #dirty = false;
  #updatedAt = Number.NEGATIVE_INFINITY;
  #updateTimer: ReturnType<typeof setTimeout> | null = null;
  #flush: ReturnType<typeof setImmediate> | null = null;
  #held = false;
  #closed = false;

  constructor(deps: ChangeFeedDeps) {
    this.#deps = deps;
  }

  /** The mempool whose observer this is. */
  observe(mempool: Mempool): void {
    this.#mempool = mempool;
  }

  added(slot: number, parsed: ParsedTransaction, { replaced, reaccepted, local }: Arrival): void {
    const { entries } = this.#mempool!;
    const seq = this.#deps.nextSeq();
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
      // Bytes of their own: of a view, all that lies behind it would be sent.
      raw: entries.raw(slot).slice(),
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

  /** Something that happened elsewhere; `data` is told with number and time. */
  note(type: Extract<MempoolChange, { kind: 'note' }>['type'], data: object): void {
    const seq = this.#deps.nextSeq();
    const told = { seq, time: unixSeconds(this.#deps.clock), ...data };
    this.#changes.push({ kind: 'note', seq, type, data: JSON.stringify(told) });
    this.#scheduleFlush();
  }

  /** What fees are at. */
  fees(report: FeeReport): void {
    this.#changes.push({ kind: 'fees', report });
    this.#scheduleFlush();
  }

  /** The state as a whole is not what it was. */
  touch(): void {
    this.#dirty = true;
    this.#scheduleFlush();
  }

  /** The same, and nobody is to wait for it. */
  updateSoon(): void {
    this.#updatedAt = Number.NEGATIVE_INFINITY;
    this.touch();
  }

  /** From here on everything waits for `take`: it belongs to a commit that is not written yet. */
  hold(): void {
    this.#held = true;
  }

  /** All steps since the last time, a `mempoolUpdate` at their end where `afterBlock` asks for one. */
  take({ afterBlock }: { afterBlock: boolean }): MempoolChange[] {
    this.#held = false;
    if (afterBlock || this.#isUpdateDue()) this.#update();
    const changes = packed(this.#changes);
    this.#changes = [];
    return changes;
  }

  /** Hands over what has happened so far, so that whoever is answered next finds it known. */
  flush(): void {
    if (this.#held || this.#closed) return;
    const changes = this.take({ afterBlock: false });
    if (changes.length > 0) this.#deps.emit(changes);
  }

  close(): void {
    this.#closed = true;
    if (this.#updateTimer) clearTimeout(this.#updateTimer);
    if (this.#flush) clearImmediate(this.#flush);
  }

  #push(change: MempoolChange): void {
    this.#changes.push(change);
    this.touch();
  }

  #scheduleFlush(): void {
    if (this.#flush || this.#closed) return;
    this.#flush = setImmediate(() => {
      this.#flush = null;
      this.flush();
    });
  }

  /** Where an update is wanted but too early, it comes when its time has come. */
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
    const all = this.#mempool!.totals();
    // In initial sync it says nothing about what others have in theirs.
    const totals = { ...all, loaded: all.loaded && !this.#deps.silent() };
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
