import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/settings.ts';
import type { BackupReport } from '../storage/backup/create-backup.ts';
import { OperatorError } from '../util/operator-error.ts';
import { assertOwner } from './auth-access.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { requestNode } from './node-access.ts';
import { splitOwnFlags } from './own-flags.ts';
import { bytesText } from './status-screen.ts';

const DEFAULT_RATE = 100;
const MAX_RATE = 100_000;
/** A backup of the main chain takes hours. */
const REQUEST_MS = 7 * 24 * 3600 * 1000;

export const command: Command = {
  usage: 'backup DIR [--chain] [--rate MIB] [--json] [options]',
  description: `Writes a backup to the new directory DIR: wallets, API keys with the audit log, watches, webhooks, the node's own
database and the file of settings; with --chain also blocks, coins and indexes. A running node writes it itself and answers
clients meanwhile. Where no node runs, this command writes it.

The directory is named DIR.part until the backup is complete. The same command continues an interrupted backup. The files
hold keys and are readable for their owner alone. Files that settings name, such as TLS keys and wallet.passphraseFile, are
not part of it, and the command names those that are in use. obverse verify --backup DIR checks a backup, and obverse restore DIR restores it.

Exit status: 0 the backup is complete, 1 it is not, 2 the command line or the configuration is wrong.`,
  options: [
    ['--chain', 'back up blocks, coins and indexes as well'],
    ['--rate MIB', `most MiB that a running node reads in a second (default ${DEFAULT_RATE}, 0 = no limit)`],
    ['--json', 'print one JSON object'],
    ...COMMON_OPTIONS,
  ],
  examples: ['obverse backup /mnt/backups/2026-11-24', 'obverse backup /mnt/backups/chain --chain --rate 50'],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--chain': 'switch', '--rate': 'text', '--json': 'switch' });
    const { config, positionals } = loadConfig(rest);
    const [dir, surplus] = positionals;
    if (dir === undefined) throw new UsageError('backup needs a directory: obverse backup DIR');
    if (surplus !== undefined) throw new UsageError(`backup takes one directory: ${surplus}`);
    const rate = readRate(values.get('--rate')?.[0]);
    const target = resolve(dir);
    const withChain = values.has('--chain');
    const owner = statSync(config.networkDir, { throwIfNoEntry: false })?.uid;
    if (owner !== undefined) assertOwner(config.networkDir, owner, 'backup');
    process.umask(0o077);
    const { runBackup } = await import('../node/backup/run-backup.ts');
    const own = await runBackup(config, { target, withChain, signal });
    if (own === 'aborted') {
      err('obverse: backup interrupted; run it again to continue\n');
      return 1;
    }
    const report = own ?? (await requestBackup(config, { target, withChain, rate, signal }));
    out(values.has('--json') ? `${JSON.stringify(report)}\n` : `${summary(report)}\n`);
    // On stderr: the output has one line.
    for (const { setting, path } of report.omitted)
      err(`obverse: ${path} (${setting}) is not part of the backup: keep a copy of it elsewhere\n`);
    return 0;
  },
};

interface Asked {
  readonly target: string;
  readonly withChain: boolean;
  readonly rate: number;
  readonly signal: AbortSignal;
}

/** The running node writes the backup: it knows which files it is about to remove. */
async function requestBackup(config: Config, { target, withChain, rate, signal }: Asked): Promise<BackupReport> {
  const params = JSON.stringify([target, { chain: withChain, rate }]);
  const { status, text } = await requestNode(config, {
    path: '/',
    body: `{"jsonrpc":"2.0","id":1,"method":"backupnode","params":${params}}`,
    signal,
    timeoutMs: REQUEST_MS,
    prefersCookie: true,
  });
  let reply: { readonly result?: BackupReport; readonly error?: { readonly message: string } };
  try {
    reply = JSON.parse(text);
  } catch {
    throw new OperatorError(`the node answers with HTTP ${status}`);
  }
  if (reply.error) throw new OperatorError(reply.error.message);
  if (!reply.result) throw new OperatorError(`the node answers with HTTP ${status}`);
  return reply.result;
}

function summary({ path, tip, files, bytes, written }: BackupReport): string {
  const kept = bytes > written ? `, ${bytesText(bytes - written)} of them from the interrupted backup` : '';
  const chain = tip === null ? 'without the chain' : `with the chain up to height ${tip.height}, ${tip.hash}`;
  return `${path}: ${files} files, ${bytesText(bytes)}${kept}; ${chain}`;
}

function readRate(text: string | undefined): number {
  if (text === undefined) return DEFAULT_RATE;
  const rate = /^\d{1,6}$/.test(text) ? Number(text) : -1;
  if (rate < 0 || rate > MAX_RATE) throw new UsageError(`--rate is a number of MiB from 0 to ${MAX_RATE}, not ${text}`);
  return rate;
}
