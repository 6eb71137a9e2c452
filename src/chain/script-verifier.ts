import type { ScriptError } from '../script/script-error.ts';

/** The first input of a block, in block order, whose scripts fail. */
export interface ScriptFailure {
  /** Which of the added transactions. */
  readonly tx: number;
  readonly input: number;
  readonly error: ScriptError;
}

/** The script checks of one block. Checking begins while transactions are still being added. */
export interface ScriptChecks {
  /** `raw`: a transaction with witness. `spent`: its undo records, one an input. Both are copied, `wtxid` is not kept. */
  add(wtxid: Uint8Array, raw: Uint8Array, spent: Uint8Array, inputs: number): void;
  /** Resolves when every added input is judged; null when all are valid. Rejects when they cannot be judged. */
  finish(): Promise<ScriptFailure | null>;
  /** The block failed otherwise: what was not judged yet need not be. */
  cancel(): void;
}

/** Judges scripts somewhere else, so that the caller can go on with the next block. */
export interface ScriptVerifier {
  begin(flags: number): ScriptChecks;
}
