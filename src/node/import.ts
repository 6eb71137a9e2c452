import type { Config } from '../config/schema.ts';
import { readAddons } from '../crypto/addon-file.ts';
import { stderrLog } from '../util/log.ts';
import type { ImportOptions, ImportResult } from './import-types.ts';
import { lockDirectory } from './lock.ts';
import { Node } from './node.ts';

/** Imports block files in this process, with nothing else running. Throws OperatorError. */
export async function runImport(
  config: Config,
  files: readonly string[],
  options: ImportOptions,
): Promise<ImportResult> {
  // What is made here is for this user alone: keys, wallets, and who asked what.
  process.umask(0o077);
  // Here, so that a changed library ends the import before anything is opened.
  readAddons();
  const release = lockDirectory(config.networkDir);
  try {
    // Wallets catch up when the node runs.
    const wallet = { ...config.wallet, enabled: false };
    const node = new Node({ ...config, wallet }, { log: stderrLog(config.log) });
    try {
      return await node.import(files, options);
    } finally {
      await node.close();
    }
  } finally {
    release();
  }
}
