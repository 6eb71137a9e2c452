/**
 * The numbers of events that this process has seen in the database. A replica that lacks the last transactions of the former
 * server, or a restored copy, gives numbers again that clients have seen.
 */
export class KnownEvents {
  #tag: string | null = null;
  /** The highest number of the next event. */
  #nextSeq = 0;
  #areLost = false;

  /** Whether the database lacks events that it had, and does not show it by another tag yet. */
  get areLost(): boolean {
    return this.#areLost;
  }

  /** The tag of the events. It must have been read before. */
  get tag(): string {
    return this.#tag!;
  }

  /** Notes what the database has. Another tag means that the tables are others, or that a leader has noticed the loss. */
  notePosition(tag: string, nextSeq: number): void {
    const isSame = tag === this.#tag;
    this.#areLost = isSame && (this.#areLost || nextSeq < this.#nextSeq);
    this.#nextSeq = isSame ? Math.max(nextSeq, this.#nextSeq) : nextSeq;
    this.#tag = tag;
  }

  /** Notes that events up to the number before `nextSeq` were committed. */
  noteCommitted(nextSeq: number): void {
    this.#nextSeq = Math.max(nextSeq, this.#nextSeq);
  }
}
