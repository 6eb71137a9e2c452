/** Allocation sizes, each about a tenth above the one before, so that freed memory fits later pieces. */
const CLASSES: readonly number[] = sizeClasses();
const SEGMENT = 1 << 20;
/** Larger pieces get an allocation of their own. */
const LARGEST = SEGMENT / 8;

/**
 * Stores many small byte strings in few large segments: each costs its bytes and a few more, where a Uint8Array of its
 * own costs two or three times as much. A piece is identified by a number. Freed memory is reused for pieces of about
 * the same size, and is never returned to the system.
 */
export class ByteArena {
  readonly #segments: Buffer[] = [];
  #end = SEGMENT;
  /** Free pieces by size class. */
  readonly #free: number[][] = CLASSES.map(() => []);
  /** Pieces with an allocation of their own; their numbers are negative. */
  readonly #large = new Map<number, Uint8Array>();
  #nextLarge = -1;

  /** Stores a copy of the concatenated parts and returns its number. */
  add(...parts: readonly Uint8Array[]): number {
    let length = 0;
    for (const part of parts) length += part.length;
    const at = this.#allocate(length);
    const view = this.view(at, length);
    let offset = 0;
    for (const part of parts) {
      view.set(part, offset);
      offset += part.length;
    }
    return at;
  }

  /** Returns a view of a piece. The view is invalid once the piece is freed. */
  view(at: number, length: number): Uint8Array {
    if (at < 0) return this.#large.get(at)!.subarray(0, length);
    const offset = at % SEGMENT;
    const { buffer } = this.#segments[(at - offset) / SEGMENT]!;
    return new Uint8Array(buffer, offset, length);
  }

  /** Copies the first `length` bytes of a piece into `to`. */
  copy(at: number, length: number, to: Uint8Array, offset: number): void {
    if (at < 0) {
      to.set(this.view(at, length), offset);
      return;
    }
    const from = at % SEGMENT;
    this.#segments[(at - from) / SEGMENT]!.copy(to, offset, from, from + length);
  }

  /** Frees a piece; `length` as it was added. */
  free(at: number, length: number): void {
    if (at < 0) this.#large.delete(at);
    else this.#free[classOf(length)]!.push(at);
  }

  #allocate(length: number): number {
    if (length > LARGEST) {
      const at = this.#nextLarge--;
      this.#large.set(at, new Uint8Array(length));
      return at;
    }
    const of = classOf(length);
    const free = this.#free[of]!.pop();
    if (free !== undefined) return free;
    const size = CLASSES[of]!;
    if (this.#end + size > SEGMENT) {
      this.#segments.push(Buffer.alloc(SEGMENT));
      this.#end = 0;
    }
    const at = (this.#segments.length - 1) * SEGMENT + this.#end;
    this.#end += size;
    return at;
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
