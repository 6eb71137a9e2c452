import type { Clock } from '../../util/clock.ts';
import { isMessageType } from '../messages/messages.ts';
import type { Direction } from './connection.ts';
import { UploadTarget } from './upload-target.ts';

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
