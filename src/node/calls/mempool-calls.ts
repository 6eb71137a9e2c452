import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MempoolService } from '../../mempool/service.ts';
import type { ActionTable, MempoolActions, Refusal } from '../../port/node-actions.ts';
import { DecodeError } from '../../util/bytes.ts';
import { isFileName } from '../../util/file-name.ts';
import type { Log } from '../../util/log.ts';

const FAILED: Refusal = { refused: 'misc', message: 'Unable to import mempool file, see debug log for details.' };
const NO_NAME: Refusal = {
  refused: 'invalidParameter',
  message: "the name of a mempool file holds no path: it lies in the directory of backups or in the network's",
};

/** What the RPC interface may do to the mempool. */
export function mempoolActions(
  mempool: MempoolService,
  networkDir: string,
  { log, signal }: { readonly log: Log; readonly signal: AbortSignal },
): ActionTable<MempoolActions> {
  const dirs = [join(dirname(networkDir), 'backups'), networkDir];
  return {
    async importMempool(name, options) {
      if (!isFileName(name)) return NO_NAME;
      const path = dirs.map((dir) => join(dir, name)).find(isPlainFile);
      if (path === undefined) {
        log.warn('there is no such mempool file', { name, dirs });
        return FAILED;
      }
      try {
        log.info('mempool file imported', { path, ...(await mempool.import(path, options, signal)) });
        return null;
      } catch (error) {
        if (!signal.aborted && !(error instanceof DecodeError) && !isFileError(error)) throw error;
        log.warn('a mempool file cannot be imported', { path, error });
        return FAILED;
      }
    },
  };
}

/** Not a pipe, which might never end. */
function isPlainFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}

function isFileError(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code !== undefined;
}
