import type { Finding } from '../chain/integrity/findings.ts';
import type { VerifyReport } from '../chain/integrity/verify-folder.ts';
import { loadConfig } from '../config/load.ts';
import { downloadAgainAdvice } from '../storage/chain-folder.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';
import { openProgress } from './progress-output.ts';

const LEVELS = ['quick', 'full'] as const;

export const command: Command = {
  usage: 'verify [--level LEVEL] [--json] [options]',
  description: `Checks the data of the chain and names each damaged file, with the run and page, the row, or the offset and height of
the block. Nothing is changed. The node must not be running on the same data directory.

The level quick checks the checksums of runs, undo data, blocks and filters, and the rows of the database against the
blocks. The level full also derives coins and indexes from the blocks and compares them with what is stored. Parts that
cannot be checked are named: those of pruned blocks, and those of blocks below a loaded UTXO set that is not validated yet.

Exit status: 0 no damage, 1 damage found or interrupted, 2 the data directory or the command line is wrong.`,
  options: [['--level LEVEL', 'quick or full (default full)'], ['--json', 'print one JSON object'], ...COMMON_OPTIONS],
  examples: ['obverse verify', 'obverse verify --level quick --json'],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--level': 'text', '--json': 'switch' });
    const given = values.get('--level')?.[0] ?? 'full';
    const level = LEVELS.find((name) => name === given);
    if (level === undefined) throw new UsageError(`--level is quick or full, not ${given}`);
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`verify takes no argument: ${positionals[0]}`);
    const { runVerify } = await import('../node/run-verify.ts');
    const progress = openProgress(err);
    let report: VerifyReport | null;
    try {
      report = await runVerify(config, { level, signal, progress: (at) => progress.update(at) });
    } catch (error) {
      if (!(error instanceof Error && error.name === 'OperatorError')) throw error;
      err(`obverse: ${error.message}\n`);
      return 2;
    } finally {
      progress.finish();
    }
    if (report === null) {
      err('obverse: verify interrupted\n');
      return 1;
    }
    if (values.has('--json')) out(`${JSON.stringify({ clean: report.total === 0, ...report })}\n`);
    else for (const line of linesOf(report)) out(`${line}\n`);
    if (report.total > 0) err(`obverse: damage found: ${remedy(report, config.chainDir)}\n`);
    return report.total > 0 ? 1 : 0;
  },
};

/** A reindex needs all blocks. */
function remedy({ pruneHeight }: VerifyReport, chainDir: string): string {
  return pruneHeight === null ? 'run obverse reindex' : downloadAgainAdvice(chainDir);
}

function linesOf({ level, height, hash, findings, total, limits }: VerifyReport): string[] {
  const lines = findings.map(findingLine);
  if (total > findings.length) lines.push(`and ${total - findings.length} more`);
  const tip = hash === null ? 'the tip cannot be read' : `tip at height ${height}, ${hash}`;
  lines.push(`${level} check: ${total === 0 ? 'no damage' : `${total} finding${total === 1 ? '' : 's'}`}; ${tip}`);
  return [...lines, ...limits];
}

function findingLine({ file, part, height, problem }: Finding): string {
  return `${file}, ${part}${height === null ? '' : ` (height ${height})`}: ${problem}`;
}
