import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NetworkParams } from '../../params/network-params.ts';
import { chainNameOf } from '../../params/signet.ts';
import { parseBlock } from '../../primitives/block.ts';
import { hashToHex } from '../../primitives/hash.ts';
import { isUnspendable } from '../../script/templates.ts';
import { ChainReads } from '../../storage/chain-reads.ts';
import { SCHEMA_VERSION } from '../../storage/chain-schema.ts';
import { isOfChain, openReadOnly, readMeta } from '../../storage/database.ts';
import { HeaderStore } from '../../storage/header-store.ts';
import { INDEX_NAMES, type IndexName, IndexStore } from '../../storage/index-store.ts';
import { MetaStore } from '../../storage/meta-store.ts';
import { BACKGROUND_COINS, COINS, familyTitle, type RunFamily } from '../../storage/runs/run-family.ts';
import { ReaderRuns } from '../../storage/runs/run-lists.ts';
import { RunManifest } from '../../storage/runs/run-manifest.ts';
import { equalBytes } from '../../util/bytes.ts';
import { OperatorError } from '../../util/operator-error.ts';
import type { ChainEntry } from '../chain-entry.ts';
import { HeaderTree } from '../header-tree.ts';
import { checkBlocks, visitBlocks } from './check-blocks.ts';
import { checkCoinStats } from './check-coin-stats.ts';
import { checkCoinTotals, type ExpectedCoins } from './check-coin-totals.ts';
import { checkEvents } from './check-events.ts';
import { type CheckedHeaders, checkHeaders } from './check-headers.ts';
import { type CheckedLoadedSet, chainUpTo, checkLoadedSet } from './check-loaded-set.ts';
import { RowCheck } from './check-rows.ts';
import { checkRuns } from './check-runs.ts';
import { type Finding, Findings } from './findings.ts';

/** `quick`: checksums and rows of chain.db; `full`: also coins, indexes and filters against the blocks. */
export type VerifyLevel = 'quick' | 'full';

export interface VerifyReport {
  readonly level: VerifyLevel;
  /** Height of the tip, -1 if it cannot be read; and its hash in display order. */
  readonly height: number;
  readonly hash: string | null;
  readonly findings: readonly Finding[];
  /** Number of all findings, of which only the first are listed. */
  readonly total: number;
  /** Whether the coins of the active chain and the indexes were derived from the blocks and compared. */
  readonly rowsCompared: boolean;
  /** Lowest height from which on blocks have not been pruned; null if none has been. */
  readonly pruneHeight: number | null;
  /** The loaded UTXO set that is not validated yet, and how far the chain behind it is; null without one. */
  readonly loadedSet: { readonly height: number; readonly validatedHeight: number } | null;
  /** Sentences that say which parts could not be checked, and why. */
  readonly limits: readonly string[];
}

export interface VerifyProgress {
  readonly height: number;
  readonly bytes: number;
  readonly totalBytes: number;
}

const CACHE_MIB = 64;

/**
 * Checks the folder of a chain that no process uses, without changing it. Yields its progress. Throws OperatorError if
 * there is no chain of this network and schema.
 */
export function* verifyFolder(
  chainDir: string,
  params: NetworkParams,
  level: VerifyLevel,
): Generator<VerifyProgress, VerifyReport> {
  const database = join(chainDir, 'chain.db');
  const findings = new Findings();
  if (!existsSync(database)) throw new OperatorError(`${database} does not exist: there is nothing to verify`);
  const db = findings.attempt(database, 'the file', () => openReadOnly(database, CACHE_MIB));
  try {
    const verify = new FolderCheck(chainDir, params, level, findings);
    if (db !== null && verify.checkDatabase(db)) yield* verify.checkAll(db);
    const tip = verify.headers?.active.at(-1);
    return {
      level,
      height: tip?.height ?? -1,
      hash: tip === undefined ? null : hashToHex(tip.hash),
      findings: findings.list,
      total: findings.total,
      rowsCompared: verify.rowsCompared,
      pruneHeight: verify.pruneHeight,
      loadedSet: verify.loaded && {
        height: verify.loaded.base.height,
        validatedHeight: verify.loaded.tip.height,
      },
      limits: verify.limits,
    };
  } finally {
    db?.close();
  }
}

