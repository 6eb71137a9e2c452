import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApiOptions } from '../../http/options.ts';
import type { NodePort, NodeStatus } from '../../port/node-port.ts';
import type { SinkStatus } from '../../port/sink-status.ts';
import { headerFromBytes } from '../../primitives/header.ts';
import type { ChainReads } from '../../storage/chain-reads.ts';
import { enabledIndexes, type IndexSwitches } from '../../storage/index-store.ts';
import { type Clock, unixSeconds } from '../../util/clock.ts';
import type { Log } from '../../util/log.ts';
import { sinkLag } from './sink-gauges.ts';

export type CheckStatus = 'ok' | 'degraded' | 'fail';
export interface CheckResult {
  readonly status: CheckStatus;
  readonly message?: string;
  readonly [detail: string]: unknown;
}

/** Body of /readyz. */
export interface ReadinessReport {
  readonly status: CheckStatus;
  readonly service: string;
  readonly time: number;
  readonly durationMs: number;
  readonly checks: Readonly<Record<string, CheckResult>>;
}

/** The readiness of a program, as probes ask for it. */
export interface ReadinessView {
  /** Whether the last run, at most 10 s ago, found no fault. */
  readonly ready: boolean;
  run(): Promise<ReadinessReport>;
}

/** Checks the further fronts within a time limit. */
interface FrontsCheck {
  check(isBehind: (seq: number) => boolean, budgetMs: number): Promise<CheckResult>;
}

/** Sources of the checks; null until the node is attached. */
export interface ReadinessSources {
  phase(): 'starting' | 'live' | 'stopping';
  attached(): { readonly node: NodePort; readonly reads: ChainReads } | null;
  rpcProbe(): (() => Promise<unknown>) | null;
  /** Returns the last reported state of the mempool; null before the first report. */
  mempool(): { readonly loaded: boolean; readonly count: number } | null;
  /** Returns the number of the newest event that was passed to the WebSocket connections. */
  sentSeq(): number;
  auditWritable(): boolean;
  /** The further fronts; null without any. */
  readonly fronts: FrontsCheck | null;
  /** Called with each result. */
  onResult?(ready: boolean): void;
  /** The indexes that are switched on. */
  indexes(): IndexSwitches;
}

type Check = () => Promise<CheckResult> | CheckResult;

const BUDGET_MS = 2000;
const SLOW_MS = 500;
const MAX_WAL_BYTES = 1024 ** 3;
const MAX_EVENT_LAG = 1000;
/** Seconds that the clock may differ from that of the peers. A block two hours ahead of the clock is rejected. */
const CLOCK_DEGRADED_S = 70;
const CLOCK_FAIL_S = 2 * 3600;
/** Interval between two runs, milliseconds; `/api/health` shows a result of at most 10 s. */
const BACKGROUND_MS = 5000;

/** Runs the readiness checks: in parallel, each with its own time limit, and once for all simultaneous requests. */
export class Readiness {
  readonly #options: ApiOptions;
  readonly #sources: ReadinessSources;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #timer: ReturnType<typeof setInterval>;
  #running: Promise<ReadinessReport> | null = null;
  #lastStatus: CheckStatus = 'fail';
  /** Checks that threw in their last run. */
  readonly #broken = new Set<string>();

  constructor(options: ApiOptions, sources: ReadinessSources, log: Log, clock: Clock) {
    this.#options = options;
    this.#sources = sources;
    this.#log = log;
    this.#clock = clock;
    this.#timer = setInterval(() => void this.run(), BACKGROUND_MS);
    this.#timer.unref();
  }

