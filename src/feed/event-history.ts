import type { EndedEvents, EventStore } from '../storage/event-store.ts';
import { completeUpTo, cursorText, type EventPosition, EventRanges, parseCursor, WHOLE } from './event-cursor.ts';
import { MEMPOOL_TYPES } from './event-types.ts';

/**
 * Missing events: those with the numbers `fromSeq` to `toSeq`, of the mempool or of all kinds; or the events `confirmation`
 * of one threshold that cannot be derived from the event `fromSeq`, because the block of the transactions is pruned.
 */
export interface Gap {
  readonly scope: 'mempool' | 'all' | 'confirmations';
  readonly fromSeq: number;
  readonly toSeq: number;
  /** The newest event of the chain; what REST shows is not older. */
  readonly lastChainSeq: number;
  /** Behind the gap, as far as no kept event is skipped: where to go on once the gap is dealt with. */
  readonly cursor: string;
  /** Height of the pruned block, the threshold, and whether it was lost; with the scope `confirmations` only. */
  readonly height?: number;
  readonly threshold?: number;
  readonly reverted?: boolean;
}

/** Where a client wants to go on. */
export interface ResumePoint extends EventPosition {
  /** The newest event of the chain that the client can have seen; null where it names a number only. */
  readonly chainSeq: number | null;
}

/** Reason why a cursor is rejected. */
export type CursorFault = 'malformed' | 'other-log' | 'other-history' | 'ahead';

/** One sentence for each; the client has to reconcile, and to begin anew. */
export const CURSOR_FAULTS: Readonly<Record<CursorFault, string>> = {
  malformed: 'not a cursor: after takes data.cursor of an event, lastCursor of a page, or a seq',
  'other-log': 'the cursor is from another event log: that of another node, or of chain data that was replaced',
  'other-history': 'the cursor is from events that are not in this log: the data was restored from an older copy',
  ahead: 'the cursor is ahead of the event log',
};

/** Missing events of the mempool; clients from the number `floor` on know of them. */
interface MissingEvents extends Pick<Gap, 'fromSeq' | 'toSeq'> {
  readonly floor: number;
}

/** Rows compared to find out that no number between them is missing. */
const MAX_COMPARED = 32;

/** The numbers that this log and earlier ones assigned, and the events that are gone. */
export class EventHistory {
  readonly #events: EventStore;
  readonly #ranges: EventRanges;
  #ended: EndedEvents;

  constructor(events: EventStore) {
    this.#events = events;
    this.#ranges = new EventRanges(events.ranges(), (first) => events.highestIn(first));
    this.#ended = events.endedBefore(this.#ranges.first);
  }

