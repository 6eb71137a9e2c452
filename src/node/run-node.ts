import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ApiKey, readApiKey } from '../config/api-key.ts';
import type { Config } from '../config/settings.ts';
import { readAddons } from '../crypto/addon-file.ts';
import { liveOptionsOf, type TlsPair } from '../http/live-options.ts';
import type { ListenAddress } from '../http/options.ts';
import { slicePauses } from '../http/slice-pauses.ts';
import { type EntryColumns, reservedColumns } from '../mempool/entry-columns.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { restRoutes } from '../rest/rest-routes.ts';
import { rpcRoutes } from '../rpc/rpc-routes.ts';
import { sandboxAddresses } from '../sandbox/accounts.ts';
import { welcome } from '../sandbox/welcome.ts';
import { type ApiServer, startApi } from '../server/server.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import { aborted } from '../util/abort.ts';
import { VERSION } from '../util/build-version.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { reserveDescriptors } from '../util/descriptors.ts';
import type { Log } from '../util/log.ts';
import type { CategoryLevels } from '../util/log-levels.ts';
import { OperatorError } from '../util/operator-error.ts';
import { keepMemoryPrivate } from '../util/private-memory.ts';
import { openLogFile, processLog } from '../util/process-log.ts';
import { serviceNotifier } from '../util/systemd.ts';
import { shortenTimeSlice } from '../util/time-slice.ts';
import { acceptHold, threads } from '../util/worker.ts';
import { apiOptionsOf, readSourcesOf } from './api-options.ts';
import { NodeClient } from './client.ts';
import { paramsOfConfig } from './config-params.ts';
import { type DescriptorBudget, withinDescriptors } from './descriptor-budget.ts';
import { warnOfExposedDirectories } from './exposed-directory.ts';
import { collectGarbage } from './first-collection.ts';
import { FrontThreads } from './front-threads.ts';
import { lockDirectory, removeLockedDirectory } from './lock.ts';
import { NotifyCommands } from './notify-commands.ts';
import { PeerlessWatch } from './peerless-watch.ts';
import { relayOptionsOf } from './relay-settings.ts';
import { SettingsReload } from './reload.ts';
import { ServiceState } from './service-state.ts';
import { type SyncDisplay, SyncReport } from './sync-report.ts';
import { readTlsFiles } from './tls-files.ts';
import { checkWalletDirectories } from './wallet-directories.ts';
import { Watchdog } from './watchdog.ts';

/** Enough for a thread, a wallet's files, and the cookie. */
const FRONT_RESERVE = 24;
/** Runs within one process; a disk that is full again and again ends it. */
const MAX_RUNS = 100;

/**
 * The running program: the listener first, so that liveness is answered whatever follows, then the node on its thread.
 * Resolves after a clean stop, when the signal aborts. Throws OperatorError where it cannot start or go on.
 */
export async function runNode(given: Config, options: RunOptions): Promise<void> {
  // Files of the node hold keys, wallets and audit entries, so only this user may read them.
  process.umask(0o077);
  const wanted = withLogFile(given);
  const log = processLog(wanted.log);
  protectMemory(log);
  // A native library whose file has changed ends the start before any database opens.
  readAddons();
  let isReloaded = false;
  let addresses: readonly ListenAddress[] | null = null;
  const onListening = (bound: readonly ListenAddress[]) => (addresses = bound);
  // Between two runs the signal must not end the process.
  const hungUp = () => (isReloaded = true);
  process.on('SIGHUP', hungUp);
  try {
    for (let runs = 1; ; runs++)
      try {
        return await runOnce(wanted, { ...options, log, startsAgain: runs > 1, isReloaded, addresses, onListening });
      } catch (error) {
        // A service manager limits further starts.
        if (!(error instanceof OperatorError) || !error.startsAgain || runs === MAX_RUNS) throw error;
        if (options.signal.aborted) return;
        log.info('the node starts again within its process', { reason: error.message });
      }
  } finally {
    process.off('SIGHUP', hungUp);
  }
}