  /** Whether the last run, at most 10 s ago, found no fault. */
  get ready(): boolean {
    return this.#sources.phase() === 'live' && this.#lastStatus === 'ok';
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  run(): Promise<ReadinessReport> {
    this.#running ??= this.#run().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  async #run(): Promise<ReadinessReport> {
    const startedAt = this.#clock.monotonicMs();
    const entries = await Promise.all(
      Object.entries(this.#checks()).map(async ([name, check]) => [name, await this.#timed(name, check)] as const),
    );
    const checks = Object.fromEntries(entries);
    const status = worst(entries.map(([, result]) => result.status));
    this.#lastStatus = status;
    this.#sources.onResult?.(this.ready);
    const durationMs = Math.round(this.#clock.monotonicMs() - startedAt);
    return { status, service: this.#options.service, time: unixSeconds(this.#clock), durationMs, checks };
  }

  async #timed(name: string, check: Check): Promise<CheckResult> {
    const startedAt = this.#clock.monotonicMs();
    let result: CheckResult;
    try {
      result = await withBudget(async () => check());
      this.#broken.delete(name);
    } catch (error) {
      // The checks run every few seconds, and a repeated fault is logged once.
      if (!this.#broken.has(name)) this.#log.warn('readiness check failed', { check: name, error });
      this.#broken.add(name);
      result = { status: 'fail', message: error instanceof BudgetError ? 'no answer in time' : 'error' };
    }
    if (!this.#options.ready.details) return { status: result.status };
    const { status, ...details } = result;
    return { status, durationMs: Math.round(this.#clock.monotonicMs() - startedAt), ...details };
  }

  #checks(): Record<string, Check> {
    const phase = this.#sources.phase();
    const attached = this.#sources.attached();
    if (phase === 'stopping') return { shutdown: () => ({ status: 'fail', message: 'the node is stopping' }) };
    if (phase === 'starting' || !attached)
      return { startup: () => ({ status: 'fail', message: 'the node is starting' }) };
    const { node, reads } = attached;
    const mempool = this.#sources.mempool();
    const { network, peers } = node.status();
    return {
      database: () => this.#database(node, reads),
      rpc: () => this.#rpc(node),
      chain: () => this.#chain(node, reads),
      // A node of a regression test network may have no peers.
      ...(network && this.#options.network !== 'regtest' && { peers: () => checkPeers(peers) }),
      ...(mempool && { mempool: () => this.#mempool(node, mempool) }),
      indexes: () => checkIndexes(node, reads, this.#sources.indexes()),
      events: () => this.#events(reads),
      ...(this.#sources.fronts && { fronts: () => this.#fronts(this.#sources.fronts!, reads) }),
      ...(node.status().wallets && { wallet: () => this.#wallet(node, reads) }),
      ...(node.status().sink && { sink: () => checkSink(node.status().sink!) }),
      disk: () => this.#disk(),
      ...(network && { clock: () => checkClock(network.timeOffset) }),
    };
  }

  async #database(node: NodePort, reads: ChainReads): Promise<CheckResult> {
    const startedAt = this.#clock.monotonicMs();
    reads.tip();
    const readMs = this.#clock.monotonicMs() - startedAt;
    const { lastCommit } = node.status();
    if (lastCommit && !lastCommit.ok) return { status: 'fail', message: 'the last commit failed' };
    const walBytes = await fileSize(join(this.#options.chainDir, 'chain.db-wal'));
    const details = {
      walBytes,
      lastCommitAt: lastCommit && Math.floor(lastCommit.at / 1000),
      lastCommitMs: lastCommit && Math.round(lastCommit.durationMs),
    };
    if (!this.#sources.auditWritable())
      return { status: 'degraded', message: 'the audit log cannot be written, so spends are refused', ...details };
    if (walBytes > MAX_WAL_BYTES) return { status: 'degraded', message: 'the write-ahead log is large', ...details };
    if (readMs > SLOW_MS) return { status: 'degraded', message: 'reads are slow', ...details };
    return { status: 'ok', ...details };
  }

  async #rpc(node: NodePort): Promise<CheckResult> {
    const startedAt = this.#clock.monotonicMs();
    await this.#sources.rpcProbe()?.();
    // While a block is connected the node thread answers late, which is no fault.
    if (node.status().connectingBlock) return { status: 'ok' };
    await Promise.race([node.call('echo'), busyWithin(node, BUDGET_MS)]);
    const slow = this.#clock.monotonicMs() - startedAt > SLOW_MS && !node.status().connectingBlock;
    return slow ? { status: 'degraded', message: 'answers are slow' } : { status: 'ok' };
  }

  #chain(node: NodePort, reads: ChainReads): CheckResult {
    const { stopped, initialBlockDownload, headers, verificationProgress, heavierInvalidChain, preparing, background } =
      node.status();
    const tip = reads.tip();
    const tipAge = unixSeconds(this.#clock) - headerFromBytes(tip.header).time;
    const details = {
      height: tip.height,
      headers,
      progress: verificationProgress,
      tipAge,
      ...(background && { loadedHeight: background.baseHeight, validatedHeight: background.height }),
    };
    const { maxTipAge } = this.#options.ready;
    if (stopped !== null) return { status: 'fail', message: 'block processing has stopped', ...details };
    if (initialBlockDownload) return { status: 'degraded', message: 'initial block download', ...details };
    if (headers - tip.height > 1) return { status: 'degraded', message: 'behind the best header', ...details };
    if (background !== null && !background.validated)
      return { status: 'degraded', message: 'the loaded UTXO set is not validated yet', ...details };
    if (maxTipAge > 0 && tipAge > maxTipAge) return { status: 'degraded', message: 'the tip is old', ...details };
    if (preparing) return { status: 'degraded', message: preparing, ...details };
    if (heavierInvalidChain) return { status: 'degraded', message: 'a heavier chain is invalid', ...details };
    return { status: 'ok', ...details };
  }

  #mempool(node: NodePort, { loaded, count }: { readonly loaded: boolean; readonly count: number }): CheckResult {
    // During initial block download the mempool may be empty, and the chain check reports that state.
    if (loaded || node.status().initialBlockDownload) return { status: 'ok', loaded, count };
    return { status: 'degraded', message: 'saved transactions are still loading', loaded, count };
  }

  #events(reads: ChainReads): CheckResult {
    const seq = reads.events.bounds().last;
    const behind = isBehind(reads, this.#sources.sentSeq());
    return behind ? { status: 'degraded', message: 'delivery is behind', seq } : { status: 'ok', seq };
  }

  /** Answers within its own limit, so that the report names the fault. */
  #fronts(fronts: FrontsCheck, reads: ChainReads): Promise<CheckResult> {
    return fronts.check((seq) => isBehind(reads, seq), BUDGET_MS - 200);
  }

  #wallet(node: NodePort, reads: ChainReads): CheckResult {
    const {
      wallets = [],
      walletsFailed = [],
      walletsMissing = [],
      walletsWaiting = [],
      initialBlockDownload,
    } = node.status();
    const loaded = wallets.length;
    if (walletsFailed.length > 0) return { status: 'fail', message: 'a wallet cannot be opened', loaded };
    if (wallets.some(({ integrity }) => integrity === 'tampered'))
      return { status: 'fail', message: 'a wallet fails its integrity check', loaded };
    if (walletsMissing.length > 0) return { status: 'fail', message: 'the file of a wallet is missing', loaded };
    if (walletsWaiting.length > 0)
      return {
        status: 'degraded',
        message: 'a wallet opens when the loaded UTXO set is validated',
        waiting: walletsWaiting,
        loaded,
      };
    // During initial block download wallets catch up only from time to time.
    const behind = !initialBlockDownload && wallets.some(({ height }) => reads.tip().height - height > MAX_WALLET_LAG);
    if (behind) return { status: 'degraded', message: 'a wallet is behind', loaded };
    if (wallets.some(({ integrity }) => integrity === 'unverified'))
      return { status: 'degraded', message: 'a wallet must be unlocked once before it gives addresses', loaded };
    return { status: 'ok', loaded };
  }

  async #disk(): Promise<CheckResult> {
    const { networkDir, chainDir, ready } = this.#options;
    // The chain may be on another disk.
    const free = await Promise.all([networkDir, chainDir].map(freeBytesOf));
    const freeBytes = Math.min(...free);
    if (freeBytes < ready.diskFailBytes) return { status: 'fail', message: 'the disk is full', freeBytes };
    if (freeBytes < ready.diskDegradedBytes) return { status: 'degraded', message: 'little space is left', freeBytes };
    return { status: 'ok', freeBytes };
  }
}

/** Whether the connections still have to be sent too many of the newest events. */
function isBehind(reads: ChainReads, sentSeq: number): boolean {
  return reads.events.after(sentSeq, MAX_EVENT_LAG + 1).length > MAX_EVENT_LAG;
}

async function freeBytesOf(dir: string): Promise<number> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
}

/** Inbound peers may all be one attacker, so they prove nothing. */
function checkPeers({ inbound, outbound }: NodeStatus['peers']): CheckResult {
  const details = { count: inbound + outbound, outbound };
  return outbound < 1 ? { status: 'degraded', message: 'no outbound peers', ...details } : { status: 'ok', ...details };
}

function checkClock(offset: number): CheckResult {
  const message = 'the clock differs from those of peers';
  if (Math.abs(offset) > CLOCK_FAIL_S) return { status: 'fail', message, offset };
  return Math.abs(offset) > CLOCK_DEGRADED_S ? { status: 'degraded', message, offset } : { status: 'ok', offset };
}

/** Number of blocks that an index may lag behind. */
const MAX_INDEX_LAG = 2;

/** An index is behind the tip while it is built in the background. */
function checkIndexes(node: NodePort, reads: ChainReads, switches: IndexSwitches): CheckResult {
  const { indexProblem } = node.status();
  return reads.snapshot(() => {
    const { height } = reads.tip();
    const behind = enabledIndexes(switches)
      .map((name) => ({ name, height: reads.indexes.covered(name)?.height ?? -1 }))
      .filter((index) => index.height < height);
    const lag = Math.max(0, ...behind.map((index) => height - index.height));
    if (lag <= MAX_INDEX_LAG) return { status: 'ok', lag };
    const heights = Object.fromEntries(behind.map((index) => [index.name, index.height]));
    if (indexProblem === null) return { status: 'degraded', message: 'an index is being built', lag, heights };
    const { indexes, problem } = indexProblem;
    return {
      status: 'degraded',
      message: `the build of ${indexes.join(', ')} has stopped`,
      problem,
      lag,
      heights,
    };
  });
}

/** Number of blocks that the database of the sink may lag behind. */
const MAX_SINK_LAG = 2;

/** The report names no reason of the database, which the log has: it may name hosts and users. */
function checkSink(sink: SinkStatus): CheckResult {
  const { state, height } = sink;
  const lag = sinkLag(sink);
  const details = { state, height, lag };
  if (sink.problem !== null) return { status: 'degraded', message: 'the sink cannot be written', ...details };
  if (state === 'connecting') return { status: 'degraded', message: 'the sink is connecting', ...details };
  if (state === 'fill' || state === 'build') return { status: 'degraded', message: 'the sink is filled', ...details };
  if (lag !== null && lag > MAX_SINK_LAG) return { status: 'degraded', message: 'the sink is behind', ...details };
  return { status: 'ok', ...details };
}

/** Number of blocks that a wallet may lag behind. */
const MAX_WALLET_LAG = 2;

class BudgetError extends Error {}

async function withBudget<T>(run: () => Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new BudgetError()), BUDGET_MS);
  try {
    return await Promise.race([run(), promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves just before the budget ends if the node is connecting a block by then; otherwise never. */
function busyWithin(node: NodePort, budgetMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(() => node.status().connectingBlock && resolve(), budgetMs - 100).unref();
  });
}

function worst(statuses: readonly CheckStatus[]): CheckStatus {
  if (statuses.includes('fail')) return 'fail';
  return statuses.includes('degraded') ? 'degraded' : 'ok';
}

/** Returns the size in bytes; 0 if the file does not exist. */
export async function fileSize(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}
