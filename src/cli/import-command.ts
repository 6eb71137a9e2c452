import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { ImportResult } from '../node/import-types.ts';
import { OperatorError } from '../util/operator-error.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { openProgress } from './progress-output.ts';

export const command: Command = {
  usage: 'import FILE… [options]',
  description: `Connects the blocks of block files (blkNNNNN.dat of Bitcoin Core, or bootstrap.dat) in the order given,
with the same validation as for blocks of peers, then stops. Known blocks are skipped. The node must not be running on
the same data directory; obverse start --import FILE imports the files and then runs the node.`,
  options: COMMON_OPTIONS,
  examples: [
    'obverse import ~/.bitcoin/blocks/blk*.dat',
    'obverse import --network regtest --datadir /tmp/obverse chain.dat',
  ],
  async run(args, { signal, out, err }) {
    const { config, positionals } = loadConfig(args);
    const files = [...config.import.files, ...positionals.map((file) => resolve(file))];
    if (files.length === 0) throw new UsageError('import needs at least one file');
    for (const file of files) assertReadable(file);

    const { runImport } = await import('../node/run-import.ts');
    const progress = openProgress(err);
    let result: ImportResult;
    try {
      result = await runImport(config, files, { signal, progress: (at) => progress.update(at) });
    } finally {
      progress.finish();
    }
    out(`${summary(result)}\n`);
    const { badBlock } = result;
    if (badBlock)
      err(`obverse: ${badBlock.file}, offset ${badBlock.offset}: block ${badBlock.hash} refused: ${badBlock.reason}\n`);
    else if (signal.aborted) err('obverse: import interrupted; run it again to continue\n');
    return badBlock || signal.aborted ? 1 : 0;
  },
};

function summary({ blocksConnected, blocksKnown, height, hash }: ImportResult): string {
  const known = blocksKnown > 0 ? `, ${blocksKnown} known before` : '';
  return `${blocksConnected} block${blocksConnected === 1 ? '' : 's'} connected${known}; tip at height ${height}, ${hash}`;
}

const READ_PROBLEMS: Readonly<Record<string, string>> = { ENOENT: 'no such file', EACCES: 'permission denied' };

/**
 * Throws OperatorError when the file cannot be read; `isOfSettings` if a setting names it. It runs before any database
 * opens, so that a mistyped name costs nothing.
 */
export function assertReadable(file: string, { isOfSettings = false } = {}): void {
  let isFile: boolean;
  try {
    isFile = statSync(file).isFile();
    accessSync(file, constants.R_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new OperatorError(`cannot read ${file}: ${READ_PROBLEMS[code ?? ''] ?? code}`, { isOfSettings });
  }
  if (!isFile) throw new OperatorError(`cannot read ${file}: not a file`, { isOfSettings });
}
