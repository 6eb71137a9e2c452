import { type Clock, hostClock } from './clock.ts';
import { coreLine } from './core-log/core-line.ts';
import { LineBuffer } from './line-buffer.ts';
import {
  type CategoryLevels,
  categoryLevels,
  LOG_LEVELS,
  type LogCategory,
  type LogFields,
  type LogLevel,
} from './log-levels.ts';
import { jsonLine, type LogLine, textLine } from './log-lines.ts';

/** Format of a line: a JSON object for machines, aligned text for people, or the form of Bitcoin Core's log. */
export type LogFormat = 'json' | 'text' | 'core';

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
  /** Returns this log for one part of the node; its lines have the category, and that level applies. */
  category(name: LogCategory): Log;
  /** Returns this log with fields added to every line. */
  child(fields: LogFields): Log;
  /** Writes the buffered lines, as far as the sink accepts them. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Levels of categories in place of `level`. */
  readonly levels?: CategoryLevels;
  /** The category of lines without another one; none by default. */
  readonly category?: LogCategory;
  /** Formats a line in place of `format`. */
  readonly line?: LogLine;
  /** Whether every line is written at once, in the order of all threads. */
  readonly isImmediate?: boolean;
  /** Writes bytes and returns how many it accepted; 0 if it would block. If it throws, the bytes are lost. */
  readonly write: (bytes: Uint8Array) => number;
  readonly clock?: Clock;
  /** Text before each line. */
  readonly prefix?: (level: LogLevel) => string;
  /** Limit of buffered bytes. Lines beyond it are dropped, and a line reports how many. */
  readonly maxBufferedBytes?: number;
}

const LINES: Readonly<Record<LogFormat, LogLine>> = { json: jsonLine, text: textLine, core: coreLine };

/** The levels of this thread's logs that have categories: the present ones, and those of the configuration. */
let levelsInUse: CategoryLevels | null = null;
let levelsConfigured: CategoryLevels = categoryLevels('info');

/** Sets the levels of all logs in this thread that have categories. `areConfigured`: the configuration has them. */
export function setLogLevels(levels: CategoryLevels, areConfigured: boolean): void {
  levelsInUse = levels;
  if (areConfigured) levelsConfigured = levels;
}

/** Returns the present levels of the categories, and those of the configuration. */
export function logLevels(): { readonly inUse: CategoryLevels; readonly configured: CategoryLevels } {
  return { inUse: levelsInUse ?? levelsConfigured, configured: levelsConfigured };
}

/**
 * Creates a log. Errors are written at once, and at level debug all lines, so that a line is there before the reply that
 * it belongs to; other lines are written within 50 ms.
 */
export function createLog(options: LogOptions): Log {
  const levelOf = (category: LogCategory | null): LogLevel =>
    category === null ? options.level : ((levelsInUse ?? options.levels)?.[category] ?? options.level);
  const sink = new LineBuffer(options.write, options.maxBufferedBytes ?? 1 << 20);
  const clock = options.clock ?? hostClock;
  const prefix = options.prefix ?? (() => '');
  const format = options.line ?? LINES[options.format];
  const line: LogLine = (facts) => prefix(facts.level) + format(facts);
  const withFields = (base: LogFields, category: LogCategory | null): Log => {
    const isKept = (level: LogLevel) => LOG_LEVELS.indexOf(level) <= LOG_LEVELS.indexOf(levelOf(category));
    const at = (level: LogLevel) => (msg: string, fields?: LogFields) => {
      if (!isKept(level)) return;
      if (sink.dropped > 0 && sink.hasRoom) {
        const fields = { count: sink.dropped };
        sink.add(line({ level: 'warn', nowMs: clock.nowMs(), category, msg: 'log lines dropped', base: {}, fields }));
        sink.dropped = 0;
      }
      sink.add(line({ level, nowMs: clock.nowMs(), category, msg, base, fields }));
      if (level === 'error' || options.isImmediate || isKept('debug')) sink.flush();
    };
    return {
      error: at('error'),
      warn: at('warn'),
      info: at('info'),
      debug: at('debug'),
      enabled: isKept,
      category: (name) => withFields(base, name),
      child: (fields) => withFields({ ...base, ...fields }, category),
      flush: () => sink.flush(),
    };
  };
  return withFields({}, options.category ?? null);
}
