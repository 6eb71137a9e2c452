import { ConfigError, type Loaded, loadConfig } from '../config/load.ts';
import { type Command, UsageError } from './command.ts';
import { COMMON_OPTIONS } from './help-text.ts';
import { refusePasswordInFlags, refuseSecretFlag } from './secret-flags.ts';

export const command: Command = {
  usage: 'serve [--from URL] [options]',
  description: `Runs an API server without a node until SIGINT or SIGTERM. It answers from the database that the sink of a node
fills (sink.postgres), and any number of servers may share one. It has no files of its own. docs/serve.md describes which
routes it serves. Keys are those of obverse key --database, and OBVERSE_API_KEY.

The URL of the database holds a password: give it by OBVERSE_SERVE_FROM, or as serve.from in a settings file. The network
is that of the database; with --network the server also starts while the database cannot be reached.`,
  options: [
    ['--from URL', 'database to answer from, without a password; the same as --serve.from'],
    ['--network NAME', 'network that the database must hold (default that of the database)'],
    ...COMMON_OPTIONS.filter(([flag]) => !/^--(?:datadir|network) /.test(flag)),
  ],
  examples: [
    'OBVERSE_SERVE_FROM=postgres://reader:secret@db/chain obverse serve --http.listen 0.0.0.0:8332',
    'obverse serve --config /etc/obverse/serve.toml',
  ],
  async run(args, { signal }) {
    // A server has nothing to reload, and does not end with its terminal.
    process.on('SIGHUP', () => {});
    const settings = args.map((arg) =>
      arg === '--from' || arg.startsWith('--from=') ? `--serve.${arg.slice(2)}` : arg,
    );
    const load = (network: string | null): Loaded => {
      const loaded = loadConfig(network === null ? settings : [...settings, `--network=${network}`]);
      refusePasswordInFlags(loaded, ['serve.from', 'sink.postgres']);
      refuseSecretFlag(loaded, 'serve.nodeKeys', 'keys');
      const [surplus] = loaded.positionals;
      if (surplus !== undefined) throw new UsageError(`serve takes no argument: ${surplus}`);
      return loaded;
    };
    const loaded = load(null);
    if (loaded.config.serve.from === null)
      throw new ConfigError([
        'serve.from: the URL of the database is missing: set OBVERSE_SERVE_FROM, or serve.from in the settings file',
      ]);
    const { runServe } = await import('../node/run-serve.ts');
    await runServe({
      url: loaded.config.serve.from,
      config: loaded.given.has('network') ? loaded.config : null,
      configOf: (network) => load(network).config,
      log: loaded.config.log,
      signal,
    });
    return 0;
  },
};