interface RunOptions {
  readonly signal: AbortSignal;
  readonly display?: SyncDisplay | null;
  /** Reads the present settings, which SIGHUP applies. Throws ConfigError. */
  readonly readSettings: () => Config;
}

interface OneRun extends RunOptions {
  readonly log: Log;
  /** Whether another run in this process came before. */
  readonly startsAgain: boolean;
  /** Whether the settings of the start were reloaded in an earlier run. */
  readonly isReloaded: boolean;
  /** The addresses of the earlier run, whose ports clients know; null in the first one. */
  readonly addresses: readonly ListenAddress[] | null;
  readonly onListening: (addresses: readonly ListenAddress[]) => void;
}

async function runOnce(wanted: Config, run: OneRun): Promise<void> {
  const { signal, display = null, readSettings, log, startsAgain, isReloaded } = run;
  const { config, budget } = withinDescriptors(wanted, log);
  // The main thread must not wait long for a free descriptor, since it answers requests.
  reserveDescriptors(FRONT_RESERVE, 0);
  acceptHold.start();
  shortenTimeSlice();
  const service = serviceNotifier();
  const params = paramsOfConfig(config);
  const asked = new AbortController();
  const staticKey = readApiKey(process.env);
  if (staticKey?.exposed) log.warn('the API key file is readable for other users', { file: staticKey.file });
  const tls = readTlsFiles(config.http.tls);
  const walletDirs = checkWalletDirectories(config);
  const state = new ServiceState(service);
  let opened: NodeClient | null = null;
  const announce = async (levels: CategoryLevels) => opened?.call('setLogLevels', levels, true);
  const serving = Promise.withResolvers<ApiServer | null>();
  const apply = async (next: Config, newTls: TlsPair | null) => {
    const api = await serving.promise;
    if (api !== null) await opened?.call('setUploadTarget', next.p2p.maxUpload);
    const options = apiOptionsOf(next, staticKey?.key ?? null, budget);
    return api === null || api.reload({ live: liveOptionsOf(options), tls: newTls });
  };
  const reload = new SettingsReload({ config: wanted, tls, read: readSettings, log, announce, apply });
  const hungUp = () => state.reload(() => reload.run());
  process.on('SIGHUP', hungUp);
  const watchdog = new Watchdog(
    { threads: () => threads.views(), service, clock: hostClock, log },
    { isArmed: startsAgain },
  );
  const isNew = !existsSync(config.networkDir);
  const release = lockDirectory(config.networkDir, {
    onUnclean: (pid) =>
      log.warn('the last run did not end cleanly: its process was killed, or the machine failed', { pid }),
  });
  try {
    warnOfExposedDirectories([config.datadir, config.networkDir, ...walletDirs], log);
    const fronts = FrontThreads.of(config, { budget, staticKey: staticKey?.key ?? null, log });
    let parts: Parts;
    try {
      const listening = { params, budget, staticKey: staticKey?.key ?? null, log, watchdog, fronts };
      const { addresses } = run;
      parts = await startListening(addresses === null ? config : onAddresses(config, addresses), listening, () =>
        asked.abort(new Error('an operator asked for it')),
      );
    } catch (error) {
      if (isNew) removeLockedDirectory(config.networkDir);
      throw error;
    }
    opened = parts.node;
    void parts.node.stopHeightReached().then(() => asked.abort(new Error('the chain has the height of its stop')));
    const { api } = parts;
    run.onListening(api.addresses);
    const either = AbortSignal.any([signal, asked.signal]);
    const onServing = () => {
      serving.resolve(api);
      if (isReloaded) void hungUp();
    };
    const surroundings = { signal: either, staticKey, log, state, watchdog, display, fronts, onServing };
    await runThenStop(
      () => runListening(config, parts, surroundings),
      () => api.stop('the node stops'),
      log,
    ).catch((error) => {
      // An operator has stopped the node while it closed in order to start again.
      const startsAgain = error instanceof OperatorError && error.startsAgain;
      if (!startsAgain || !asked.signal.aborted) throw error;
    });
  } finally {
    serving.resolve(null);
    release();
    process.off('SIGHUP', hungUp);
  }
}

