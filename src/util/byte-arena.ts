/** Sizes are rounded up to these, a little more than a tenth apart, so that what is freed fits what comes. */
const CLASSES: readonly number[] = sizeClasses();
const SEGMENT = 1 << 20;
/** Larger pieces are allocated by themselves. */
const LARGEST = SEGMENT / 8;

/**
 * Many small pieces of bytes in few large ones: each costs its bytes and a few more, where an array of its own would cost
 * two or three times as much. Pieces are known by a number; memory that is freed is given to later pieces of about the
 * same size, and never given back.
 */
export class ByteArena {
  readonly #segments: Buffer[] = [];
  #end = SEGMENT;
  /** By class: places that are free. */
  readonly #free: number[][] = CLASSES.map(() => []);
  /** Pieces that have a segment to themselves; their numbers are below zero. */
  readonly #large = new Map<number, Uint8Array>();
  #nextLarge = -1;

  /** Takes a copy; returns its number. */
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

  /** The bytes of a piece; they are somebody else's once it is freed. */
  view(at: number, length: number): Uint8Array {
    if (at < 0) return this.#large.get(at)!.subarray(0, length);
    const offset = at % SEGMENT;
    const { buffer } = this.#segments[(at - offset) / SEGMENT]!;
    return new Uint8Array(buffer, offset, length);
  }

  /** Copies the first bytes of a piece. */
  copy(at: number, length: number, to: Uint8Array, offset: number): void {
    if (at < 0) {
      to.set(this.view(at, length), offset);
      return;
    }
    const from = at % SEGMENT;
    this.#segments[(at - from) / SEGMENT]!.copy(to, offset, from, from + length);
  }

  /** `length` as it was added. */
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

/** The first class that is large enough. */
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
