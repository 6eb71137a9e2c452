/** How far an import of block files has come; sent a few times a second. */
export interface ImportProgress {
  /** Height of the tip. */
  readonly height: number;
  /** Blocks connected, inputs verified and bytes read so far, in this run. */
  readonly blocks: number;
  readonly inputs: number;
  readonly bytes: number;
  /** Size of all files together. */
  readonly totalBytes: number;
  readonly elapsedMs: number;
}

/** The first block that consensus refuses; the import stops at it. */
export interface BadBlock {
  readonly file: string;
  /** Where its record begins in the file. */
  readonly offset: number;
  /** Display order. */
  readonly hash: string;
  /** Core's reject string. */
  readonly reason: string;
}

export interface ImportResult {
  readonly blocksConnected: number;
  /** Blocks of the files that were here before. */
  readonly blocksKnown: number;
  /** The tip afterwards; hash in display order. */
  readonly height: number;
  readonly hash: string;
  readonly badBlock: BadBlock | null;
}

export interface ImportOptions {
  /** Stops between two blocks; what is connected stays. */
  readonly signal: AbortSignal;
  readonly progress: (progress: ImportProgress) => void;
}
