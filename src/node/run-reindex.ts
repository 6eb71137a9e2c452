import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import { readAddons } from '../crypto/addon-file.ts';
import { recordFileName, recordFileNumbers } from '../storage/block-files.ts';
import { openWriter } from '../storage/chain-database.ts';
import { downloadAgainAdvice, moveChainData, syncAgainAdvice } from '../storage/chain-folder.ts';
import { chainIdentityOf, closeDatabase, openReadOnly } from '../storage/database.ts';
import { dropIndexes } from '../storage/drop-indexes.ts';
import { HeaderStore } from '../storage/header-store.ts';
import { LoadedSetStore } from '../storage/loaded-set-store.ts';
import { MetaStore } from '../storage/meta-store.ts';
import { beginReindex, finishReindex, refuseUnfinishedReindex } from '../storage/reindex-folder.ts';
import { hostClock } from '../util/clock.ts';
import { OperatorError } from '../util/operator-error.ts';
import { processLog } from '../util/process-log.ts';
import { paramsOfConfig } from './config-params.ts';
import { lockDirectory } from './lock.ts';
import { Node } from './node.ts';
import { reindexBlocks } from './reindex/reindex-blocks.ts';
import type { ReindexOptions, ReindexResult } from './reindex/reindex-types.ts';
import { findGenesis, type RecordedBlocks, scanStoredBlocks } from './reindex/stored-blocks.ts';
import { storageProblem } from './storage-problem.ts';

const INDEX_REMOVAL_CACHE_MIB = 16;

/**
 * Builds database, runs, undo data and filters again from the block files of a stopped node. An interrupted reindex is
 * continued. Throws OperatorError.
 */
export async function runReindex(config: Config, options: ReindexOptions): Promise<ReindexResult> {
  // Files of the node hold keys, wallets and audit entries, so only this user may read them.
  process.umask(0o077);
  readAddons();
  const release = lockDirectory(config.networkDir);
  try {
    moveChainData(config.chainDir);
    const blocks = join(config.chainDir, 'blocks');
    const numbers = recordFileNumbers(blocks, 'blk');
    if (numbers.length === 0)
      throw new OperatorError(
        `${blocks} holds no block file: there is nothing to reindex; obverse start downloads the chain`,
      );
    refusePrunedBlocks(config.chainDir);
    const missing = numbers.findIndex((file, i) => file !== i);
    if (missing >= 0)
      throw new OperatorError(
        `${recordFileName(blocks, 'blk', missing)} is missing, as after pruning: the chain cannot be built again without its blocks: ${downloadAgainAdvice(config.chainDir)}`,
      );
    return await reindex(config, blocks, options);
  } catch (error) {
    throw storageProblem(error, config.chainDir, 'run obverse reindex --restart to begin again');
  } finally {
    release();
  }
}

async function reindex(config: Config, blocks: string, options: ReindexOptions): Promise<ReindexResult> {
  const log = processLog(config.log);
  const stored = await scanFiles(config, blocks, options);
  if (stored === null) throw new OperatorError('reindex interrupted before it began; nothing was changed');
  const dropped = loadedSetHeight(config.chainDir);
  if (dropped !== null)
    log.warn('the reindex drops the loaded UTXO set, which is not validated yet: load it again after the next start', {
      height: dropped,
    });
  const continued = beginReindex(config.chainDir, options.restart);
  log.info(continued ? 'an interrupted reindex is continued' : 'reindex begins', {
    blocks: stored.count,
    bytes: stored.bytes,
  });
  const reindexed = { genesis: findGenesis(blocks, paramsOfConfig(config), stored) };
  // Wallets catch up at the next start of the node.
  const node = await Node.open(
    { ...config, wallet: { ...config.wallet, enabled: false } },
    { log, reindex: reindexed },
  );
  let result: Omit<ReindexResult, 'continued'>;
  try {
    result = await reindexBlocks(node.chain, config.chainDir, stored, options, hostClock);
  } finally {
    await node.close();
  }
  if (!options.signal.aborted) finishReindex(config.chainDir);
  return { continued, ...result };
}

/** Returns the blocks of the files; null after an abort. Throws OperatorError if they hold none of this network. */
async function scanFiles(config: Config, blocks: string, { signal }: ReindexOptions): Promise<RecordedBlocks | null> {
  const params = paramsOfConfig(config);
  const scan = scanStoredBlocks(blocks, params);
  for (;;) {
    const { done, value } = scan.next();
    if (signal.aborted) return null;
    if (done) {
      if (value.count === 0) throw new OperatorError(`${blocks} holds no block of network ${params.name}`);
      return value;
    }
    await new Promise(setImmediate);
  }
}

/**
 * Removes the indexes of a stopped node, damaged ones among them, and keeps the coins. The next start builds them again in
 * the background. Throws OperatorError.
 */
export function runIndexRemoval(config: Config): void {
  process.umask(0o077);
  const release = lockDirectory(config.networkDir);
  const { chainDir } = config;
  const params = paramsOfConfig(config);
  const database = join(chainDir, 'chain.db');
  try {
    if (!existsSync(database)) throw new OperatorError(`${database} does not exist: there is nothing to reindex`);
    refuseUnfinishedReindex(chainDir);
    refusePrunedBlocks(chainDir);
    const db = openWriter(database, chainIdentityOf(params), INDEX_REMOVAL_CACHE_MIB);
    try {
      dropIndexes(db);
    } finally {
      closeDatabase(db);
    }
  } catch (error) {
    throw storageProblem(error, chainDir, syncAgainAdvice(chainDir));
  } finally {
    release();
  }
}

/** Returns the height of a loaded UTXO set that is not validated yet; null without one, and if it cannot be read. */
function loadedSetHeight(chainDir: string): number | null {
  return readDatabase(chainDir, (db) => {
    const set = new LoadedSetStore(db).get();
    return set && (new HeaderStore(db).byHash(set.base)?.height ?? null);
  });
}

function refusePrunedBlocks(chainDir: string): void {
  if (hasPrunedBlocks(chainDir))
    throw new OperatorError(
      `blocks of ${chainDir} have been pruned, and a reindex needs all of them: ${downloadAgainAdvice(chainDir)}`,
    );
}

/** Whether block files were removed: the database says so, or, where it cannot be read, the first file is missing. */
function hasPrunedBlocks(chainDir: string): boolean {
  const pruneHeight = readDatabase(chainDir, (db) => new MetaStore(db).get('pruneHeight') ?? 0);
  return pruneHeight === null ? recordFileNumbers(join(chainDir, 'blocks'), 'blk')[0] !== 0 : pruneHeight > 0;
}

/** Reads from the database of a chain; returns null if there is none, or if it cannot be read. */
function readDatabase<T>(chainDir: string, read: (db: Database) => T): T | null {
  const database = join(chainDir, 'chain.db');
  if (!existsSync(database)) return null;
  try {
    const db = openReadOnly(database, 1);
    try {
      return read(db);
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}
