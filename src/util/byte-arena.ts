/** Allocation sizes, each about a tenth above the one before, so that freed memory fits later pieces. */
const CLASSES: readonly number[] = sizeClasses();
const SEGMENT = 1 << 20;
/** Larger pieces get an allocation of their own. */
const LARGEST = SEGMENT / 8;

/** A segment of an arena by its index; null if the segment was dropped. */
export type SegmentChange = readonly [index: number, bytes: Uint8Array | null];

/**
 * Stores many small byte strings in few large segments of shared memory: each costs its bytes and a few more, where a
 * Uint8Array of its own costs two or three times as much. A piece is identified by a number. Freed memory is reused for
 * pieces of about the same size, and is never returned to the system. Other threads read the same memory through an
 * arena that follows this one: it applies the segment changes and adds nothing itself.
 */
export class ByteArena {
  readonly #segments: (Buffer | null)[] = [];
  /** Index of the segment that is being filled, and the offset of its free rest. */
  #current = -1;
  #end = SEGMENT;
  /** Free pieces by size class. */
  readonly #free: number[][] = CLASSES.map(() => []);
  /** Indexes of dropped segments. */
  readonly #dropped: number[] = [];
  #changes: SegmentChange[] = [];

  /** Stores a copy of the concatenated parts and returns its number. */
  add(...parts: readonly Uint8Array[]): number {
    let length = 0;
    for (const part of parts) length += part.length;
    const at = this.#allocate(length);
    const offset = at % SEGMENT;
    const segment = this.#segments[(at - offset) / SEGMENT]!;
    let to = offset;
    for (const part of parts) {
      segment.set(part, to);
      to += part.length;
    }
    return at;
  }

  /** Returns a view of a piece. The view is invalid once the piece is freed. */
  view(at: number, length: number): Uint8Array {
    const offset = at % SEGMENT;
    const { buffer, byteOffset } = this.#segments[(at - offset) / SEGMENT]!;
    return new Uint8Array(buffer, byteOffset + offset, length);
  }

  /** Copies the first `length` bytes of a piece into `to`. */
  copy(at: number, length: number, to: Uint8Array, offset: number): void {
    const from = at % SEGMENT;
    this.#segments[(at - from) / SEGMENT]!.copy(to, offset, from, from + length);
  }

  /** Frees a piece; `length` as it was added. */
  free(at: number, length: number): void {
    if (length <= LARGEST) {
      this.#free[classOf(length)]!.push(at);
      return;
    }
    const index = at / SEGMENT;
    this.#setSegment(index, null);
    this.#dropped.push(index);
  }

  /** Returns the segments that were added and dropped since the last call. */
  drainChanges(): readonly SegmentChange[] {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /** Applies the segment changes of the arena that this one follows. */
  applyChanges(changes: readonly SegmentChange[]): void {
    for (const [index, bytes] of changes)
      this.#segments[index] = bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  #allocate(length: number): number {
    // A large piece has a segment of its own.
    if (length > LARGEST) return this.#addSegment(length) * SEGMENT;
    const of = classOf(length);
    const free = this.#free[of]!.pop();
    if (free !== undefined) return free;
    const size = CLASSES[of]!;
    if (this.#end + size > SEGMENT) {
      this.#current = this.#addSegment(SEGMENT);
      this.#end = 0;
    }
    const at = this.#current * SEGMENT + this.#end;
    this.#end += size;
    return at;
  }

  #addSegment(length: number): number {
    const index = this.#dropped.pop() ?? this.#segments.length;
    this.#setSegment(index, Buffer.from(new SharedArrayBuffer(length)));
    return index;
  }

  #setSegment(index: number, segment: Buffer | null): void {
    this.#segments[index] = segment;
    this.#changes.push([index, segment && new Uint8Array(segment.buffer)]);
  }
}

function sizeClasses(): number[] {
  const classes: number[] = [];
  for (let size = 16; size < LARGEST; size += Math.max(16, Math.floor(size / 9 / 16) * 16)) classes.push(size);
  classes.push(LARGEST);
  return classes;
}

/** Returns the index of the smallest class that is large enough. */
function classOf(length: number): number {
  let low = 0;
  let high = CLASSES.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (CLASSES[middle]! < length) low = middle + 1;
    else high = middle;
  }
  return low;
}
