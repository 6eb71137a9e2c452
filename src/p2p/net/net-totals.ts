import type { Clock } from '../../util/clock.ts';
import { UploadTarget } from './upload-target.ts';

/** More different reasons are counted as one. */
const MAX_REASONS = 64;
const OTHER_REASONS = 'other';

/** What all connections together have done since the start. */
export class NetTotals {
  received = 0;
  readonly upload: UploadTarget;
  #sent = 0;
  readonly #closeReasons = new Map<string, number>();

  constructor(clock: Clock, maxUpload: number) {
    this.upload = new UploadTarget(clock, maxUpload);
  }

  get sent(): number {
    return this.#sent;
  }

  /** Why connections ended, and how many of them each. */
  get closeReasons(): ReadonlyMap<string, number> {
    return this.#closeReasons;
  }

  transferred(sent: number, received: number): void {
    this.received += received;
    if (sent === 0) return;
    this.#sent += sent;
    this.upload.sent(sent);
  }

  closed(reason: string): void {
    const isKnown = this.#closeReasons.has(reason) || this.#closeReasons.size < MAX_REASONS;
    const key = isKnown ? reason : OTHER_REASONS;
    this.#closeReasons.set(key, (this.#closeReasons.get(key) ?? 0) + 1);
  }
}
