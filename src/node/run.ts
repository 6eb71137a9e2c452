import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { restRoutes } from '../api/rest/routes.ts';
import { rpcRoutes } from '../api/rpc/route.ts';
import { type ApiServer, startApi } from '../api/server.ts';
import type { Config } from '../config/schema.ts';
import { paramsFor } from '../params/networks.ts';
import { ChainReads } from '../storage/chain-reads.ts';
import { aborted } from '../util/abort.ts';
import { hostClock, unixSeconds } from '../util/clock.ts';
import { reserveDescriptors } from '../util/descriptors.ts';
import { type Log, stderrLog } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';
import { type ServiceNotifier, serviceNotifier } from '../util/systemd.ts';
import { VERSION } from '../util/version.ts';
import { apiOptionsOf, readSourcesOf } from './api-options.ts';
import { NodeClient } from './client.ts';
import { type DescriptorBudget, withinDescriptors } from './descriptor-budget.ts';
import { lockDirectory } from './lock.ts';
import { PeerlessWatch } from './peerless-watch.ts';
import { sandboxAddresses } from './sandbox/accounts.ts';
import { type SyncDisplay, SyncReport } from './sync-report.ts';
import { welcome } from './welcome.ts';

/**
 * The running program: the listener first, so that liveness is answered whatever follows, then the node on its thread.
 * Resolves after a clean stop, when the signal aborts. Throws OperatorError where it cannot start or go on.
 */
export async function runNode(
  wanted: Config,
  { signal, display = null }: { readonly signal: AbortSignal; readonly display?: SyncDisplay | null },
): Promise<void> {
  // What is made here is for this user alone: keys, wallets, and who asked what.
  process.umask(0o077);
  const log = stderrLog(wanted.log);
  const { config, budget } = withinDescriptors(wanted, log);
  // Not for long: this thread must answer.
  reserveDescriptors(FRONT_RESERVE, 0);
  const service = serviceNotifier();
  const params = paramsFor(config.network, { testActivationHeight: config.consensus.testActivationHeight });
  const asked = new AbortController();
  const api = listen(config, { params, budget, log }, () => asked.abort(new Error('an operator asked for it')));
  try {
    const release = lockDirectory(config.networkDir);
    try {
      const either = AbortSignal.any([signal, asked.signal]);
      await runLocked(config, api, { signal: either, log, service, display });
    } finally {
      release();
    }
  } finally {
    await api.stop('the node stops');
  }
}

interface Surroundings {
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly service: ServiceNotifier;
  readonly display: SyncDisplay | null;
}

const REPORT_MS = 1000;
/** A thread, a wallet's files, and the cookie. */
const FRONT_RESERVE = 24;
const NO_SUCH_ADDRESS = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'ENXIO', 'EAI_AGAIN', 'EAI_NONAME']);

interface Listening {
  readonly params: ReturnType<typeof paramsFor>;
  readonly budget: DescriptorBudget | null;
  readonly log: Log;
}

function listen(config: Config, { params, budget, log }: Listening, shutDown: () => void): ApiServer {
  const options = apiOptionsOf(config, process.env.OBVERSE_API_KEY ?? null, budget);
  const sources = readSourcesOf(config, params);
  try {
    return startApi({
      options,
      params,
      log,
      shutDown,
      startedAt: unixSeconds(hostClock),
      plugins: [(context) => restRoutes(context, sources), (context) => rpcRoutes(context, sources)],
    });
  } catch (error) {
    const { host, port } = config.http.listen;
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE')
      throw new OperatorError(
        `http.listen: ${host}:${port} is in use: stop what listens there, or choose another address (--http.listen=127.0.0.1:18500)`,
      );
    // A name that nobody knows comes back as one or another of these, as the host's resolver has it.
    if (NO_SUCH_ADDRESS.has((error as NodeJS.ErrnoException).code ?? ''))
      throw new OperatorError(`http.listen: ${host} is not an address of this machine`);
    if ((error as NodeJS.ErrnoException).code === 'EACCES')
      throw new OperatorError(`http.listen: no permission to listen on ${host}:${port}: choose a port above 1023`);
    throw error;
  }
}

async function runLocked(
  config: Config,
  api: ApiServer,
  { signal, log, service, display }: Surroundings,
): Promise<void> {
  const node = new NodeClient(config);
  let watchdog: ReturnType<typeof setInterval> | null = null;
  let reports: ReturnType<typeof setInterval> | null = null;
  try {
    await node.opened();
    const reads = new ChainReads(config.chainDir);
    api.context.onStop(() => reads.close());
    const initialKey = api.attach({ node, reads });
    log.info('ready', { version: VERSION, network: config.network, url: api.url, height: reads.tip().height });
    if (config.dev.enabled) {
      const key = initialKey && readFileSync(initialKey.initialKeyFile, 'utf8').trim();
      process.stdout.write(
        welcome({
          url: api.url,
          key,
          keyFile: join(config.networkDir, 'initial.key'),
          address: sandboxAddresses(api.context.params)[0]!.address,
        }),
      );
    }
    service.ready();
    watchdog = watch(node, service);
    reports = report(config, node, { reads, log, display });
    await Promise.race([aborted(signal), node.failed()]);
  } finally {
    if (watchdog) clearInterval(watchdog);
    if (reports) clearInterval(reports);
    display?.show(null);
    service.stopping();
    // Together: a request may wait for a block whose scripts take long, and that is given up when the node closes.
    await Promise.all([api.stop('the node stops'), node.close()]);
  }
}

/** Tells the operator how the sync goes, and where there is nobody to sync with. */
function report(
  { network }: Config,
  node: NodeClient,
  { reads, log, display }: Pick<Surroundings, 'log' | 'display'> & { readonly reads: ChainReads },
): ReturnType<typeof setInterval> {
  const sync = new SyncReport(log, display);
  // On regtest a node may well be alone.
  const peerless = network === 'regtest' ? null : new PeerlessWatch(log);
  return setInterval(() => {
    const status = node.status();
    const nowMs = hostClock.monotonicMs();
    sync.update(status, reads.tip().height, nowMs);
    peerless?.check(status.network?.active ? status.peers.inbound + status.peers.outbound : null, nowMs);
  }, REPORT_MS);
}

/** The manager hears from us as long as the node thread does its work; a thread that hangs ends in a restart. */
function watch(node: NodeClient, service: ServiceNotifier): ReturnType<typeof setInterval> | null {
  if (service.watchdogIntervalMs === null) return null;
  return setInterval(() => {
    node.echo().then(
      () => service.watchdog(),
      () => {},
    );
  }, service.watchdogIntervalMs / 3);
}
