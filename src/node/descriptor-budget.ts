import type { Config } from '../config/settings.ts';
import { countRunFiles } from '../storage/runs/run-manifest.ts';
import { raiseDescriptorLimit } from '../util/descriptors.ts';
import type { Log } from '../util/log.ts';
import { OperatorError } from '../util/operator-error.ts';

/** The distribution of the process's file descriptors. */
export interface DescriptorBudget {
  /** File descriptors that the process may open. */
  readonly limit: number;
  /** Connections of peers, and of HTTP clients. */
  readonly peers: number;
  readonly http: number;
  /**
   * Descriptors that HTTP clients leave free, for connections that are not yet counted and for files that are opened on
   * demand.
   */
  readonly headroom: number;
}

const MINIMUM = 256;
/**
 * Databases, block files, threads, listeners and the log use some 35 descriptors at rest, and 100 with all readers at
 * work.
 */
const OWN = 128;
/** Threads that read runs: the node thread, the main thread and at most five readers. Each opens their files. */
const RUN_THREADS = 7;
const LEAST_HEADROOM = 64;
const MOST_HEADROOM = 1024;
/** Connections beyond `p2p.maxConnections`: those that an operator adds, and attempts. */
const DIALLED = 16;

/**
 * Distributes `limit` descriptors; `runFiles` is the number of files of runs. Throws OperatorError where the limit is too
 * low for a node.
 */
export function descriptorBudget(
  limit: number,
  wanted: { peers: number; http: number },
  runFiles: number,
): DescriptorBudget {
  if (limit < MINIMUM)
    throw new OperatorError(
      `the limit of open files is ${limit}, and the node needs at least ${MINIMUM}: raise it (ulimit -n, or LimitNOFILE= of the service)`,
    );
  const free = limit - OWN - Math.min(runFiles * RUN_THREADS, Math.floor((limit - MINIMUM) / 4));
  const headroom = Math.min(MOST_HEADROOM, Math.max(LEAST_HEADROOM, Math.floor(limit / 8)));
  const peers = Math.min(wanted.peers, Math.floor(free / 3));
  return { limit, peers, headroom, http: Math.min(wanted.http, free - peers - headroom) };
}

/**
 * Raises the soft limit of descriptors to the hard limit, and reduces connections to fit. The budget is null where the
 * system does not report a limit.
 */
export function withinDescriptors(config: Config, log: Log): { config: Config; budget: DescriptorBudget | null } {
  const raised = raiseDescriptorLimit();
  if (raised === null) return { config, budget: null };
  const { p2p, http } = config;
  const extra = p2p.enabled ? p2p.connect.length + DIALLED : 0;
  const wanted = { peers: p2p.enabled ? p2p.maxConnections + extra : 0, http: http.limits.connections };
  const budget = descriptorBudget(raised.limit, wanted, countRunFiles(config.chainDir));
  const maxConnections = Math.min(p2p.maxConnections, Math.max(0, budget.peers - extra));
  log.info('open files', { ...budget, limitBefore: raised.before });
  if (budget.http < wanted.http)
    log.warn('fewer HTTP connections than http.limits.connections: the limit of open files is too low', {
      limit: budget.limit,
      wanted: wanted.http,
      connections: budget.http,
    });
  if (!p2p.enabled || maxConnections === p2p.maxConnections) return { config, budget };
  log.warn('fewer peers than p2p.maxConnections: the limit of open files is too low', {
    limit: budget.limit,
    wanted: p2p.maxConnections,
    peers: maxConnections,
  });
  return { config: { ...config, p2p: { ...p2p, maxConnections } }, budget };
}