/** Replaces the addresses of `http.listen` by those that are used: with port 0 the system would choose another one. */
function onAddresses(config: Config, listen: readonly ListenAddress[]): Config {
  return { ...config, http: { ...config.http, listen } };
}

/** Opens `log.file` before the first line is logged. */
function withLogFile(config: Config): Config {
  const { file } = config.log;
  return file === null ? config : { ...config, log: { ...config.log, fd: openLogFile(file) } };
}

/** Lets debuggers and tests that do not run as root read the memory of the process. */
const DUMPABLE = 'OBVERSE_DUMPABLE';

function protectMemory(log: Log): void {
  if (process.env[DUMPABLE] === '1')
    log.warn(`${DUMPABLE} is set: core dumps and other processes of this user can read the keys in memory`);
  else if (!keepMemoryPrivate() && process.platform === 'linux')
    log.warn('the memory of this process cannot be excluded from core dumps, which may contain keys');
}

interface Surroundings {
  readonly signal: AbortSignal;
  readonly staticKey: ApiKey | null;
  readonly log: Log;
  readonly state: ServiceState;
  readonly watchdog: Watchdog;
  readonly display: SyncDisplay | null;
  /** The threads of further fronts; null without any. */
  readonly fronts: FrontThreads | null;
  /** Called when all fronts answer requests. */
  readonly onServing: () => void;
}

const REPORT_MS = 1000;

interface Listening {
  readonly params: NetworkParams;
  readonly budget: DescriptorBudget | null;
  /** The operator's own API key. */
  readonly staticKey: string | null;
  readonly log: Log;
  readonly watchdog: Watchdog;
  readonly fronts: FrontThreads | null;
}

/** The parts of the running program. */
interface Parts {
  readonly api: ApiServer;
  readonly node: NodeClient;
  /** The columns of the mempool. */
  readonly columns: EntryColumns;
}

/** Starts the node thread, which opens nothing yet, and the listener. */
async function startListening(config: Config, listening: Listening, shutDown: () => void): Promise<Parts> {
  const { fronts } = listening;
  // The engine of each thread counts them as newly allocated memory, and would collect garbage while clients wait.
  const columns = reservedColumns(relayOptionsOf(config).maxMempoolBytes);
  // The node thread loads its code at the same time as this one, so that it does not compete with the first requests.
  const node = new NodeClient({ config, columns, ports: fronts?.nodePorts ?? [] }, fronts?.fence);
  try {
    return { api: listen(config, { ...listening, columns }, shutDown), node, columns };
  } catch (error) {
    await node.close();
    throw error;
  }
}

function listen(
  config: Config,
  { params, budget, staticKey, log, watchdog, fronts, columns }: Listening & Pick<Parts, 'columns'>,
  shutDown: () => void,
): ApiServer {
  const options = apiOptionsOf(config, staticKey, budget);
  return startApi({
    options,
    params,
    log,
    shutDown,
    ...(fronts && { sharing: fronts.sharing }),
    threads: () => watchdog.figures(),
    startedAt: unixSeconds(hostClock),
    sources: readSourcesOf(config, params),
    plugins: [restRoutes, rpcRoutes],
    columns,
    beforeListening: collectGarbage,
  });
}

