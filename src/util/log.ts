import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Clock, hostClock } from './clock.ts';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** Format of a line: a JSON object for machines, aligned text for people. */
export type LogFormat = 'json' | 'text';
type LogFields = Readonly<Record<string, unknown>>;

/**
 * Writes one line per call and never throws. In fields, bigints become decimal strings, byte arrays hex, and errors
 * their name, message and stack.
 */
export interface Log {
  error(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  debug(msg: string, fields?: LogFields): void;
  /** Whether lines of a level are written; for fields that are expensive to compute. */
  enabled(level: LogLevel): boolean;
  /** Returns this log with fields added to every line. */
  child(fields: LogFields): Log;
  /** Writes the buffered lines, as far as the sink accepts them. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Writes bytes and returns how many it accepted; 0 if it would block. If it throws, the bytes are lost. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock?: Clock;
  /** Text before each line. */
  readonly prefix?: string;
  /** Limit of buffered bytes. Lines beyond it are dropped, and a line reports how many. */
  readonly maxBufferedBytes?: number;
}

const FLUSH_AFTER_MS = 50;
const ERASE_LINE = '\r\x1b[K';
const FLUSH_AT_BYTES = 16 * 1024;

/** Whether debug lines are written, as set at run time; null for the configured level. */
let debugLines: boolean | null = null;

/** Switches debug lines of all logs in this thread on or off. */
export function keepDebugLines(kept: boolean): void {
  debugLines = kept;
}

/**
 * Creates a log. Errors are written at once, and at level debug all lines, so that a line is there before the reply that
 * it belongs to; other lines are written within 50 ms.
 */
export function createLog(options: LogOptions): Log {
  const isKept = (level: LogLevel) =>
    level === 'debug' && debugLines !== null ? debugLines : LOG_LEVELS.indexOf(level) <= lowest;
  const sink = new LineBuffer(options.write, options.maxBufferedBytes ?? 1 << 20);
  const clock = options.clock ?? hostClock;
  const lowest = LOG_LEVELS.indexOf(options.level);
  const prefix = options.prefix ?? '';
  const format = options.format === 'json' ? jsonLine : textLine;
  const line: Line = (...facts) => prefix + format(...facts);
  const withFields = (base: LogFields): Log => {
    const at = (level: LogLevel) => (msg: string, fields?: LogFields) => {
      if (!isKept(level)) return;
      if (sink.dropped > 0 && sink.hasRoom) {
        sink.add(line('warn', clock.nowMs(), 'log lines dropped', {}, { count: sink.dropped }));
        sink.dropped = 0;
      }
      sink.add(line(level, clock.nowMs(), msg, base, fields));
      if (level === 'error' || options.level === 'debug') sink.flush();
    };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      enabled: isKept,
      child: (fields) => withFields({ ...base, ...fields }),
      flush: () => sink.flush(),
    };
  };
  return withFields({});
}

/**
 * Creates the log of the process, on stderr. The format `auto` is text on a terminal and JSON elsewhere. Flushed at
 * exit.
 */
export function stderrLog({ level, format }: { level: LogLevel; format: LogFormat | 'auto' }): Log {
  const chosen = format !== 'auto' ? format : isatty(2) ? 'text' : 'json';
  // On a terminal a progress bar may be in the line that the next message overwrites.
  const prefix = chosen === 'text' && isatty(2) ? ERASE_LINE : '';
  const log = createLog({ level, format: chosen, write: writeToStderr, prefix });
  process.on('exit', () => log.flush());
  return log;
}

function writeToStderr(bytes: Uint8Array): number {
  try {
    return writeSync(2, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    // The terminal or reader is gone. The lines are lost, but the node must go on.
    return bytes.length;
  }
}

class LineBuffer {
  dropped = 0;
  readonly #write: (bytes: Uint8Array) => number;
  readonly #maxBytes: number;
  #lines: string[] = [];
  /** Counted as UTF-16 length, which is close enough to bytes for a bound. */
  #lineBytes = 0;
  /** Encoded lines that the sink has not accepted yet. */
  #rest = new Uint8Array(0);
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(write: (bytes: Uint8Array) => number, maxBytes: number) {
    this.#write = write;
    this.#maxBytes = maxBytes;
  }

  get hasRoom(): boolean {
    return this.#lineBytes + this.#rest.length < this.#maxBytes;
  }

  add(line: string): void {
    if (!this.hasRoom) {
      this.dropped++;
      return;
    }
    this.#lines.push(line);
    this.#lineBytes += line.length;
    if (this.#lineBytes >= FLUSH_AT_BYTES && this.#rest.length === 0) this.flush();
    else this.#schedule();
  }

  flush(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
    try {
      this.#drain();
    } catch {
      // A failing sink must not stop the node.
      this.#rest = new Uint8Array(0);
    }
    if (this.#rest.length > 0) this.#schedule();
  }

  #drain(): void {
    while (this.#rest.length > 0 || this.#lines.length > 0) {
      if (this.#rest.length === 0) {
        this.#rest = new TextEncoder().encode(this.#lines.join(''));
        this.#lines = [];
        this.#lineBytes = 0;
      }
      const accepted = this.#write(this.#rest);
      if (accepted <= 0) return;
      this.#rest = this.#rest.subarray(accepted);
    }
  }

  #schedule(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => this.flush(), FLUSH_AFTER_MS);
    // Pending lines are written at exit, so the timer need not keep the process alive.
    this.#timer.unref();
  }
}

type Line = (level: LogLevel, nowMs: number, msg: string, base: LogFields, fields?: LogFields) => string;

const jsonLine: Line = (level, nowMs, msg, base, fields) => {
  const head = { level, time: new Date(nowMs).toISOString(), msg };
  try {
    return `${JSON.stringify({ ...head, ...base, ...fields, ...head }, plain)}\n`;
  } catch {
    return `${JSON.stringify({ ...head, fields: 'not serializable' })}\n`;
  }
};

const textLine: Line = (level, nowMs, msg, base, fields) => {
  const time = new Date(nowMs).toISOString().replace('T', ' ').slice(0, 23);
  let line = `${time} ${level.toUpperCase().padEnd(5)} ${msg}`;
  try {
    for (const [key, value] of Object.entries({ ...base, ...fields })) {
      if (value !== undefined) line += ` ${key}=${textValue(value)}`;
    }
  } catch {
    line += ' (fields not serializable)';
  }
  return `${line}\n`;
};

function textValue(value: unknown): string {
  if (typeof value === 'bigint') return value.toString();
  // Values may come from peers, so anything but plain characters is quoted and escaped.
  if (typeof value === 'string' && /^[\x21\x23-\x3c\x3e-\x7e]+$/.test(value)) return value;
  return JSON.stringify(value, plain);
}

function plain(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  // JSON.stringify has called toJSON of a Buffer before `value` arrives here.
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return original.toHex();
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return value;
}
