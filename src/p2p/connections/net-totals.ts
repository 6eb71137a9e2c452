import type { Clock } from '../../util/clock.ts';
import { isMessageType } from '../messages/messages.ts';
import type { Direction } from './connection.ts';

const MIB = 1024 * 1024;
const CYCLE_SECONDS = 86_400;
const BLOCK_INTERVAL_SECONDS = 600;
const MAX_BLOCK_SIZE = 4_000_000;

/**
 * The daily upload target: bytes sent in the current 24-hour cycle. A cycle begins with the first byte after the end of
 * the last one.
 */
export class UploadTarget {
  readonly #clock: Clock;
  #limit: number;
  #cycleStart = 0;
  #sent = 0;

  /** 0 means no limit. */
  constructor(clock: Clock, mebibytesPerDay: number) {
    this.#clock = clock;
    this.#limit = mebibytesPerDay * MIB;
  }

  get limit(): number {
    return this.#limit;
  }

  /** Sets another limit from now on; what was sent in this cycle counts towards it. */
  setLimit(mebibytesPerDay: number): void {
    this.#limit = mebibytesPerDay * MIB;
  }

  get sentInCycle(): number {
    return this.#sent;
  }

  get bytesLeft(): number {
    return this.#limit === 0 ? 0 : Math.max(0, this.#limit - this.#sent);
  }

  get secondsLeft(): number {
    if (this.#limit === 0) return 0;
    return this.#cycleStart === 0 ? CYCLE_SECONDS : Math.max(0, this.#cycleStart + CYCLE_SECONDS - this.#now());
  }

  sent(bytes: number): void {
    const now = this.#now();
    if (this.#cycleStart + CYCLE_SECONDS < now) {
      this.#cycleStart = now;
      this.#sent = 0;
    }
    this.#sent += bytes;
  }

  /**
   * Returns whether the target is reached. For historical blocks it is reached earlier, so that new blocks of the
   * remaining cycle can still be sent once.
   */
  isReached(historical: boolean): boolean {
    if (this.#limit === 0) return false;
    if (!historical) return this.#sent >= this.#limit;
    const reserve = Math.floor(this.secondsLeft / BLOCK_INTERVAL_SECONDS) * MAX_BLOCK_SIZE;
    return reserve >= this.#limit || this.#sent >= this.#limit - reserve;
  }

  #now(): number {
    return Math.floor(this.#clock.nowMs() / 1000);
  }
}

/** Maximum number of distinct reasons; there are about 80. Further ones are counted as `other`. */
const MAX_REASONS = 128;
const OTHER = 'other';

/** Totals of all connections since the start. */
export class NetTotals {
  received = 0;
  readonly upload: UploadTarget;
  #sent = 0;
  readonly #messages = { sent: new Map<string, number>(), received: new Map<string, number>() };
  readonly #closeReasons = new Map<string, number>();

  constructor(clock: Clock, maxUpload: number) {
    this.upload = new UploadTarget(clock, maxUpload);
  }

  get sent(): number {
    return this.#sent;
  }

  /** Number of messages by direction and type; unknown types are counted as `other`. */
  get messages(): Readonly<Record<Direction, ReadonlyMap<string, number>>> {
    return this.#messages;
  }

  /** Number of closed connections by reason. */
  get closeReasons(): ReadonlyMap<string, number> {
    return this.#closeReasons;
  }

  transferred(sent: number, received: number): void {
    this.received += received;
    if (sent === 0) return;
    this.#sent += sent;
    this.upload.sent(sent);
  }

  message(direction: Direction, type: string): void {
    count(this.#messages[direction], isMessageType(type) ? type : OTHER);
  }

  closed(reason: string): void {
    const isKnown = this.#closeReasons.has(reason) || this.#closeReasons.size < MAX_REASONS;
    count(this.#closeReasons, isKnown ? reason : OTHER);
  }
}

function count(counter: Map<string, number>, key: string): void {
  counter.set(key, (counter.get(key) ?? 0) + 1);
}
