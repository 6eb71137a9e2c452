import { DecodeError } from '../../util/bytes.ts';

/** Damage that a check has found. */
export interface Finding {
  /** Path of the file. */
  readonly file: string;
  /** The part of the file: a table with its row, a run with its page, or the offset of a record. */
  readonly part: string;
  /** Height of the block that is concerned; null if none is. */
  readonly height: number | null;
  readonly problem: string;
}

/** Findings that are kept; further ones are counted. */
const FINDINGS_KEPT = 200;

/** Collects what the checks find. */
export class Findings {
  readonly list: Finding[] = [];
  #total = 0;

  get total(): number {
    return this.#total;
  }

  addFinding(file: string, part: string, problem: string, height: number | null = null): void {
    this.#total++;
    if (this.list.length < FINDINGS_KEPT) this.list.push({ file, part, height, problem });
  }

  /** Runs a check; an error of reading becomes a finding. Returns null then. */
  attempt<T>(file: string, part: string, check: () => T, height: number | null = null): T | null {
    try {
      return check();
    } catch (error) {
      this.addFinding(file, part, readProblem(error), height);
      return null;
    }
  }
}

/** Returns what an error says about the data that was read. Other errors are thrown again. */
function readProblem(error: unknown): string {
  const { code, path, message, name } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return `${path} is missing`;
  if (code === 'EIO') return 'the device reports read errors';
  // Damaged numbers lead to reads, lengths and values that are not possible.
  if (error instanceof DecodeError || error instanceof RangeError || error instanceof TypeError) return message;
  if (name === 'SQLiteError' || name === 'SyntaxError') return message;
  throw error;
}
