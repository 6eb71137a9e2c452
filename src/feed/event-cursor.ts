import { type EventRange, LOG_TAG_LENGTH } from '../storage/event-store.ts';

/** A point in the order of all events. */
export interface EventPosition {
  readonly seq: number;
  /**
   * How far into what has this number: `ITSELF` is behind the event of the log, `WHOLE` is behind everything that is
   * derived from it, and what lies between them is the place of one derived event. Places compare as strings.
   */
  readonly within: string;
}

export const ITSELF = '';
export const WHOLE = 'z';

/** Returns the last number whose messages are all before a position. */
export function completeUpTo({ seq, within }: EventPosition): number {
  return within === WHOLE ? seq : Math.max(0, seq - 1);
}

/** Contents of a cursor. */
export interface ParsedCursor extends EventPosition {
  readonly tag: string;
  /** Number of the newest event of the chain up to `seq`; 0 without any. */
  readonly chainSeq: number;
}

const SEQ_DIGITS = 9;
const WATCH_DIGITS = 10;
const INDEX_DIGITS = 4;

const FORMAT =
  /^([0-9a-z]{8})([0-9a-z]{9})(?:c|m([0-9a-z]{9}))(|a[0-9a-z]{10}|w[0-9a-f]{16}(?:|b[0-9a-z]{4}|c[0-9a-f]{24})|z)$/;

/** The place of what is derived for a watch; `number` orders it among those of one event. */
export function watchPlace(number: number): string {
  return `a${digits(number, WATCH_DIGITS)}`;
}

/**
 * The place of what is derived for a wallet, from the digest of its name (hex): of the one transaction that the event is
 * about, of a transaction by its index in the block, or of one that the block conflicts with by its txid (hex).
 */
export function walletPlace(nameDigest: string, of: { index: number } | { conflict: string } | null): string {
  const wallet = `w${nameDigest.slice(0, 16)}`;
  if (of === null) return wallet;
  return 'index' in of ? `${wallet}b${digits(of.index, INDEX_DIGITS)}` : `${wallet}c${of.conflict.slice(0, 24)}`;
}

/** The text of the cursor of an event of the log. Followed by the place of a derived event it is the cursor of that. */
export function cursorText(tag: string, seq: number, chainSeq: number): string {
  const number = digits(seq, SEQ_DIGITS);
  return chainSeq === seq ? `${tag}${number}c` : `${tag}${number}m${digits(chainSeq, SEQ_DIGITS)}`;
}

/** null where the text has another form. */
export function parseCursor(text: string): ParsedCursor | null {
  const [, tag, number, before, within] = FORMAT.exec(text) ?? [];
  if (tag === undefined) return null;
  const seq = Number.parseInt(number!, 36);
  return { tag, seq, chainSeq: before === undefined ? seq : Number.parseInt(before, 36), within: within! };
}

/** The ranges of event numbers, as the writer has left them at its start. */
export class EventRanges {
  readonly #ranges: readonly EventRange[];
  readonly #highestIn: (first: number) => number | null;

  /** `highestIn` returns the highest number that was given in the range with a first number; null if it is unknown. */
  constructor(ranges: readonly EventRange[], highestIn: (first: number) => number | null) {
    if (ranges.length === 0) throw new Error('the event log has no ranges: no writer has opened it');
    this.#ranges = ranges;
    this.#highestIn = highestIn;
  }

  /** The first number that the present writer may give. */
  get first(): number {
    return this.#ranges.at(-1)!.first;
  }

  /** The tag of a number. One that is older than all ranges has that of the oldest. */
  tagOf(seq: number): string {
    return this.#ranges[Math.max(0, this.#find(seq))]!.tag;
  }

  /** The last number of the range that a number is in; Infinity in the last one. */
  endOf(seq: number): number {
    const next = this.#ranges[this.#find(seq) + 1];
    return next ? next.first - 1 : Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the highest number from `seq` on up to which no number was given. It is `seq` itself where the next number was
   * given or that is unknown.
   */
  unusedUpTo(seq: number): number {
    let at = this.#find(seq);
    let end = seq;
    for (; at >= 0 && at + 1 < this.#ranges.length; at++) {
      const highest = this.#highestIn(this.#ranges[at]!.first);
      if (highest === null || end < highest) return end;
      end = this.#ranges[at + 1]!.first - 1;
    }
    return end;
  }

  /** Whether a position of an earlier run is behind all numbers that this log knows: the log is a copy from before. */
  isUnknown(seq: number): boolean {
    const at = this.#find(seq);
    const next = this.#ranges[at + 1];
    const highest = at >= 0 && next ? this.#highestIn(this.#ranges[at]!.first) : null;
    // Cursors of gaps name the end of a range.
    return highest !== null && seq > highest && seq < next!.first - 1;
  }

  /** Whether a cursor is of this log at all, and whether its event is in the history that this log continues. */
  check({ tag, seq }: ParsedCursor): 'known' | 'other-log' | 'other-history' {
    const log = tag.slice(0, LOG_TAG_LENGTH);
    if (!this.#ranges[0]!.tag.startsWith(log)) return 'other-log';
    const at = this.#find(seq);
    // Events older than all ranges are not stored either, so a gap follows.
    return at < 0 || this.#ranges[at]!.tag === tag ? 'known' : 'other-history';
  }

  /** Index of the range that a number is in; -1 before the first. */
  #find(seq: number): number {
    const ranges = this.#ranges;
    let low = 0;
    let high = ranges.length;
    // Most are in the last one.
    if (seq >= ranges[high - 1]!.first) return high - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (ranges[middle]!.first <= seq) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}

function digits(number: number, length: number): string {
  return number.toString(36).padStart(length, '0');
}
