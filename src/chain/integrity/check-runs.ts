import type { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { Run } from '../../storage/runs/run.ts';
import { FilterKey } from '../../storage/runs/run-filter.ts';
import { compareKeys, EntrySums, PAGE_SUMS_AT } from '../../storage/runs/run-format.ts';
import { openRun } from '../../storage/runs/run-lists.ts';
import { RunManifest, type RunRecord, runFileName, runFolder } from '../../storage/runs/run-manifest.ts';
import { DecodedPage } from '../../storage/runs/run-page.ts';
import type { Findings } from './findings.ts';

const PAGES_AT_ONCE = 256;

/** Called with the number of bytes that were read. */
export type ReadNotice = (bytes: number) => void;

/**
 * Checks all runs of the list: their parts by checksums; with `full` also the order and sums of their entries, and that
 * the filter holds each key. Yields between slices of work.
 */
export function* checkRuns(
  db: Database,
  chainDir: string,
  full: boolean,
  findings: Findings,
  onRead: ReadNotice,
): Generator<undefined> {
  const database = join(chainDir, 'chain.db');
  const manifest = new RunManifest(db);
  const records = findings.attempt(database, 'table runs', () => manifest.all()) ?? [];
  const ages = new Set<string>();
  for (const record of records) {
    const { id, family, age, entries, bytes } = record;
    const part = `run ${family.name} ${id}`;
    const file = record.inTable ? database : join(runFolder(chainDir), runFileName(id, family));
    if (age < 1 || ages.has(`${family.code} ${age}`))
      findings.addFinding(database, `table runs, row ${id}`, `age ${age} is below 1 or that of another run`);
    ages.add(`${family.code} ${age}`);
    const run = findings.attempt(file, part, () => openRun(chainDir, record, manifest, true));
    yield;
    if (run === null) continue;
    try {
      if (run.footer.entries !== entries || run.source.size !== bytes)
        findings.addFinding(
          database,
          `table runs, row ${id}`,
          'the numbers of entries and bytes are not those of the run',
        );
      yield* checkPages(run, record, file, part, full, findings);
    } finally {
      run.close();
    }
    onRead(bytes);
  }
}

function* checkPages(
  run: Run,
  { family }: RunRecord,
  file: string,
  part: string,
  full: boolean,
  findings: Findings,
): Generator<undefined> {
  const content = full ? new ContentCheck(run) : null;
  const buffer = new Uint8Array(PAGES_AT_ONCE * 4096);
  for (let number = 0; number < run.pages; number += PAGES_AT_ONCE) {
    const pages = findings.attempt(file, part, () => run.readPages(number, PAGES_AT_ONCE, buffer));
    for (const [i, page] of (pages ?? []).entries()) {
      const at = number + i;
      const intact = findings.attempt(file, `${part}, page ${at}`, () => {
        run.verifyPage(at, page);
        return true;
      });
      if (intact === null) content?.skip();
      const problem = intact === null ? null : (content?.addPage(at, page) ?? null);
      if (problem !== null) findings.addFinding(file, `${part}, page ${at}`, problem);
    }
    yield;
  }
  const problem = content?.finish() ?? null;
  if (problem !== null) findings.addFinding(file, `${part} of ${family.name}`, problem);
}

/** Checks the entries of a run, page by page. */
class ContentCheck {
  readonly #run: Run;
  readonly #decoded = new DecodedPage();
  readonly #sums = new EntrySums();
  readonly #stored = new EntrySums();
  readonly #last: Uint8Array;
  #entries = 0;
  #broken = false;
  readonly #filterKey = new FilterKey();

  constructor(run: Run) {
    this.#run = run;
    this.#last = new Uint8Array(run.family.keySize);
  }

  /** Returns what is wrong with a page whose checksum is right; null if nothing is. */
  addPage(number: number, page: Uint8Array): string | null {
    if (this.#broken) return null;
    const { family } = this.#run;
    const { keySize, filterSize } = family;
    const decoded = this.#decoded;
    decoded.decode(family, page);
    this.#stored.load(new DataView(page.buffer, page.byteOffset, page.length), PAGE_SUMS_AT);
    if (!sameSums(this.#stored, this.#sums)) return this.#fail('its sums are not those of the entries before');
    for (let n = 0; n < decoded.count; n++) {
      const keyAt = n * keySize;
      // A removal and an addition of one key follow each other.
      if (this.#entries > 0 && compareKeys(decoded.keys, keyAt, this.#last, 0, keySize) < 0)
        return this.#fail('its keys are not in order');
      this.#last.set(decoded.keys.subarray(keyAt, keyAt + keySize));
      if (filterSize > 0 && !this.#run.mayHold(this.#filterKey.load(this.#last, 0)))
        return this.#fail('the filter lacks one of its keys');
      if (n === 0 && this.#run.lastPageUpTo(this.#last) !== number)
        return this.#fail('the index leads to another page');
      this.#sums.addEntry(family, decoded.removed[n] === 1, decoded.bytes, decoded.from[n]!);
      this.#entries++;
    }
    return null;
  }

  /** Ends the check, since sums and order of what follows a damaged page are not known. */
  skip(): void {
    this.#broken = true;
  }

  /** Returns what is wrong with the run as a whole; null if nothing is. */
  finish(): string | null {
    if (this.#broken) return null;
    if (this.#entries !== this.#run.footer.entries || !sameSums(this.#sums, this.#run.footer.sums))
      return 'number or sums of its entries differ from its footer';
    return null;
  }

  #fail(problem: string): string {
    this.#broken = true;
    return problem;
  }
}

function sameSums(a: EntrySums, b: EntrySums): boolean {
  return (['count', 'first', 'second'] as const).every(
    (key) => a[key].low === b[key].low && a[key].high === b[key].high,
  );
}
