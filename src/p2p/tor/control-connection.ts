import { type Dial, DialError, type DialTarget } from '../connections/dial.ts';
import { LineStream } from '../connections/line-stream.ts';
import type { Timing } from '../connections/timing.ts';
import { type ControlReply, parseReplyLine } from './control-reply.ts';

/** Bounds of a reply, so that the other end cannot fill the memory (as in Core; control-spec has none). */
const MAX_LINE_LENGTH = 100_000;
const MAX_LINES = 1000;
/** Time limit of a reply, milliseconds; Tor replies at once. */
const REPLY_TIMEOUT_MS = 60_000;
/** Codes from here on are notifications, which are not requested. */
const FIRST_NOTIFICATION = 600;

/** A connection to Tor's control port (control-spec). One command is under way at a time. */
export class ControlConnection {
  readonly #lines: LineStream;
  readonly #timing: Timing;
  readonly #ended = Promise.withResolvers<never>();
  #waiting: ((reply: ControlReply) => void) | null = null;

  private constructor(lines: LineStream, timing: Timing) {
    this.#lines = lines;
    this.#timing = timing;
    // The caller may not wait for the end yet.
    this.#ended.promise.catch(() => {});
    this.#readReplies().catch((error) => {
      this.#lines.close();
      this.#ended.reject(error);
    });
  }

  /** Rejects with DialError, or with the signal's reason. */
  static async open(
    to: DialTarget,
    { dial, timing, signal }: { readonly dial: Dial; readonly timing: Timing; readonly signal: AbortSignal },
  ): Promise<ControlConnection> {
    const stream = await dial(to, signal);
    return new ControlConnection(new LineStream(stream, { maxLength: MAX_LINE_LENGTH, timing, signal }), timing);
  }

  /** Rejects when the connection ends. */
  get ended(): Promise<never> {
    return this.#ended.promise;
  }

  /** Sends a command and returns its reply. Rejects when the connection ends, or without a reply in time. */
  async command(text: string): Promise<ControlReply> {
    const { promise, resolve } = Promise.withResolvers<ControlReply>();
    this.#waiting = resolve;
    this.#lines.send(`${text}\r\n`);
    const done = new AbortController();
    const late = this.#timing.sleep(REPLY_TIMEOUT_MS, done.signal).then(
      () => Promise.reject(new DialError('no reply in time')),
      () => new Promise<never>(() => {}),
    );
    try {
      return await Promise.race([promise, this.ended, late]);
    } finally {
      this.#waiting = null;
      done.abort();
    }
  }

  close(): void {
    this.#lines.close();
  }

  /** Reads replies until the connection ends. Those that answer no command are dropped. */
  async #readReplies(): Promise<never> {
    let lines: string[] = [];
    for (;;) {
      const line = await this.#lines.readLine();
      if (lines.length === MAX_LINES) throw new DialError(`a reply exceeds ${MAX_LINES} lines`);
      const parsed = parseReplyLine(line);
      if (parsed === null) continue;
      lines.push(parsed.text);
      if (!parsed.isLast) continue;
      const reply = { code: parsed.code, lines };
      lines = [];
      if (reply.code < FIRST_NOTIFICATION) this.#waiting?.(reply);
    }
  }
}
