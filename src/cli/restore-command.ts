import { resolve } from 'node:path';
import { loadConfig } from '../config/load.ts';
import type { RestoreReport } from '../storage/backup/restore-backup.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { splitOwnFlags } from './own-flags.ts';
import { bytesText } from './status-screen.ts';

export const command: Command = {
  usage: 'restore DIR [--into DATADIR] [--json] [options]',
  description: `Restores the backup in the directory DIR into an empty data directory, after all of its files were compared with
their checksums. Where the backup holds no chain, the data directory may have one, which it keeps; otherwise the node
downloads the chain again, and wallets find their history as the blocks arrive. Run it as the user of the node.

The same command continues an interrupted restore, and the node does not start before it is complete. The settings of the
backup become the file restored-settings.toml beside the data; no command reads them by themselves.

Exit status: 0 restored, 1 not restored, 2 the command line or the configuration is wrong.`,
  options: [
    ['--into DATADIR', 'data directory to restore into (default that of the settings)'],
    ['--json', 'print one JSON object'],
    ...COMMON_OPTIONS,
  ],
  examples: [
    'obverse restore /mnt/backups/2026-11-24',
    'obverse restore /mnt/backups/chain --into /srv/obverse --network regtest',
  ],
  async run(args, { signal, out, err }) {
    const { values, rest } = splitOwnFlags(args, { '--into': 'text', '--json': 'switch' });
    const into = values.get('--into')?.[0];
    const { config, positionals } = loadConfig(into === undefined ? rest : [...rest, `--datadir=${resolve(into)}`]);
    const [dir, surplus] = positionals;
    if (dir === undefined) throw new UsageError('restore needs the directory of a backup: obverse restore DIR');
    if (surplus !== undefined) throw new UsageError(`restore takes one directory: ${surplus}`);
    process.umask(0o077);
    const { runRestore } = await import('../node/backup/run-restore.ts');
    const report = await runRestore(config, resolve(dir), signal);
    if (report === 'aborted') {
      err('obverse: restore interrupted; run it again to continue\n');
      return 1;
    }
    if (values.has('--json')) out(`${JSON.stringify(report)}\n`);
    else for (const line of linesOf(report)) out(`${line}\n`);
    return 0;
  },
};

function linesOf({ networkDir, files, bytes, tip, keepsChain, settings, walletsElsewhere }: RestoreReport): string[] {
  const chain =
    tip !== null
      ? `the chain is at height ${tip.height}, ${tip.hash}`
      : keepsChain
        ? 'the chain of the directory is kept'
        : 'the node downloads the chain after its start';
  return [
    `${networkDir}: ${files} files, ${bytesText(bytes)} restored; ${chain}`,
    ...(settings === null ? [] : [`settings of the backup: ${settings}`]),
    ...walletsElsewhere.map(({ was, path }) => `a wallet from another place: move ${path} to ${was} before the start`),
  ];
}
