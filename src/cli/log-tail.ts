import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { sleep } from '../util/abort.ts';
import { OperatorError } from '../util/operator-error.ts';

const CHUNK = 64 * 1024;
/** Longest line that is kept while its end is not written, bytes. */
const MAX_LINE = 16 * 1024 * 1024;
const POLL_MS = 200;
const LINE_FEED = 0x0a;

/** A position behind the lines that were read, in the file that had the path at that time. */
interface FileEnd {
  readonly fd: number;
  readonly offset: number;
}

/**
 * Returns the last `count` lines of a file that are accepted, reading backwards. `end` holds an open descriptor for
 * `followFile`. Throws OperatorError.
 */
export function lastLines(
  path: string,
  count: number,
  accepts: (line: string) => boolean,
): { readonly lines: readonly string[]; readonly end: FileEnd } {
  const fd = openFile(path);
  const { size } = fstatSync(fd);
  const found: string[] = [];
  let offset = size;
  let rest = Buffer.alloc(0);
  let end = -1;
  while (offset > 0 && found.length < count) {
    const length = Math.min(CHUNK, offset);
    const chunk = Buffer.alloc(length);
    offset -= length;
    readSync(fd, chunk, 0, length, offset);
    let bytes = Buffer.concat([chunk, rest]);
    if (end < 0) {
      // A line that is being written is shown when it is complete.
      const last = bytes.lastIndexOf(LINE_FEED);
      if (last >= 0) end = offset + last + 1;
      bytes = last >= 0 ? bytes.subarray(0, last) : Buffer.alloc(0);
      if (last < 0) continue;
    }
    const first = offset === 0 ? 0 : bytes.indexOf(LINE_FEED) + 1;
    rest = first === 0 && offset > 0 ? bytes : Buffer.from(bytes.subarray(0, Math.max(0, first - 1)));
    if (rest.length > MAX_LINE) break;
    if (first === 0 && offset > 0) continue;
    const lines = bytes.subarray(first).toString('utf8').split('\n');
    for (const line of lines.reverse()) if (found.length < count && line !== '' && accepts(line)) found.push(line);
  }
  return { lines: found.reverse(), end: { fd, offset: Math.max(0, end) } };
}

/** Prints what is appended, also to the file that replaces this one, until the signal aborts. */
export async function followFile(
  path: string,
  from: FileEnd,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let { fd, offset } = from;
  let rest = Buffer.alloc(0);
  try {
    while (!signal.aborted) {
      const next = replacement(path, fd);
      for (let chunk = readAt(fd, offset); chunk.length > 0; chunk = readAt(fd, offset)) {
        offset += chunk.length;
        const bytes = Buffer.concat([rest, chunk]);
        const last = bytes.lastIndexOf(LINE_FEED);
        rest = Buffer.from(bytes.subarray(last + 1));
        if (rest.length > MAX_LINE) rest = Buffer.alloc(0);
        if (last >= 0) for (const line of bytes.subarray(0, last).toString('utf8').split('\n')) print(line);
      }
      if (next !== null) {
        // The earlier file was read to its end after the new one had appeared.
        closeSync(fd);
        [fd, offset, rest] = [next, 0, Buffer.alloc(0)];
        continue;
      }
      // A file that was truncated in place begins anew.
      if (fstatSync(fd).size < offset) offset = 0;
      await sleep(POLL_MS, signal).catch(() => {});
    }
  } finally {
    closeSync(fd);
  }
}

/** Opens the file that now has the path, if it is another one; null otherwise. It must hold a line, as lines may still go to the earlier file. */
function replacement(path: string, fd: number): number | null {
  const now = statSync(path, { throwIfNoEntry: false });
  const { ino, dev } = fstatSync(fd);
  if (!now || now.size === 0 || (now.ino === ino && now.dev === dev)) return null;
  return openFile(path);
}

function readAt(fd: number, offset: number): Buffer {
  const chunk = Buffer.alloc(CHUNK);
  return chunk.subarray(0, readSync(fd, chunk, 0, CHUNK, offset));
}

function openFile(path: string): number {
  try {
    return openSync(path, 'r');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`log.file: ${path} cannot be read: ${code === 'ENOENT' ? 'no such file' : code}`);
  }
}
