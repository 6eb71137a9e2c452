import { loadConfig } from '../config/load.ts';
import type { ReindexResult } from '../node/reindex/reindex-types.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';
import { openProgress } from './progress-output.ts';

export const command: Command = {
  usage: 'reindex [--restart | --indexes] [options]',
  description: `Builds the database of the chain, its indexes, undo data and filters again from the block files, with the same
validation as for blocks of peers, then stops. Block files are read where they are and stay as they are; wallets, keys and
watches are not touched. The node must not be running on the same data directory. A block that is damaged in its file is
skipped and named; the node downloads it after its next start.

An interrupted reindex is continued by the same command, and the node does not start before it is complete.

With --indexes only the indexes are removed, and the running node builds them again in the background.`,
  options: [
    ['--restart', 'begin again instead of continuing an interrupted reindex'],
    ['--indexes', 'build only the indexes again, in the background after the next start'],
    ...COMMON_OPTIONS,
  ],
  examples: ['obverse reindex', 'obverse reindex --network regtest --datadir /tmp/obverse'],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--restart': 'switch', '--indexes': 'switch' });
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`reindex takes no argument: ${positionals[0]}`);
    if (values.has('--indexes') && values.has('--restart'))
      throw new UsageError('--restart does not go with --indexes');
    const { runIndexRemoval, runReindex } = await import('../node/run-reindex.ts');
    if (values.has('--indexes')) {
      runIndexRemoval(config);
      out('indexes removed; the node builds them again in the background after its next start\n');
      return 0;
    }
    const progress = openProgress(err);
    let result: ReindexResult;
    try {
      result = await runReindex(config, {
        restart: values.has('--restart'),
        signal,
        progress: (at) => progress.update(at),
      });
    } finally {
      progress.finish();
    }
    out(`${summary(result)}\n`);
    for (const line of losses(result)) err(`obverse: ${line}\n`);
    if (signal.aborted) err('obverse: reindex interrupted; run it again to continue\n');
    return signal.aborted ? 1 : 0;
  },
};

function summary({ blocksConnected, blocksKnown, height, hash }: ReindexResult): string {
  const known = blocksKnown > 0 ? `, ${blocksKnown} known from the interrupted reindex` : '';
  return `${blocksConnected} block${blocksConnected === 1 ? '' : 's'} connected${known}; tip at height ${height}, ${hash}`;
}

function losses({ damaged, unreadable, withoutParent, height, headers }: ReindexResult): string[] {
  const lines = damaged.map(({ file, offset, hash, height: at, reason }) => {
    const place = at === null ? '' : ` of height ${at}`;
    return `${file}, offset ${offset}: block ${hash}${place} skipped: ${reason}`;
  });
  for (const { file, offset, bytes } of unreadable)
    lines.push(`${file}, offset ${offset}: ${bytes} bytes are no block`);
  if (withoutParent > 0) lines.push(`${withoutParent} blocks skipped: their ancestors are in none of the files`);
  if (lines.length > 0 && headers > height)
    lines.push(`blocks after height ${height} follow when the node has downloaded what is missing`);
  return lines;
}
