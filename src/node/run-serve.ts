import { readApiKey } from '../config/api-key.ts';
import { choicesText } from '../config/setting.ts';
import type { Config } from '../config/settings.ts';
import { NETWORK_NAMES } from '../params/networks.ts';
import { chainNameOf } from '../params/signet.ts';
import { SinkServer } from '../serve/sink-server.ts';
import { TailDatabase, tailProblem } from '../serve/tail-database.ts';
import { aborted, sleep } from '../util/abort.ts';
import { VERSION } from '../util/build-version.ts';
import { raiseDescriptorLimit } from '../util/descriptors.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { keepMemoryPrivate } from '../util/private-memory.ts';
import { openLogFile, processLog } from '../util/process-log.ts';
import { serviceNotifier } from '../util/systemd.ts';
import { apiOptionsOf, readSourcesOf } from './api-options.ts';
import { paramsOfConfig } from './config-params.ts';
import { type DescriptorBudget, descriptorBudget } from './descriptor-budget.ts';

export interface ServeRun {
  /** URL of the database, which may hold a password. */
  readonly url: string;
  /** The settings; null where they do not name the network, which is then that of the database. */
  readonly config: Config | null;
  /** Returns the settings with another network. Throws ConfigError. */
  configOf(network: string): Config;
  readonly log: Config['log'];
  readonly signal: AbortSignal;
}

/** Time for which a start waits for the network of the database, milliseconds. */
const NETWORK_MS = 10_000;
const RETRY_MS = 250;

/**
 * Runs an API server without a node. Resolves after a clean stop, when the signal aborts. Throws OperatorError or ConfigError
 * where it cannot start or go on.
 */
export async function runServe({ url, config: given, configOf, log: logSettings, signal }: ServeRun): Promise<void> {
  // The log may go to a file.
  process.umask(0o077);
  const { file } = logSettings;
  const log = processLog(file === null ? logSettings : { ...logSettings, fd: openLogFile(file) });
  // The URL and the static key are in memory.
  keepMemoryPrivate();
  const config = given ?? (await configOfDatabase(url, configOf, signal));
  if (config === null) return;
  const staticKey = readApiKey(process.env);
  if (staticKey?.exposed) log.warn('the API key file is readable for other users', { file: staticKey.file });
  const params = paramsOfConfig(config);
  const service = serviceNotifier();
  const server = new SinkServer({
    ...{ url, params, log, network: chainNameOf(params), sources: readSourcesOf(config, params) },
    options: serverOptions(config, staticKey?.key ?? null, log),
    nodes: submitNodesOf(config),
  });
  const [address] = server.urls;
  log.info('listening', { version: VERSION, network: config.network, url: address, nodes: config.serve.nodes.length });
  const running = server.run(signal);
  const ready = async () => {
    const height = await Promise.race([server.live(), aborted(signal)]);
    if (height === undefined) return;
    const urls = server.urls.length > 1 ? { urls: server.urls } : {};
    log.info('ready', { version: VERSION, network: config.network, url: address, ...urls, height });
    service.ready();
  };
  try {
    await Promise.all([running, Promise.race([ready(), running])]);
  } finally {
    service.stopping();
  }
}

/** Returns the options of the API without what needs a node: HTTP Basic is for JSON-RPC alone. */
function serverOptions(config: Config, staticKey: string | null, log: Log): ReturnType<typeof apiOptionsOf> {
  const options = apiOptionsOf(config, staticKey, budgetOf(config, log));
  return { ...options, auth: { ...options.auth, basic: false, rpcUsers: [] } };
}

function budgetOf({ http }: Config, log: Log): DescriptorBudget | null {
  const raised = raiseDescriptorLimit();
  if (raised === null) return null;
  const budget = descriptorBudget(raised.limit, { peers: 0, http: http.limits.connections }, 0);
  if (budget.http < http.limits.connections)
    log.warn('fewer HTTP connections than http.limits.connections: the limit of open files is too low', {
      ...{ limit: budget.limit, wanted: http.limits.connections, connections: budget.http },
    });
  return budget;
}

/** One key is for all nodes, or there is one for each node in the same order. */
function submitNodesOf({ serve: { nodes, nodeKeys } }: Config) {
  if (nodeKeys.length > 1 && nodeKeys.length !== nodes.length)
    throw new OperatorError(
      `serve.nodeKeys: ${nodeKeys.length} keys for ${nodes.length} nodes: give one key for all, or one for each in the order of serve.nodes`,
      { isOfSettings: true },
    );
  return nodes.map((url, i) => ({ url, key: nodeKeys[nodeKeys.length > 1 ? i : 0] ?? null }));
}

/** Returns the settings for the network of the database; null if the signal aborts first. */
async function configOfDatabase(
  url: string,
  configOf: (network: string) => Config,
  signal: AbortSignal,
): Promise<Config | null> {
  const database = new TailDatabase(url, 'serve');
  const until = performance.now() + NETWORK_MS;
  try {
    while (!signal.aborted)
      try {
        const { network } = await database.readHead();
        const name = NETWORK_NAMES.find((each) => network === each || network.startsWith(`${each}-`));
        if (name !== undefined) return configOf(name);
        throw new OperatorError(
          `the database holds the chain of network ${network}, not of ${choicesText(NETWORK_NAMES)}`,
        );
      } catch (error) {
        if (error instanceof OperatorError || (error as Error).name === 'ConfigError') throw error;
        if (performance.now() > until)
          throw new OperatorError(
            `the network of the database cannot be read: ${tailProblem(error)}; with --network the server starts without it`,
          );
        await sleep(RETRY_MS, signal).catch(() => {});
      }
    return null;
  } finally {
    database.close();
  }
}