async function runListening(
  config: Config,
  { api, node, columns }: Parts,
  { signal, staticKey, log, state, watchdog, display, fronts, onServing }: Surroundings,
): Promise<void> {
  // Requests are answered between the steps of the start, each of which takes milliseconds.
  const pause = slicePauses(0);
  const looks = setInterval(() => watchdog.checkThreads(), watchdog.intervalMs);
  let reads: ChainReads | null = null;
  let reports: ReturnType<typeof setInterval> | null = null;
  let notify: NotifyCommands | null = null;
  const interrupt = () => node.interruptOpening();
  signal.addEventListener('abort', interrupt, { once: true });
  const run = async () => {
    await pause();
    if (signal.aborted) return;
    node.open();
    await node.opened().catch((error: Error) => {
      if (!signal.aborted) throw error;
      log.info('stopped before the chain was open', { reason: error.message });
    });
    if (signal.aborted) return;
    await pause();
    reads = new ChainReads(config.chainDir, { isFrequent: true });
    await pause();
    const initialKey = api.openStores();
    await pause();
    api.attach({ node, reads });
    await pause();
    await fronts?.start({ api, node, columns }, signal);
    if (signal.aborted) return;
    const urls = api.urls.length > 1 ? { urls: api.urls } : {};
    log.info('ready', { version: VERSION, network: config.network, url: api.url, ...urls, height: reads.tip().height });
    if (config.dev.enabled) {
      const key = initialKey && readFileSync(initialKey.initialKeyFile, 'utf8').trim();
      process.stdout.write(
        welcome({
          url: api.url,
          key,
          keyFile: staticKey ? staticKey.file : join(config.networkDir, 'initial.key'),
          address: sandboxAddresses(api.context.params)[0]!.address,
        }),
      );
    }
    state.ready();
    onServing();
    watchdog.running();
    const { events, matcher } = api.context;
    notify = NotifyCommands.of(config.notify, { sources: { events, matcher, log }, log });
    notify?.start();
    reports = report(config, node, { reads, log, display, state, notify });
    await Promise.race([aborted(signal), node.failed(), ...(fronts ? [fronts.failed()] : [])]);
  };
  const stop = async (error: unknown) => {
    signal.removeEventListener('abort', interrupt);
    if (reports) clearInterval(reports);
    display?.show(null);
    state.stopping({ startsAgain: error instanceof OperatorError && error.startsAgain });
    watchdog.stopping();
    await notify?.stop();
    // Both stop at once: a request may wait for a block whose verification only ends when the node closes.
    await Promise.all([api.stop('the node stops'), node.close()]).finally(async () => {
      clearInterval(looks);
      await fronts?.end();
      reads?.close();
    });
    // Parts that did not close may hold locks, so that only another process can open it.
    if (node.closeError !== null && error instanceof OperatorError && error.startsAgain)
      throw new Error('the node is not closed', { cause: node.closeError });
  };
  await runThenStop(run, stop, log);
}

/**
 * Calls `run`, then `stop` with the error of `run`, or null. An error of `run` is thrown before one of `stop`, which it
 * usually causes; the program does not start again after a stop that has failed.
 */
async function runThenStop(run: () => Promise<void>, stop: (error: unknown) => Promise<void>, log: Log): Promise<void> {
  let first: unknown = null;
  try {
    await run();
  } catch (error) {
    first = error;
  }
  try {
    await stop(first);
  } catch (error) {
    if (first === null) throw error;
    log.error('the stop has failed as well', { error });
    if (first instanceof OperatorError && first.startsAgain) throw new OperatorError(first.message);
  }
  if (first !== null) throw first;
}

/** Reports the progress of the sync to the log, the display and the service manager, and the lack of peers. */
function report(
  { network }: Config,
  node: NodeClient,
  {
    reads,
    log,
    display,
    state,
    notify,
  }: Pick<Surroundings, 'log' | 'display' | 'state'> & {
    readonly reads: ChainReads;
    readonly notify: NotifyCommands | null;
  },
): ReturnType<typeof setInterval> {
  const sync = new SyncReport(log, display);
  // On regtest a node without peers is normal.
  const peerless = network === 'regtest' ? null : new PeerlessWatch(log);
  return setInterval(() => {
    const status = node.status();
    const nowMs = hostClock.monotonicMs();
    const { height } = reads.tip();
    sync.update(status, height, nowMs);
    state.update(status, height);
    notify?.checkWarnings(status.warnings);
    peerless?.check(status.network?.active ? status.peers.inbound + status.peers.outbound : null, nowMs);
  }, REPORT_MS);
}
