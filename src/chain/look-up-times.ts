/** Mean time of a look-up above which coins are read from the disk rather than from memory, nanoseconds. */
const SLOW_NS = 25_000;
/** One block in this many is connected without announced reads, to measure how long they take by themselves. */
const MEASURED = 16;

/** Decides by the time of look-ups whether it pays to announce them. */
export class LookUpTimes {
  #blocks = 0;
  #count = 0;
  #totalNs = 0;
  #slow = false;

  addTime(ns: number): void {
    this.#count++;
    this.#totalNs += ns;
  }

  /** Called once for each block. Returns whether the look-ups of the next block should be announced. */
  areSlow(): boolean {
    const measured = this.#blocks++ % MEASURED;
    // The block before this one was the measured one.
    if (measured === 1 && this.#count > 0) this.#slow = this.#totalNs / this.#count > SLOW_NS;
    this.#count = 0;
    this.#totalNs = 0;
    return this.#slow && measured !== 0;
  }
}
