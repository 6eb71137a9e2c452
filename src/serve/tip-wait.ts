import { parseCursor } from '../feed/event-cursor.ts';
import { ApiError } from '../http/errors.ts';
import { invalid } from '../http/input.ts';

/** Time for which a request waits for a state that its client has seen elsewhere, milliseconds. */
const MAX_TIP_WAIT_MS = 2000;
/** Requests that wait at a time; further ones are refused at once. */
const MAX_WAITING = 10_000;
const HEIGHT_HEADER = 'x-chain-height';
const LAST_EVENT_ID = 'last-event-id';
const HEIGHT = /^\d{1,9}$/;
const SEQ = /^(?:0|[1-9][0-9]{0,15})$/;

/** The state that a server has reached. */
export interface ReachedState {
  readonly height: number;
  /** Number of the newest event. */
  readonly seq: number;
  /** The tag of the log of events. */
  readonly logTag: string;
}

/**
 * Holds requests of clients that another server has shown a later state, until this one has it too. A client names that
 * state by the header X-Chain-Height or by a cursor.
 */
export class TipWait {
  readonly #reached: () => ReachedState | null;
  readonly #nudge: () => void;
  readonly #waiting = new Set<() => void>();

  /** `reached` returns null before the server serves. `nudge` has the state read at once. */
  constructor(reached: () => ReachedState | null, nudge: () => void) {
    this.#reached = reached;
    this.#nudge = nudge;
  }

  /** Must be called when the state has changed. */
  moved(): void {
    for (const wake of [...this.#waiting]) wake();
  }

  /**
   * Resolves when the server has the tip and the event that a request names; null where it has them already. Rejects with
   * ApiError `syncing` if it does not have the tip in time. An event that stays ahead is left to the route.
   */
  waitFor(request: Request): Promise<void> | null {
    const wantedHeight = heightOf(request);
    const wantedSeq = this.#seqOf(afterOf(request));
    return wantedHeight === null && wantedSeq === null
      ? null
      : this.#wait(wantedHeight ?? 0, wantedSeq ?? 0, request.signal);
  }

  /** Resolves when the server has the event that a client names by a cursor or a number, or after a time; null if it has it. */
  waitForEvent(after: unknown): Promise<void> | null {
    const seq = this.#seqOf(after);
    return seq === null ? null : this.#wait(0, seq, null);
  }

  /** Returns the number of the event that a cursor of this log or a number names; null for anything else. */
  #seqOf(after: unknown): number | null {
    if (typeof after === 'number') return Number.isSafeInteger(after) ? after : null;
    if (typeof after !== 'string') return null;
    if (SEQ.test(after)) return Number(after);
    const cursor = parseCursor(after);
    return cursor !== null && cursor.tag === this.#reached()?.logTag ? cursor.seq : null;
  }

  #wait(height: number, seq: number, signal: AbortSignal | null): Promise<void> | null {
    const has = () => {
      const state = this.#reached();
      return state === null || (state.height >= height && state.seq >= seq);
    };
    return has() ? null : this.#waitUntil(has, height, signal);
  }

  async #waitUntil(has: () => boolean, height: number, signal: AbortSignal | null): Promise<void> {
    if (this.#waiting.size < MAX_WAITING) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => has() && resolve();
      const timer = setTimeout(resolve, MAX_TIP_WAIT_MS);
      const end = () => resolve();
      this.#waiting.add(wake);
      signal?.addEventListener('abort', end, { once: true });
      this.#nudge();
      await promise;
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      this.#waiting.delete(wake);
    }
    const state = this.#reached();
    if (state === null || state.height >= height) return;
    throw new ApiError(
      'syncing',
      `this server is at height ${state.height}, and the request names height ${height}, which it has not reached`,
      { height: state.height, wanted: height },
    );
  }
}

/** Returns the height that a request names; null without one. Throws ApiError `invalid_parameter`. */
function heightOf({ headers }: Request): number | null {
  const text = headers.get(HEIGHT_HEADER);
  if (text === null) return null;
  return HEIGHT.test(text) ? Number(text) : invalid('X-Chain-Height', 'must be a height');
}

/** Returns the text by which a request names an event; null without one. */
function afterOf({ headers, url }: Request): string | null {
  const at = url.indexOf('?');
  return headers.get(LAST_EVENT_ID) ?? (at < 0 ? null : new URLSearchParams(url.slice(at)).get('after'));
}
