/** Progress of an import of block files, sent a few times per second. */
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

/** The first invalid block, at which the import stops. */
export interface BadBlock {
  readonly file: string;
  /** Offset of its record in the file. */
  readonly offset: number;
  /** Display order. */
  readonly hash: string;
  /** Core's reject string. */
  readonly reason: string;
}

export interface ImportResult {
  readonly blocksConnected: number;
  /** Blocks of the files that the node already had. */
  readonly blocksKnown: number;
  /** The tip after the import; its hash in display order. */
  readonly height: number;
  readonly hash: string;
  readonly badBlock: BadBlock | null;
}

export interface ImportOptions {
  /** Stops the import between two blocks; connected blocks stay. */
  readonly signal: AbortSignal;
  readonly progress: (progress: ImportProgress) => void;
}
