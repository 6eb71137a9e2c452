import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { dueMerge } from './merge-policy.ts';
import { writeMerged } from './merge-runs.ts';
import { Run } from './run.ts';
import type { RunBatch } from './run-batch.ts';
import { buildRun, type RunBuilder } from './run-builder.ts';
import { RunCursor } from './run-cursor.ts';
import type { RunFamily } from './run-family.ts';
import { runFolder } from './run-manifest.ts';
import { FileSource } from './run-source.ts';

interface ScratchRun {
  readonly path: string;
  readonly bytes: number;
  readonly run: Run;
}

/**
 * Runs of one job that no list names: changes to stored runs that do not fit memory. Their files lie among those of the
 * chain, so that a start after a crash removes them.
 */
export class ScratchRuns {
  readonly #dir: string;
  readonly #family: RunFamily;
  readonly #name = randomUUID();
  #count = 0;
  /** The oldest first. */
  #runs: ScratchRun[] = [];

  constructor(chainDir: string, family: RunFamily) {
    this.#dir = runFolder(chainDir);
    this.#family = family;
  }

  /** The runs, the youngest first. */
  get runs(): Run[] {
    return this.#runs.map(({ run }) => run).reverse();
  }

  /** Writes a batch as the youngest run, and empties it. Merges runs of similar size. Calls `onProgress` now and then. */
  addBatch(batch: RunBatch, onProgress: () => void): void {
    this.#runs.push(this.#write(batch.count, (builder) => batch.writeTo(builder)));
    batch.clear();
    const due = dueMerge(this.#runs.map(({ bytes }) => bytes));
    if (due === 0) return;
    const sources = this.#runs.slice(-due);
    const cursors = sources.map(({ run }) => {
      const cursor = new RunCursor(run, true);
      cursor.seekFirst();
      return cursor;
    });
    const expected = sources.reduce((sum, { run }) => sum + run.footer.entries, 0);
    const merged = this.#write(expected, (builder) => writeMerged(cursors, builder, false, onProgress));
    this.#runs.splice(-due, due, merged);
    for (const source of sources) remove(source);
  }

  close(): void {
    for (const run of this.#runs.splice(0)) remove(run);
  }

  #write(expected: number, add: (builder: RunBuilder) => void): ScratchRun {
    const id = ++this.#count;
    const path = join(this.#dir, `scratch-${this.#name}-${id}.run`);
    const { bytes } = buildRun(this.#family, id, path, expected, add);
    return { path, bytes, run: new Run(this.#family, new FileSource(path), false, id) };
  }
}

function remove({ path, run }: ScratchRun): void {
  run.close();
  rmSync(path, { force: true });
}
