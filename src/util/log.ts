import { writeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type Clock, hostClock } from './clock.ts';

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
/** One JSON object a line for machines, one aligned line for people. */
export type LogFormat = 'json' | 'text';
type LogFields = Readonly<Record<string, unknown>>;

/** Writes one line per call and never throws. Fields: bigints become decimal text, byte arrays hex, errors their message. */
export interface Log {
  error(msg: string, fields?: LogFields): void;
  warn(msg: string, fields?: LogFields): void;
  info(msg: string, fields?: LogFields): void;
  debug(msg: string, fields?: LogFields): void;
  /** Whether lines of a level are kept; for fields that cost something to compute. */
  enabled(level: LogLevel): boolean;
  /** The same log with fields added to every line. */
  child(fields: LogFields): Log;
  /** Writes out what is buffered, as far as the sink takes it. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Returns how many bytes it took; 0 when it would block. What it throws is swallowed and the bytes are lost. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock?: Clock;
  /** Written before each line. */
  readonly prefix?: string;
  /** Lines beyond this many bytes not yet written are dropped, and counted in a line of their own. */
  readonly maxBufferedBytes?: number;
}

const FLUSH_AFTER_MS = 50;
const ERASE_LINE = '\r\x1b[K';
const FLUSH_AT_BYTES = 16 * 1024;

/** What an operator has said of debug lines while the node runs; null for what is configured. */
let debugLines: boolean | null = null;

/** Has all logs of this thread keep debug lines from now on, or drop them. */
export function keepDebugLines(kept: boolean): void {
  debugLines = kept;
}

/** A log over any sink. Errors are written at once, everything else within 50 ms. */
export function createLog(options: LogOptions): Log {
  const isKept = (level: LogLevel) =>
    level === 'debug' && debugLines !== null ? debugLines : LOG_LEVELS.indexOf(level) <= lowest;
  const sink = new LineBuffer(options.write, options.maxBufferedBytes ?? 1 << 20);
  const clock = options.clock ?? hostClock;
  const lowest = LOG_LEVELS.indexOf(options.level);
  const prefix = options.prefix ?? '';
  const made = options.format === 'json' ? jsonLine : textLine;
  const line: Line = (...facts) => prefix + made(...facts);
  const withFields = (base: LogFields): Log => {
    const at = (level: LogLevel) => (msg: string, fields?: LogFields) => {
      if (!isKept(level)) return;
      if (sink.dropped > 0 && sink.hasRoom) {
        sink.add(line('warn', clock.nowMs(), 'log lines dropped', {}, { count: sink.dropped }));
        sink.dropped = 0;
      }
      sink.add(line(level, clock.nowMs(), msg, base, fields));
      if (level === 'error') sink.flush();
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

/** The log of a process: to stderr, for people when that is a terminal and the format is not given; flushed at exit. */
export function stderrLog({ level, format }: { level: LogLevel; format: LogFormat | 'auto' }): Log {
  const chosen = format !== 'auto' ? format : isatty(2) ? 'text' : 'json';
  // On a terminal, progress may be shown where the next line is to stand.
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
    // The terminal or the reader is gone, which must not end the node: the lines are lost.
    return bytes.length;
  }
}

class LineBuffer {
  dropped = 0;
  readonly #write: (bytes: Uint8Array) => number;
  readonly #maxBytes: number;
  #lines: string[] = [];
  /** UTF-16 length stands for bytes: the bound needs no more precision. */
  #lineBytes = 0;
  /** Taken from the lines, not yet by the sink. */
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
      // A log that cannot be written must not take the node down.
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
      const taken = this.#write(this.#rest);
      if (taken <= 0) return;
      this.#rest = this.#rest.subarray(taken);
    }
  }

  #schedule(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => this.flush(), FLUSH_AFTER_MS);
    // Pending lines are written at exit; they are no reason to stay alive.
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
  // What peers send ends up here too: anything but plain characters is quoted and escaped.
  if (typeof value === 'string' && /^[\x21\x23-\x3c\x3e-\x7e]+$/.test(value)) return value;
  return JSON.stringify(value, plain);
}

function plain(this: unknown, key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString();
  // A Buffer has turned itself into an object before `value` is handed over.
  const original = (this as Record<string, unknown>)[key];
  if (original instanceof Uint8Array) return original.toHex();
  if (value instanceof Error) return { name: value.name, message: value.message, stack: value.stack };
  return value;
}
