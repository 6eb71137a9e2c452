import { resolve } from 'node:path';
import type { Finding } from '../chain/integrity/findings.ts';
import { loadConfig } from '../config/load.ts';
import type { BackupCheck } from '../node/backup/run-verify-backup.ts';
import type { StoreCounts } from '../node/integrity/check-stores.ts';
import type { DirectoryReport } from '../node/run-verify.ts';
import { downloadAgainAdvice } from '../storage/chain-folder.ts';
import { type Command, type CommandContext, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';
import { openProgress } from './progress-output.ts';

const LEVELS = ['quick', 'full'] as const;

export const command: Command = {
  usage: 'verify [--level LEVEL | --backup DIR] [--json] [options]',
  description: `Checks the data of a stopped node and names each damaged file, with the run and page, the row, or the offset and height of
the block. Nothing is changed. Beside the chain it checks wallets, whose coins must be those of the chain, API keys, the audit
log, watches and webhooks. With --backup it checks a backup instead: the size and SHA-256 of each file, and its databases.

The level quick checks the checksums of runs, undo data, blocks and filters, and the rows of the database against the
blocks. The level full also derives coins and indexes from the blocks and compares them with what is stored. Parts that
cannot be checked are named: those of pruned blocks, and those of blocks below a loaded UTXO set that is not validated yet.

Exit status: 0 no damage, 1 damage found or interrupted, 2 the data directory or the command line is wrong.`,
  options: [
    ['--level LEVEL', 'quick or full (default full)'],
    ['--backup DIR', 'check the backup in this directory, beside a running node as well'],
    ['--json', 'print one JSON object'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse verify',
    'obverse verify --level quick --json',
    'obverse verify --backup /mnt/backups/2026-11-24',
  ],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--level': 'text', '--backup': 'text', '--json': 'switch' });
    const given = values.get('--level')?.[0] ?? 'full';
    const level = LEVELS.find((name) => name === given);
    if (level === undefined) throw new UsageError(`--level is quick or full, not ${given}`);
    const { config, positionals } = loadConfig(rest);
    if (positionals.length > 0) throw new UsageError(`verify takes no argument: ${positionals[0]}`);
    const backup = values.get('--backup')?.[0];
    if (backup !== undefined) {
      if (values.has('--level')) throw new UsageError('--level does not go with --backup');
      return verifyBackup(resolve(backup), { isJson: values.has('--json'), signal }, { out, err });
    }
    const { runVerify } = await import('../node/run-verify.ts');
    const progress = openProgress(err);
    let report: DirectoryReport | null;
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
    if (report.chainTotal > 0) err(`obverse: damage found: ${remedy(report, config.chainDir)}\n`);
    if (report.total > report.chainTotal) err('obverse: damage beside the chain found: each line names the remedy\n');
    return report.total > 0 ? 1 : 0;
  },
};

/** A reindex needs all blocks. */
function remedy({ pruneHeight }: DirectoryReport, chainDir: string): string {
  return pruneHeight === null ? 'run obverse reindex' : downloadAgainAdvice(chainDir);
}

function linesOf({ level, height, hash, findings, total, limits, stores }: DirectoryReport): string[] {
  const lines = findings.map(findingLine);
  if (total > findings.length) lines.push(`and ${total - findings.length} more`);
  const tip = hash === null ? 'the tip cannot be read' : `tip at height ${height}, ${hash}`;
  lines.push(`${level} check: ${total === 0 ? 'no damage' : `${total} finding${total === 1 ? '' : 's'}`}; ${tip}`);
  return [...lines, countsLine(stores), ...limits];
}

/** Checks a backup; a running node does not use its files. */
async function verifyBackup(
  dir: string,
  { isJson, signal }: { readonly isJson: boolean; readonly signal: AbortSignal },
  { out, err }: Pick<CommandContext, 'out' | 'err'>,
): Promise<number> {
  const { runVerifyBackup } = await import('../node/backup/run-verify-backup.ts');
  let report: BackupCheck | 'aborted';
  try {
    report = await runVerifyBackup(dir, signal);
  } catch (error) {
    if (!(error instanceof Error && error.name === 'OperatorError')) throw error;
    err(`obverse: ${error.message}\n`);
    return 2;
  }
  if (report === 'aborted') {
    err('obverse: verify interrupted\n');
    return 1;
  }
  const { findings, total, manifest, stores } = report;
  const { network, version, createdAt, tip, files } = manifest;
  if (isJson)
    out(
      `${JSON.stringify({ clean: total === 0, network, version, createdAt, tip, ...report, manifest: undefined })}\n`,
    );
  else {
    for (const finding of findings) out(`${findingLine(finding)}\n`);
    const chain = tip === null ? 'without the chain' : `with the chain up to height ${tip.height}, ${tip.hash}`;
    const made = new Date(createdAt * 1000).toISOString().slice(0, 19).replace('T', ' ');
    out(
      `${total === 0 ? 'no damage' : `${total} finding${total === 1 ? '' : 's'}`}; ${files.length} files of ${network}, ${made}Z, ${chain}\n`,
    );
    out(`${countsLine(stores)}\n`);
  }
  if (total > 0) err('obverse: the backup is damaged: use another one\n');
  return total > 0 ? 1 : 0;
}

function countsLine({ wallets, keys, auditRows, watches, webhooks }: StoreCounts): string {
  const parts = [
    [wallets, 'wallet'],
    [keys, 'key'],
    [auditRows, 'row', ' of the audit log'],
    [watches, 'watch', '', 'watches'],
    [webhooks, 'webhook'],
  ] as const;
  return `checked beside the chain: ${parts
    .map(([count, word, more = '', plural = `${word}s`]) => `${count} ${count === 1 ? word : plural}${more}`)
    .join(', ')}`;
}

function findingLine({ file, part, height, problem }: Finding): string {
  return `${file}, ${part}${height === null ? '' : ` (height ${height})`}: ${problem}`;
}
