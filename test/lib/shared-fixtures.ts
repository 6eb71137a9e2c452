import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory of the whole run, in which test processes leave what others can use; absent for a file run alone. */
const { TEST_FIXTURES: shared } = process.env;
let own: string | null = null;

function folder(): string {
  if (shared) return shared;
  if (own === null) {
    const made = mkdtempSync(join(tmpdir(), 'obverse-fixtures-'));
    own = made;
    process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  }
  return own;
}

/** Where a directory is that is made once a run or a process, and whether it is there. Nothing may write to it. */
export function sharedFixture(name: string): { readonly path: string; readonly isThere: boolean } {
  const path = join(folder(), name);
  return { path, isThere: existsSync(path) };
}

/** A new directory to make a fixture in. */
export function tempFixture(): string {
  return mkdtempSync(join(folder(), 'unfinished-'));
}

/** Moves a complete directory to the path of the fixture, unless another process was first. */
export function publishFixture(made: string, path: string): void {
  try {
    renameSync(made, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
    rmSync(made, { recursive: true });
  }
}
