import type { Database } from 'bun:sqlite';
import { closeSync, fstatSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../primitives/hash.ts';
import { withDescriptors } from '../../util/descriptors.ts';
import { type RecordKind, recordFileName, recordFileNumbers } from '../block-files.ts';
import { RunManifest, runFileName, runFolder } from '../runs/run-manifest.ts';

/** A file of the chain, and the bytes of it that a copy of chain.db refers to. */
interface ChainFile {
  /** Relative to the folder of the chain. */
  readonly path: string;
  readonly bytes: number;
}

/** The files that a copy of chain.db refers to, and its tip. */
export interface ChainContent {
  readonly height: number;
  /** Display order. */
  readonly hash: string;
  readonly runs: readonly string[];
  readonly records: readonly ChainFile[];
}

/** Reads a copy of chain.db. Files may be longer than its rows say, as the node goes on to append to them. */
export function readChainContent(copy: Database, chainDir: string): ChainContent {
  const tip = copy
    .query<{ height: number; hash: Uint8Array }, []>(
      'SELECT c.height, h.hash FROM chain c JOIN headers h ON h.id = c.header_id ORDER BY c.height DESC LIMIT 1',
    )
    .get()!;
  const runs = new RunManifest(copy)
    .all()
    .filter(({ inTable }) => !inTable)
    .map(({ id, family }) => runFileName(id, family));
  return {
    height: tip.height,
    hash: hashToHex(tip.hash),
    runs,
    records: [
      ...recordFiles(copy, 'blk', 'SELECT file, max(offset + size) AS bytes FROM headers'),
      ...recordFiles(copy, 'rev', 'SELECT undo_file AS file, max(undo_offset + undo_size) AS bytes FROM headers'),
      ...filterFiles(copy, chainDir),
    ],
  };
}

function recordFiles(copy: Database, kind: RecordKind, select: string): ChainFile[] {
  return copy
    .query<{ file: number; bytes: number }, []>(`${select} GROUP BY 1 HAVING bytes IS NOT NULL ORDER BY 1`)
    .all()
    .map(({ file, bytes }) => ({ path: recordFileName('blocks', kind, file), bytes }));
}

/** The files of filters end where the table of facts says: filters without a row may precede that place. */
function filterFiles(copy: Database, chainDir: string): ChainFile[] {
  const facts = copy
    .query<{ key: string; value: number }, []>("SELECT key, value FROM meta WHERE key IN ('filterFile', 'filterEnd')")
    .all();
  const read = new Map(facts.map(({ key, value }) => [key, value]));
  const last = read.get('filterFile');
  if (last === undefined) return [];
  const folder = join(chainDir, 'filters');
  return recordFileNumbers(folder, 'flt')
    .filter((file) => file <= last)
    .map((file) => ({
      path: recordFileName('filters', 'flt', file),
      bytes: file === last ? (read.get('filterEnd') ?? 0) : Bun.file(recordFileName(folder, 'flt', file)).size,
    }));
}

/**
 * Files of runs that are kept open: the node removes a file a minute after it left the list, and the copy of chain.db may
 * take longer than that.
 */
export class HeldRuns {
  readonly #folder: string;
  readonly #open = new Map<string, number>();

  constructor(chainDir: string) {
    this.#folder = runFolder(chainDir);
  }

  /** Opens all files that are there now. */
  holdAll(): void {
    let names: string[];
    try {
      names = readdirSync(this.#folder);
    } catch {
      return;
    }
    for (const name of names) if (name.endsWith('.run')) this.#hold(name);
  }

  /** Returns the open file of a run with its length; null where it is gone. */
  find(name: string): { readonly fd: number; readonly bytes: number } | null {
    this.#hold(name);
    const fd = this.#open.get(name);
    return fd === undefined ? null : { fd, bytes: fstatSync(fd).size };
  }

  [Symbol.dispose](): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
  }

  #hold(name: string): void {
    if (this.#open.has(name)) return;
    try {
      this.#open.set(
        name,
        withDescriptors(() => openSync(join(this.#folder, name), 'r')),
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
}
