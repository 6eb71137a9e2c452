import { announceSessionEnd } from './api.ts';

/** A message of the node's WebSocket. */
export interface LiveMessage {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** How the pages follow the node. Without a socket they ask again after a time. */
export type LiveState = 'connecting' | 'live' | 'polling';

const EVENTS = ['newBlock', 'blockDisconnected', 'mempoolBlocks', 'feeUpdate', 'syncStatus'];
const FIRST_PAUSE_MS = 500;
const MAX_PAUSE_MS = 15_000;
const POLL_MS = 5000;
/** The node closes a socket with this code when the credentials of its opening no longer hold. */
const CREDENTIALS_ENDED = 4001;

/**
 * Follows the events of the node over /ws with the cookie of the session. After a loss of the connection it connects again,
 * with growing pauses, and the pages load anew, since they show states and not events.
 */
export class Live {
  readonly #onMessage: (message: LiveMessage) => void;
  readonly #onState: (state: LiveState) => void;
  #socket: WebSocket | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #poll: ReturnType<typeof setInterval> | undefined;
  #pauseMs = FIRST_PAUSE_MS;
  #stopped = false;

  constructor(onMessage: (message: LiveMessage) => void, onState: (state: LiveState) => void) {
    this.#onMessage = onMessage;
    this.#onState = onState;
    this.#connect();
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#retry);
    clearInterval(this.#poll);
    this.#socket?.close();
  }

  #connect(): void {
    const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/ws`);
    this.#socket = socket;
    socket.onopen = () => {
      this.#pauseMs = FIRST_PAUSE_MS;
      clearInterval(this.#poll);
      this.#poll = undefined;
      socket.send(JSON.stringify({ type: 'subscribe', id: 1, data: { events: EVENTS, replace: true } }));
      this.#onState('live');
      this.#onMessage({ type: 'reload', data: {} });
    };
    socket.onmessage = ({ data }) => this.#onMessage(JSON.parse(String(data)) as LiveMessage);
    socket.onclose = ({ code }) => {
      if (this.#stopped) return;
      if (code === CREDENTIALS_ENDED) {
        announceSessionEnd();
        return;
      }
      this.#onState('polling');
      this.#poll ??= setInterval(() => this.#onMessage({ type: 'reload', data: {} }), POLL_MS);
      this.#retry = setTimeout(() => this.#connect(), this.#pauseMs);
      this.#pauseMs = Math.min(2 * this.#pauseMs, MAX_PAUSE_MS);
    };
  }
}