  /** A client from this number on misses no event of the mempool. */
  get mempoolFloor(): number {
    return Math.max(this.#ended.last, this.#ended.undone?.floor ?? 0);
  }

  /** Highest number that earlier processes may have given. */
  get reservedBefore(): number {
    return this.#ranges.first - 1;
  }

  loseMempool(upTo: number): void {
    if (upTo > this.#ended.last) this.#ended = { ...this.#ended, last: upTo, lastCause: upTo };
  }

  /** The cursor of an event of the log. */
  cursorOf(seq: number, chainSeq: number): string {
    return cursorText(this.#ranges.tagOf(seq), seq, chainSeq);
  }

  /** The cursor of a point between events. */
  cursorAt({ seq, within }: EventPosition): string {
    return this.cursorOf(seq, this.#events.newestUpTo(seq)) + within;
  }

  /** The point that a cursor names; `latest` is the newest number of all. */
  locate(text: string, latest: number): ResumePoint | CursorFault {
    const cursor = parseCursor(text);
    if (!cursor) return 'malformed';
    const found = this.#ranges.check(cursor);
    if (found !== 'known') return found;
    return cursor.seq > Math.max(latest, this.reservedBefore) ? 'ahead' : cursor;
  }

  /**
   * Returns the gaps after a point: events of all kinds first, then events of the mempool, as far as they have the types
   * or lead to them; null stands for all types.
   */
  gapsBehind(point: ResumePoint, types: ReadonlySet<string> | null, isHeld: (seq: number) => boolean): Gap[] {
    const { seq, within, chainSeq } = point;
    const { oldest, last } = this.#events.bounds();
    const isPartial = within !== WHOLE && isHeld(seq);
    // Messages derived from a missing event are missing as well.
    let from = isPartial || this.#endedWhole(point) ? seq : completeUpTo(point);
    const gaps: Gap[] = [];
    const add = (scope: Gap['scope'], fromSeq: number, toSeq: number, end: EventPosition) =>
      gaps.push({ scope, fromSeq, toSeq, lastChainSeq: last, cursor: this.cursorAt(end) });
    const lostFrom = chainSeq === null ? null : this.#lostFrom(chainSeq, oldest);
    if (lostFrom !== null || (oldest > 0 && from < oldest - 1)) {
      const toSeq =
        lostFrom === null ? oldest - 1 : Math.min(this.#ranges.endOf(seq), Math.max(seq, this.reservedBefore));
      add('all', lostFrom ?? from + 1, toSeq, { seq: toSeq, within: WHOLE });
      from = toSeq;
    }
    const missing = this.#missingMempool(from, types);
    if (missing) {
      const { fromSeq, toSeq, floor } = missing;
      const [next] = this.#events.after(from, 1);
      const end = Math.min(floor, next ? next.seq - 1 : floor);
      add('mempool', fromSeq, toSeq, isPartial && from === seq ? point : { seq: end, within: WHOLE });
    }
    return gaps;
  }

  /** The gap of a client whose position is not in this log: all events up to the number `latest`. */
  gapUpTo(latest: number): Gap {
    const { oldest, last } = this.#events.bounds();
    const cursor = this.cursorAt({ seq: latest, within: WHOLE });
    return { scope: 'all', fromSeq: oldest, toSeq: latest, lastChainSeq: last, cursor };
  }

  /**
   * The first number from which on events of the chain are missing that a client has seen; null where there are none. A
   * power cut or a restored copy takes back the last ones, and what is connected afterwards has numbers of a new range.
   */
  #lostFrom(chainSeq: number, oldest: number): number | null {
    if (chainSeq === 0 || chainSeq < oldest) return null;
    const kept = this.#events.newestUpTo(chainSeq);
    return kept === chainSeq ? null : kept + 1;
  }

  /** Whether an event of the mempool ended with an earlier process, and no message was derived from it. */
  #endedWhole({ seq, chainSeq }: ResumePoint): boolean {
    const isOfMempool = chainSeq !== null && chainSeq < seq;
    return isOfMempool && seq > this.#ended.lastCause && seq <= this.reservedBefore;
  }

  /** Returns the events of the mempool that are missing behind a number; null without any. */
  #missingMempool(from: number, types: ReadonlySet<string> | null): MissingEvents | null {
    if (types && !MEMPOOL_TYPES.some((type) => types.has(type))) return null;
    if (this.#ranges.isUnknown(from)) {
      const floor = this.#ranges.endOf(from);
      return { fromSeq: from + 1, toSeq: floor, floor };
    }
    const { lastCause, undone } = this.#ended;
    const last = !types || types.has('mempoolUpdate') ? this.#ended.last : lastCause;
    const isUndone = undone !== null && from < undone.floor;
    const unused = this.#ranges.unusedUpTo(from);
    if (unused >= last || this.#areAllRows(unused, last)) return isUndone ? undone : null;
    if (!isUndone) return { fromSeq: unused + 1, toSeq: last, floor: last };
    return { fromSeq: Math.min(undone.fromSeq, unused + 1), toSeq: last, floor: Math.max(last, undone.floor) };
  }

  /** Whether all of a few numbers are of events of the chain. */
  #areAllRows(from: number, to: number): boolean {
    const count = to - from;
    if (count > MAX_COMPARED) return false;
    const rows = this.#events.after(from, count);
    return rows.length === count && rows.at(-1)!.seq === to;
  }
}

/** Where events go on once a client knows what is missing. */
export function startBehind(point: EventPosition, gaps: readonly Gap[]): EventPosition {
  const lost = gaps.find(({ scope }) => scope === 'all');
  return lost ? { seq: lost.toSeq, within: WHOLE } : { seq: point.seq, within: point.within };
}
