import { join } from 'node:path';
import type { Config } from '../config/settings.ts';
import { readAddons } from '../crypto/addon-file.ts';
import { moveChainData, syncAgainAdvice } from '../storage/chain-folder.ts';
import { convertOnThread } from '../storage/convert-thread.ts';
import { chainIdentityOf } from '../storage/database.ts';
import { processLog } from '../util/process-log.ts';
import { paramsOfConfig } from './config-params.ts';
import type { ImportOptions, ImportResult } from './import-types.ts';
import { lockDirectory } from './lock.ts';
import { Node } from './node.ts';
import { storageProblem } from './storage-problem.ts';

/** Imports block files in this process, without peers and without an API. Throws OperatorError. */
export async function runImport(
  config: Config,
  files: readonly string[],
  options: ImportOptions,
): Promise<ImportResult> {
  // Files of the node hold keys, wallets and audit entries, so only this user may read them.
  process.umask(0o077);
  // A native library whose file has changed ends the import before any database opens.
  readAddons();
  const release = lockDirectory(config.networkDir);
  try {
    await convertChain(config, options.signal);
    // Wallets catch up at the next start of the node.
    const wallet = { ...config.wallet, enabled: false };
    const node = await Node.open({ ...config, wallet }, { log: processLog(config.log) });
    try {
      // Blocks are pruned when their statistics are made. The next start continues them.
      void node.indexBuilds.followCoinStats();
      return await node.import(files, options);
    } finally {
      await node.close();
    }
  } finally {
    release();
  }
}

/** Converts the database of an earlier version, which takes minutes and ends when the signal aborts. */
async function convertChain(config: Config, signal: AbortSignal): Promise<void> {
  const params = paramsOfConfig(config);
  const identity = chainIdentityOf(params);
  try {
    moveChainData(config.chainDir);
    await convertOnThread(join(config.chainDir, 'chain.db'), identity, { log: config.log, signal });
  } catch (error) {
    throw storageProblem(error, config.chainDir, syncAgainAdvice(config.chainDir));
  }
}
