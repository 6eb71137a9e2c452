import { closeSync, fchmodSync, fstatSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { isatty } from 'node:tty';
import { openLibc } from './libc.ts';
import { createLog, type Log, type LogFormat, setLogLevels } from './log.ts';
import { type CategoryLevel, categoryLevels, type LogLevel } from './log-levels.ts';
import { colouredLine, textLine } from './log-lines.ts';
import { OperatorError } from './operator-error.ts';

const STDERR = 2;
const ERASE_LINE = '\r\x1b[K';
/** Priorities of syslog, as the journal reads them before a line. */
const PRIORITIES: Readonly<Record<LogLevel, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

/** The settings of the log of the process. */
export interface LogSettings {
  readonly level: LogLevel;
  readonly levels?: readonly CategoryLevel[];
  readonly format: LogFormat | 'auto';
  /** Descriptor of the open `log.file`, which all threads share; null or absent for stderr. */
  readonly fd?: number | null;
}

/**
 * Creates the log of the process, on stderr or in its file. The format `auto` is text on a terminal and JSON elsewhere. On a
 * terminal every line is written at once, so that the lines of all threads are in order. Flushed at exit.
 */
export function processLog({ level, levels = [], format, fd = null }: LogSettings, env = process.env): Log {
  const out = fd ?? STDERR;
  const isTerminal = isatty(out);
  const chosen = format !== 'auto' ? format : isTerminal ? 'text' : 'json';
  const isJournal = fd === null && isJournalStream(env.JOURNAL_STREAM);
  const isColoured = isTerminal && (env.NO_COLOR ?? '') === '' && env.TERM !== 'dumb';
  const configured = categoryLevels(level, levels);
  setLogLevels(configured, true);
  const log = createLog({
    level,
    levels: configured,
    category: 'node',
    format: chosen,
    write: (bytes) => writeBytes(out, bytes),
    isImmediate: isTerminal,
    ...(chosen === 'text' && { line: isColoured ? colouredLine : textLine }),
    // On a terminal a progress bar may be in the line that the next message overwrites.
    ...(chosen === 'text' && isTerminal && { prefix: () => ERASE_LINE }),
    ...(isJournal && { prefix: (of) => `<${PRIORITIES[of]}>` }),
  });
  process.on('exit', () => log.flush());
  return log;
}

/** Whether stderr is the stream that the service manager named in `JOURNAL_STREAM`, as `device:inode`. */
function isJournalStream(stream: string | undefined): boolean {
  if (!stream) return false;
  try {
    const { dev, ino } = fstatSync(STDERR, { bigint: true });
    return stream === `${dev}:${ino}`;
  } catch {
    return false;
  }
}

function writeBytes(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
    // The terminal or reader is gone, or the disk is full. The lines are lost, but the node must go on.
    return bytes.length;
  }
}

/** Permissions of a log in a directory that its group may read, such as /var/log/obverse of the group adm. */
const SHARED_MODE = 0o640;
const PRIVATE_MODE = 0o600;
const GROUP_READ = 0o040;

/** Opens the file of the log for appending. Its group may read it where it may read the directory. Throws OperatorError. */
export function openLogFile(path: string): number {
  try {
    const mode = statSync(dirname(path)).mode & GROUP_READ ? SHARED_MODE : PRIVATE_MODE;
    const fd = openSync(path, 'a', mode);
    // The umask of the node would leave the group without access. A file of another user keeps its mode, and so does a device:
    // every program of the system writes to /dev/null.
    const stats = fstatSync(fd);
    if (stats.isFile() && stats.size === 0 && stats.uid === process.geteuid?.()) fchmodSync(fd, mode);
    return fd;
  } catch (error) {
    throw new OperatorError(
      `log.file: ${path} cannot be opened for writing: ${(error as NodeJS.ErrnoException).code}`,
      {
        isOfSettings: true,
      },
    );
  }
}

/**
 * Opens the file anew under the same descriptor, after a rotation has renamed the earlier one. No line is lost: each goes to
 * one of the two files. Throws OperatorError; the earlier file then stays open.
 */
export function reopenLogFile(path: string, fd: number): void {
  const next = openLogFile(path);
  const libc = openLibc({ dup2: { args: ['i32', 'i32'], returns: 'i32' } });
  const done = libc !== null && libc.dup2(next, fd) === fd;
  closeSync(next);
  if (!done) throw new OperatorError(`log.file: ${path} cannot be opened again: restart the node`);
}
