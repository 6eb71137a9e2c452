/** Figures that a proof measured, and the violations that it found. */
export interface ProofResult {
  /** Rows of the printed table: a name and its value. */
  readonly figures: readonly (readonly [name: string, value: string | number])[];
  /** One sentence per violation; empty if the proof holds. */
  readonly violations: readonly string[];
}

/**
 * A property of the whole node that takes too long to check for every change. A test runs it with a small count, and
 * `npm run proof -- NAME` with its whole count.
 */
export interface Proof {
  /** One line for the list of proofs, which names what is counted. */
  readonly help: string;
  /** Count of a complete run. */
  readonly count: number;
  /**
   * Repeats the same choices for the same seed. Rejects when the signal aborts. `progress` shows one line of a long run,
   * which is not part of the result. `chain` is a file with the blocks of a regtest chain, where the proof accepts one.
   */
  run(
    count: number,
    seed: number,
    signal: AbortSignal,
    progress?: (line: string) => void,
    chain?: string,
  ): Promise<ProofResult>;
  /** Whether the chain can be one of a file. */
  readonly acceptsChain?: boolean;
}

export type Proofs = Readonly<Record<string, Proof>>;
