import { loadConfig } from '../config/load.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { assertReadable } from './import-command.ts';
import { syncBar, syncScreen } from './sync-bar.ts';

export const command: Command = {
  usage: 'start [options]',
  description: `Runs the node until SIGINT or SIGTERM. It then accepts no more requests, flushes its caches and exits.
A second signal makes it exit within five seconds.`,
  options: [
    ...COMMON_OPTIONS,
    ['--dev', 'developer mode, on regtest: the node mines blocks by itself'],
    ['--import FILE', 'import a block file first; may be repeated'],
  ],
  examples: [
    'obverse start --network regtest --dev',
    'obverse start --config /etc/obverse/obverse.toml',
    'OBVERSE_NETWORK=signet obverse start --log.level debug',
  ],
  async run(args, { signal, out, err }) {
    // By default SIGHUP would end the node when a terminal closes or an operator asks for a reload.
    process.on('SIGHUP', () => {});
    const { config, positionals } = loadConfig(args);
    if (positionals.length > 0) throw new UsageError(`start takes no argument: ${positionals[0]}`);
    for (const file of config.import.files) assertReadable(file, { isOfSettings: true });
    const { runNode } = await import('../node/run-node.ts');
    // A bar would replace the lines of progress, which belong to the file.
    const screen = config.log.file === null ? syncScreen({ out, err }, config.log.format) : null;
    await runNode(config, {
      signal,
      display: screen && syncBar(screen),
      readSettings: () => loadConfig(args).config,
    });
    return 0;
  },
};
