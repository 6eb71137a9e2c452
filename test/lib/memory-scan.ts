import { closeSync, openSync, readFileSync, readlinkSync, readSync } from 'node:fs';

const PAGE = 4096;
const CHUNK = 4 * 1024 * 1024;
const ENTRY = 8;
/** Set in the highest byte of an entry of the page map: in memory, in swap. */
const PRESENT = 0xc0;

/** Returns the occurrences of each needle in the memory of a process, and the number of bytes read. */
export interface MemoryScan {
  readonly counts: ReadonlyMap<string, number>;
  readonly bytes: number;
}

/**
 * Searches all the memory that another process has written or read for needles, as the holder of a dump of it could.
 * Throws where the system does not permit it.
 */
export function scanMemory(pid: number, needles: ReadonlyMap<string, Uint8Array>): MemoryScan {
  const memory = openSync(`/proc/${pid}/mem`, 'r');
  const pageMap = openSync(`/proc/${pid}/pagemap`, 'r');
  const counts = new Map([...needles.keys()].map((name) => [name, 0]));
  const longest = Math.max(...[...needles.values()].map(({ length }) => length));
  const byStart = Map.groupBy(needles, ([, needle]) => startOf(needle, 0));
  const starts = new Uint8Array(0x1_0000);
  for (const start of byStart.keys()) starts[start] = 1;
  const buffer = Buffer.alloc(CHUNK + longest);
  let bytes = 0;
  try {
    for (const [from, to] of readableRanges(pid))
      for (const [first, last] of presentRuns(pageMap, from, to))
        for (let at = first; at < last; at += CHUNK) {
          const size = readAt(memory, buffer, Math.min(CHUNK + longest, last - at), at);
          bytes += Math.min(size, CHUNK);
          for (const place of placesOf(starts, buffer, Math.min(CHUNK, size - 1)))
            for (const [name, needle] of byStart.get(startOf(buffer, place))!)
              if (
                place + needle.length <= size &&
                buffer.compare(needle, 0, needle.length, place, place + needle.length) === 0
              )
                counts.set(name, counts.get(name)! + 1);
        }
  } finally {
    closeSync(memory);
    closeSync(pageMap);
  }
  return { counts, bytes };
}

/** Returns the first two bytes at an offset. */
function startOf(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}

/** Where one of the starts stands: all needles are looked for at once, as there are hundreds. */
function placesOf(starts: Uint8Array, buffer: Uint8Array, end: number): number[] {
  const places: number[] = [];
  for (let at = 0; at < end; at++) if (starts[buffer[at]! | (buffer[at + 1]! << 8)] === 1) places.push(at);
  return places;
}

/** Without the read-only mappings of the program's own file, which are most of it. */
function* readableRanges(pid: number): Generator<[number, number]> {
  const program = readlinkSync(`/proc/${pid}/exe`);
  for (const line of readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
    const match = /^([0-9a-f]+)-([0-9a-f]+) r(.)\S+ \S+ \S+ \S+\s*(.*)$/.exec(line);
    if (!match || match[4]!.startsWith('[v') || (match[3] === '-' && match[4] === program)) continue;
    yield [Number(`0x${match[1]}`), Number(`0x${match[2]}`)];
  }
}

/** The engine reserves far more than it uses: only pages that are there are read. */
function* presentRuns(pageMap: number, from: number, to: number): Generator<[number, number]> {
  const entries = Buffer.alloc(ENTRY * 65_536);
  let start = -1;
  for (let page = from; page < to; page += PAGE * 65_536) {
    const count = Math.min(65_536, (to - page) / PAGE);
    const size = readAt(pageMap, entries, count * ENTRY, (page / PAGE) * ENTRY);
    for (let i = 0; i < count; i++) {
      const present = (i + 1) * ENTRY <= size && (entries[i * ENTRY + 7]! & PRESENT) !== 0;
      if (present && start < 0) start = page + i * PAGE;
      if (present || start < 0) continue;
      yield [start, page + i * PAGE];
      start = -1;
    }
  }
  if (start >= 0) yield [start, to];
}

/** 0 where the range cannot be read, as device memory. */
function readAt(fd: number, buffer: Buffer, size: number, at: number): number {
  try {
    return readSync(fd, buffer, 0, size, at);
  } catch {
    return 0;
  }
}
