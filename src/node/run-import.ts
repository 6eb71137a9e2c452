import type { Config } from '../config/settings.ts';
import { readAddons } from '../crypto/addon-file.ts';
import { stderrLog } from '../util/log.ts';
import type { ImportOptions, ImportResult } from './import-types.ts';
import { lockDirectory } from './lock.ts';
import { Node } from './node.ts';

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
    // Wallets catch up at the next start of the node.
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
