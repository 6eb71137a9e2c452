import type { ParsedBlock } from '../primitives/block.ts';
import type { ScriptError } from '../script/script-error.ts';

/** The first input of a block, in block order, whose scripts fail. */
export interface ScriptFailure {
  /** Index among the added transactions, which leave out the coinbase. */
  readonly tx: number;
  readonly input: number;
  readonly error: ScriptError;
}

/** The script checks of one block. They start while transactions are still being added. */
export interface ScriptChecks {
  /**
   * Adds the transaction with this index in the block. `spent` holds one undo record for each input, from `from` up to
   * before `to`. All is copied.
   */
  add(block: ParsedBlock, tx: number, spent: Uint8Array, from: number, to: number): void;
  /** Adds a transaction without a block, with one undo record for each input. `tx` is its index in a failure. */
  addTransaction(tx: number, raw: Uint8Array, spent: Uint8Array, inputs: number): void;
  /** Resolves to the first failure, or to null if all inputs are valid. Rejects when they cannot be checked. */
  finish(): Promise<ScriptFailure | null>;
  /** Drops the checks that have not run: the block is rejected for another reason. */
  cancel(): void;
}

/** Verifies scripts on other threads, so that the caller can connect the next block meanwhile. */
export interface ScriptVerifier {
  begin(flags: number): ScriptChecks;
}
