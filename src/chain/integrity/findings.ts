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

/** Findings of one file and in all that are kept, so that each damaged file is named; further ones are counted. */
const KEPT_PER_FILE = 50;
const FINDINGS_KEPT = 1000;

/** Collects what the checks find. */
export class Findings {
  readonly list: Finding[] = [];
  readonly #perFile = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  addFinding(file: string, part: string, problem: string, height: number | null = null): void {
    this.#total++;
    const count = this.#perFile.get(file) ?? 0;
    if (count >= KEPT_PER_FILE || this.list.length >= FINDINGS_KEPT) return;
    this.#perFile.set(file, count + 1);
    this.list.push({ file, part, height, problem });
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
