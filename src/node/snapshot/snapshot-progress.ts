/** How far a snapshot has been moved. */
export interface TransferProgress {
  /** Bytes of all files that are at their place. */
  readonly bytes: number;
  /** Bytes among them that this run has moved. */
  readonly moved: number;
  readonly totalBytes: number;
  readonly elapsedMs: number;
}

/** Counts the bytes of one transfer and reports each change. */
export class TransferCounter {
  bytes = 0;
  moved = 0;
  readonly #totalBytes: number;
  readonly #report: (progress: TransferProgress) => void;
  readonly #startedAt = performance.now();

  constructor(totalBytes: number, report: (progress: TransferProgress) => void) {
    this.#totalBytes = totalBytes;
    this.#report = report;
  }

  countPart(bytes: number, isMoved: boolean): void {
    this.bytes += bytes;
    if (isMoved) this.moved += bytes;
    const elapsedMs = performance.now() - this.#startedAt;
    this.#report({ bytes: this.bytes, moved: this.moved, totalBytes: this.#totalBytes, elapsedMs });
  }
}