class FolderCheck {
  headers: CheckedHeaders | null = null;
  loaded: CheckedLoadedSet | null = null;
  pruneHeight: number | null = null;
  rowsCompared = false;
  readonly limits: string[] = [];
  readonly #chainDir: string;
  readonly #database: string;
  readonly #params: NetworkParams;
  readonly #full: boolean;
  readonly #findings: Findings;
  #bytes = 0;
  #totalBytes = 1;
  #height = 0;

  constructor(chainDir: string, params: NetworkParams, level: VerifyLevel, findings: Findings) {
    this.#chainDir = chainDir;
    this.#database = join(chainDir, 'chain.db');
    this.#params = params;
    this.#full = level === 'full';
    this.#findings = findings;
  }

  /** Checks the structure, the network and the schema of the database. Returns whether its rows can be read. */
  checkDatabase(db: Database): boolean {
    const network = chainNameOf(this.#params);
    const genesisHash = hashToHex(this.#params.consensus.genesisHash);
    return (
      this.#findings.attempt(this.#database, 'the file', () => {
        const rows = db.query<{ integrity_check: string }, []>('PRAGMA integrity_check(20)').all();
        for (const { integrity_check: problem } of rows)
          if (problem !== 'ok') this.#findings.addFinding(this.#database, 'the structure', problem);
        const meta = readMeta(db);
        if (!isOfChain(meta, { network, genesisHash }))
          this.#findings.addFinding(
            this.#database,
            'table meta',
            `it is of network ${meta.get('network')} with genesis ${meta.get('genesis')}`,
          );
        const schema = meta.get('schema');
        if (typeof schema === 'number' && schema > 0 && schema < SCHEMA_VERSION)
          throw new OperatorError(
            `${this.#database} has schema ${schema}, and this version verifies ${SCHEMA_VERSION}: start the node once`,
          );
        if (schema !== SCHEMA_VERSION)
          this.#findings.addFinding(this.#database, 'table meta, row schema', `${schema} is not ${SCHEMA_VERSION}`);
        return true;
      }) === true
    );
  }

  *checkAll(db: Database): Generator<VerifyProgress> {
    this.#totalBytes = this.#findings.attempt(this.#database, 'the tables', () => this.#sizes(db)) ?? 1;
    const onRead = (bytes: number) => void (this.#bytes += bytes);
    const nothing: CheckedHeaders = { tree: new HeaderTree(), byId: new Map(), active: [] };
    const headers = yield* this.#run(
      'table headers',
      checkHeaders(db, this.#database, this.#params, this.#findings),
      nothing,
    );
    this.headers = headers;
    const events = checkEvents(db, this.#chainDir, headers, this.#params, this.#findings);
    yield* this.#run('table events', events, undefined);
    this.#findings.attempt(this.#database, 'table indexes', () => this.#checkIndexes(db, headers));
    this.#findings.attempt(this.#database, 'table filters', () => this.#checkFilterEnd(db));
    this.loaded = this.#findings.attempt(this.#database, 'table loaded_set', () =>
      checkLoadedSet(db, this.#database, headers, this.#findings),
    );
    const pruned =
      this.#findings.attempt(this.#database, 'table meta', () => new MetaStore(db).get('pruneHeight')) ?? 0;
    this.pruneHeight = pruned > 0 ? pruned : null;
    const runsCheck = checkRuns(db, this.#chainDir, this.#full, this.#findings, onRead);
    yield* this.#run('table runs', runsCheck, undefined);
    const statsCheck = checkCoinStats(db, this.#database, headers.active, this.#params, this.#findings);
    yield* this.#run('table coin_stats', statsCheck, undefined);
    const intact = this.#findings.total === 0;
    if (intact) this.#findings.attempt(this.#database, 'table meta, row scriptSalt', () => this.#checkSalt(headers));
    const runs = new ReaderRuns(db, this.#chainDir);
    try {
      yield* this.#checkBlocks(db, headers, runs, this.#full && intact);
    } finally {
      runs.close();
    }
  }

  /** Checks the blocks, and with `compare` the rows that follow from them, which is possible if those can be read. */
  *#checkBlocks(db: Database, headers: CheckedHeaders, runs: ReaderRuns, compare: boolean): Generator<VerifyProgress> {
    const { loaded } = this;
    const compared = loaded === null ? headers.active : chainUpTo(loaded.tip);
    const coins = loaded === null ? COINS : BACKGROUND_COINS;
    const chain = { tree: headers.tree, tip: compared.at(-1), coins };
    const rows = compare ? new RowCheck(db, this.#chainDir, chain, this.#findings) : null;
    const blocks = checkBlocks({
      db,
      chainDir: this.#chainDir,
      params: this.#params,
      headers,
      findings: this.#findings,
      runs,
      loaded,
      compared,
      full: this.#full,
      visit: rows && ((block, undo, height) => rows.addBlock(block, undo, height)),
      onRead: (bytes) => void (this.#bytes += bytes),
    });
    const complete = yield* this.#run('the rows of blocks', blocks, false);
    const isCompared = rows !== null && complete;
    this.rowsCompared = isCompared && loaded === null;
    if (isCompared) yield* this.#compareRows(db, compared, rows, runs);
    if (compare) {
      const tip = headers.active.at(-1);
      const totals = tip === undefined ? null : new HeaderStore(db).totals(tip.height);
      if (!this.rowsCompared && totals !== null) yield* this.#checkCoins(runs, COINS, totals);
      if (!isCompared && loaded !== null) yield* this.#checkCoins(runs, BACKGROUND_COINS, loaded);
    }
    this.limits.push(...this.#limits(db, isCompared ? rows.indexes : null, compared.at(-1)));
  }

  *#checkCoins(runs: ReaderRuns, family: RunFamily, totals: ExpectedCoins): Generator<VerifyProgress> {
    const place = [join(this.#chainDir, 'runs'), `family ${familyTitle(family)}`] as const;
    yield* this.#run('the runs', checkCoinTotals(runs.runsOf(family), totals, place, this.#findings), undefined);
  }

  *#compareRows(
    db: Database,
    compared: readonly ChainEntry[],
    rows: RowCheck,
    runs: ReaderRuns,
  ): Generator<VerifyProgress> {
    yield* this.#run('the runs', rows.addStored(runs), undefined);
    if (rows.prepareSecondPass()) return;
    const visit = visitBlocks({ db, chainDir: this.#chainDir, compared }, (block, undo, height) =>
      rows.addBlock(block, undo, height),
    );
    yield* this.#run('the rows of blocks', visit, undefined);
    yield* this.#run('the runs', rows.addStored(runs), undefined);
    rows.report();
  }

  /** Returns sentences that say what was not checked. `indexes`: those that were compared; null if nothing was. */
  #limits(db: Database, indexes: ReadonlySet<IndexName> | null, tip: ChainEntry | undefined): string[] {
    const { loaded, pruneHeight } = this;
    const limits: string[] = [];
    if (pruneHeight !== null)
      limits.push(`blocks below height ${pruneHeight} are pruned: they and their undo data cannot be checked`);
    if (loaded !== null) {
      const { base, validatedHeight } = loaded;
      limits.push(
        `the loaded UTXO set of height ${base.height} is not validated yet: the blocks above height ${validatedHeight} up to it may be missing`,
      );
    }
    if (!this.#full) return limits;
    const byTotals = 'only their checksums and order, and the number and value of the coins, were checked';
    if (indexes === null)
      limits.push(
        pruneHeight !== null && this.#findings.total === 0
          ? `coins and indexes cannot be compared with pruned blocks: ${byTotals}`
          : 'coins and indexes were not compared with the blocks, since other data is damaged',
      );
    else if (loaded !== null)
      limits.push(
        `the coins of the validated chain were compared with its blocks; those of the loaded set cannot be: ${byTotals}`,
      );
    const store = new IndexStore(db);
    for (const name of indexes === null ? [] : INDEX_NAMES) {
      const covered = store.covered(name);
      // The positions are compared with each block.
      if (name === 'positions' || covered === null || indexes!.has(name)) continue;
      if (name === 'coinStats') {
        limits.push(
          'the index coinStats was compared with the totals of the chain: its hashes were not computed again',
        );
        continue;
      }
      limits.push(
        `the index ${name} ends at height ${covered.height}, not at ${tip?.height ?? -1}: it was not compared with the blocks`,
      );
    }
    return limits;
  }

  #checkIndexes(db: Database, { tree }: CheckedHeaders): void {
    const rows = db.query<{ name: string; hash: Uint8Array; height: number }, []>(
      'SELECT name, hash, height FROM indexes',
    );
    for (const { name, hash, height } of rows.all())
      if (!(INDEX_NAMES as readonly string[]).includes(name) || tree.findEntry(hash)?.height !== height)
        this.#findings.addFinding(this.#database, `table indexes, row ${name}`, 'its block is not known');
  }

  /** A start truncates the filter files where the database says that they end. */
  #checkFilterEnd(db: Database): void {
    const meta = new MetaStore(db);
    const last = db
      .query<{ file: number; length: number }, []>(
        'SELECT file, offset + size AS length FROM filters ORDER BY file DESC, offset DESC LIMIT 1',
      )
      .get();
    const { file, length } = last ?? { file: meta.get('filterFile') ?? 0, length: meta.get('filterEnd') ?? 0 };
    for (const [key, expected] of [
      ['filterFile', file],
      ['filterEnd', length],
    ] as const)
      if ((meta.get(key) ?? 0) !== expected)
        this.#findings.addFinding(this.#database, `table meta, row ${key}`, `${meta.get(key)} is not ${expected}`);
  }

  /** The salt of the address index has no checksum: with another one, scripts of the chain have no history. */
  #checkSalt({ active }: CheckedHeaders): void {
    const reads = new ChainReads(this.#chainDir);
    try {
      const tip = active.at(-1)!;
      const covered = reads.indexes.covered('address');
      const first = reads.headers.byHeight(1);
      if (covered === null || !equalBytes(covered.hash, tip.hash) || first?.body == null) return;
      const [coinbase] = parseBlock(reads.rawBlock(first)!).txs;
      for (const { scriptPubKey } of coinbase!.tx.outputs)
        if (!isUnspendable(scriptPubKey) && reads.scripts.totals(scriptPubKey) === null)
          this.#findings.addFinding(
            this.#database,
            'table meta, row scriptSalt',
            'the address index has no row of the script of the first block',
          );
    } finally {
      reads.close();
    }
  }

  #sizes(db: Database): number {
    const runs = new RunManifest(db).all().reduce((sum, { bytes }) => sum + bytes, 0);
    const row = db
      .query<{ bytes: number | null }, []>(
        'SELECT sum(coalesce(size, 0) + coalesce(undo_size, 0)) AS bytes FROM headers',
      )
      .get();
    return runs + (row?.bytes ?? 0) + 1;
  }

  /** Runs a check; an error of reading that ends it becomes a finding, and the result is `fallback`. */
  *#run<T>(part: string, check: Generator<number | undefined, T>, fallback: T): Generator<VerifyProgress, T> {
    for (;;) {
      const step = this.#findings.attempt(this.#database, part, () => check.next());
      if (step === null) return fallback;
      if (step.done) return step.value;
      if (step.value !== undefined) this.#height = step.value;
      yield this.#progress();
    }
  }

  #progress(): VerifyProgress {
    return {
      height: this.#height,
      bytes: Math.min(this.#bytes, this.#totalBytes),
      totalBytes: this.#totalBytes,
    };
  }
}
