import type { Database } from 'bun:sqlite';
import type { Chain } from '../chain/chain.ts';
import type { StoredGenesis } from '../chain/chain-options.ts';
import type { Config } from '../config/settings.ts';
import { signatureEngine, signatureLibrary } from '../crypto/secp256k1.ts';
import type { EntryColumns } from '../mempool/entry-columns.ts';
import { MempoolService } from '../mempool/service.ts';
import type { UpdateProgress } from '../mempool/update-progress.ts';
import type { NetworkParams } from '../params/network-params.ts';
import { magicHex } from '../params/signet.ts';
import type { CallTable, NodeCallName, NodeCalls } from '../port/node-calls.ts';
import type { NodeCounters, NodeStatus, NodeUpdate, PeerChange } from '../port/node-port.ts';
import type { WalletCalls } from '../port/wallet-node-calls.ts';
import { startSandbox } from '../sandbox/sandbox.ts';
import { sandboxChain } from '../sandbox/sandbox-adapter.ts';
import type { ScenarioChain } from '../sandbox/sandbox-chain.ts';
import type { SinkThread } from '../sink/sink-thread.ts';
import { syncAgainAdvice } from '../storage/chain-folder.ts';
import { closeDatabase } from '../storage/database.ts';
import { FeeStore } from '../storage/fee-store.ts';
import { MempoolStore } from '../storage/mempool-store.ts';
import { buildThread } from '../storage/runs/build-thread.ts';
import { mergeThread } from '../storage/runs/merge-thread.ts';
import { SampleStore, type StateSample } from '../storage/sample-store.ts';
import { type Clock, protocolClock, systemClock, unixSeconds } from '../util/clock.ts';
import { lockFailures } from '../util/lock-failures.ts';
import type { Log } from '../util/log.ts';
import { Observers } from '../util/observers.ts';
import { ExternalSigner } from '../wallet/signer/external-signer.ts';
import { callTable } from './calls/call-table.ts';
import { walletCalls } from './calls/wallet-calls.ts';
import { paramsOfConfig } from './config-params.ts';
import { GarbageCollector } from './garbage.ts';
import { GivenEventNumbers } from './given-event-numbers.ts';
import { warnOfHighFees } from './high-fees.ts';
import { importFiles } from './import-files.ts';
import type { ImportOptions, ImportResult } from './import-types.ts';
import { IndexBuilds } from './index-builds.ts';
import { nodeFollower } from './node-follower.ts';
import { nodeStatus } from './node-status.ts';
import { openNodeStorage } from './node-storage.ts';
import { cacheSizesOf, openChain } from './open-chain.ts';
import { openSink } from './open-sink.ts';
import { PeerNetwork } from './peer-network.ts';
import { relayOptionsOf } from './relay-settings.ts';
import { reportSignatureLibrary } from './signature-report.ts';
import { StateSampler } from './state-sampler.ts';
import { storageProblem } from './storage-problem.ts';
import { StorageStop } from './storage-stop.ts';
import { TipLog } from './tip-log.ts';
import { VerifyPool } from './verify/verify-pool.ts';
import { openWallets, type Wallets } from './wallets.ts';
import { watchHeight } from './watch-height.ts';

export interface NodeDeps {
  readonly log: Log;
  readonly clock?: Clock;
  /** Backpressure: resolves when the main thread has room for more updates; null where it has room now. */
  readonly room?: () => Promise<void> | null;
  /** Set if another thread reads the entries of the mempool. */
  readonly progress?: UpdateProgress;
  /** The columns of the mempool, which that thread has as well. */
  readonly columns?: EntryColumns;
  /** Opens the chain of an unfinished reindex. */
  readonly reindex?: StoredGenesis;
  /** Whether the program is to stop, which interrupts the conversion of an earlier chain database. */
  readonly isStopping?: () => boolean;
  /** Called with the error after which the node must end at once. */
  readonly onFailure?: (error: Error) => void;
}

/** The threads of a node that is being opened, which end before an error is reported. */
interface Opening {
  readonly merges: ReturnType<typeof mergeThread>;
  readonly builds: ReturnType<typeof buildThread>;
  /** Set where the parts were built before the error; resolves when they are closed. */
  closing: Promise<void> | null;
}

const MEBIBYTE = 1024 * 1024;

/** The parts that live on the node thread, built in order: verify workers, chain, and what feeds it. */
export class Node {
  readonly params: NetworkParams;
  readonly chain: Chain;
  readonly mempool: MempoolService;
  readonly #config: Config;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #pool: VerifyPool;
  readonly #merges: Opening['merges'];
  readonly #builds: Opening['builds'];
  readonly #database: Database;
  readonly #given: GivenEventNumbers;
  /** Null where the configuration disables the peer network. */
  readonly #network: PeerNetwork | null;
  readonly #sandbox: ScenarioChain | null;
  readonly #sampler: StateSampler;
  /** Null where the configuration disables wallets. */
  readonly #wallets: Wallets | null;
  readonly #calls: CallTable<NodeCalls>;
  readonly #walletCalls: CallTable<WalletCalls>;
  /** Aborts long calls and background work at the stop. */
  readonly #ending = new AbortController();
  readonly #updates: Observers<[update: NodeUpdate]>;
  readonly #peerChanges: Observers<[change: PeerChange]>;
  #workerFailure: Error | null = null;
  readonly storageStop: StorageStop;
  /** The background builds of indexes. */
  readonly indexBuilds: IndexBuilds;
  /** The database that follows the chain; null where the configuration names none. */
  readonly sink: SinkThread | null;

  /**
   * Opens the chain; the directory must be locked. Rejects with OperatorError where it cannot be used, when no thread of the
   * node is left.
   */
  static async open(config: Config, deps: NodeDeps): Promise<Node> {
    const opening: Opening = { merges: mergeThread(), builds: buildThread(), closing: null };
    try {
      return new Node(config, deps, opening);
    } catch (error) {
      await Promise.all([opening.closing?.catch(() => {}), opening.merges.close(), opening.builds.close()]);
      throw error;
    }
  }

  private constructor(
    config: Config,
    { log, clock = systemClock, room, progress, columns, reindex, ...deps }: NodeDeps,
    opening: Opening,
  ) {
    this.#merges = opening.merges;
    this.#builds = opening.builds;
    const { isStopping, onFailure = null } = deps;
    this.#config = config;
    this.#log = log;
    this.#clock = clock;
    const logs = {
      chain: log.category('chain'),
      mempool: log.category('mempool'),
      p2p: log.category('p2p'),
      wallet: log.category('wallet'),
    };
    this.storageStop = new StorageStop(config.chainDir, logs.chain);
    this.#updates = new Observers('updates', log);
    this.#peerChanges = new Observers('peers', log);
    this.params = paramsOfConfig(config);
    reportSignatureLibrary(log);
    if (this.params.name === 'signet') log.info('signet', { magic: magicHex(this.params) });
    let mempool: MempoolService | null = null;
    this.#pool = new VerifyPool(config.workers.verify, {
      isKnownValid: (wtxid, flags) => mempool?.hasChecked(wtxid, flags) ?? false,
      knowsAny: () => mempool !== null && !mempool.mempool.isEmpty,
      onError: (error) => {
        this.#workerFailure ??= error;
        log.error('script verification stopped', { error });
      },
    });
    this.#database = openNodeStorage(config, this.params);
    const unsavedFrom = () => this.mempool.unsavedFrom;
    this.#given = new GivenEventNumbers({ chainDir: config.chainDir, unsavedFrom, onFailure });
    log.info('cache sizes', {
      ...cacheSizesOf(config),
      memoryMiB: Math.floor(process.constrainedMemory() / MEBIBYTE),
    });
    try {
      const sources = { database: this.#database, given: this.#given, reindex };
      this.chain = openChain(config, this.params, sources, {
        verifier: this.#pool,
        clock,
        log: logs.chain,
        mergeRuns: (job) => this.#merges.runJob(job),
        buildRuns: (job) => this.#builds.runJob(job),
        onStopped: (error) => this.storageStop.onStopped(error),
        isStopping,
      });
    } catch (error) {
      closeDatabase(this.#database);
      throw error;
    }
    // The workers start last: an error before this point leaves no threads to end.
    this.#pool.start();
    mempool = new MempoolService(relayOptionsOf(config), {
      chain: this.chain,
      engine: signatureEngine(),
      verifier: this.#pool,
      store: new MempoolStore(this.#database),
      fees: new FeeStore(this.#database),
      anyTip: this.params.name === 'regtest',
      persistent: config.mempool.persist,
      clock,
      log: logs.mempool,
      emit: (changes) => {
        this.#wallets?.manager.follower.onMempoolChanges(changes);
        this.#notifyUpdate({ changes, commit: null });
      },
      onSaved: () => this.#given.record(),
      ...(room && { backpressure: room }),
      ...(progress && { progress }),
      ...(columns && { columns }),
    });
    this.mempool = mempool;
    this.#network = config.p2p.enabled
      ? new PeerNetwork(config, {
          chain: this.chain,
          mempool: this.mempool,
          database: this.#database,
          clock: clock === systemClock ? protocolClock : clock,
          log: logs.p2p,
          onPeerChange: (change) => this.#peerChanges.notify(change),
        })
      : null;
    this.#sampler = new StateSampler({
      store: new SampleStore(this.#database),
      state: () => this.#sample(),
      clock,
      log,
    });
    this.#sandbox = config.dev.enabled
      ? sandboxChain({ chain: this.chain, mempool: this.mempool, clock }, config.chainDir, this.#ending.signal)
      : null;
    const signing = { command: config.wallet.signer, chain: this.params.name, signal: this.#ending.signal };
    const signer = new ExternalSigner(signing);
    this.#wallets = config.wallet.enabled
      ? openWallets(config, {
          signer,
          chain: this.chain,
          mempool: this.mempool,
          database: this.#database,
          clock,
          log: logs.wallet,
          signal: this.#ending.signal,
        })
      : null;
    // Buffers of a commit are large and become garbage faster than the engine notices.
    const garbage = GarbageCollector.forInitialSync(clock);
    this.chain.onCommit(() => {
      if (this.chain.initialSync) garbage.collectIfGrown();
    });
    this.indexBuilds = new IndexBuilds({
      chain: this.chain,
      config,
      signal: this.#ending.signal,
      clock,
      log: logs.chain,
      onIndexesBuilt: () => this.#wallets?.manager.openWaiting(),
    });
    this.sink = openSink(config, this.params, {
      log,
      mempool: {
        removed: (slot) => this.mempool.mempool.entries.source(slot),
        onOpen: () => this.mempool.announceTotals(),
      },
    });
    this.#walletCalls = walletCalls(this.#wallets?.manager ?? null, signer);
    this.#calls = {
      ...callTable({
        config,
        params: this.params,
        chain: this.chain,
        mempool: this.mempool,
        network: this.#network,
        wallets: this.#wallets,
        sampler: this.#sampler,
        indexBuilds: this.indexBuilds,
        sandbox: this.#sandbox,
        clock,
        log,
        signal: this.#ending.signal,
      }),
      ...this.#walletCalls,
    };
    const tips = new TipLog({
      chain: this.chain,
      peers: () => {
        const { inbound = 0, outbound = 0 } = this.#network?.counts() ?? {};
        return inbound + outbound;
      },
      clock,
      log: logs.chain,
    });
    this.chain.setFollower(
      nodeFollower({
        mempool: this.mempool,
        wallets: this.#wallets,
        given: this.#given,
        tips,
        notifyUpdate: (update) => this.#notifyUpdate(update),
      }),
    );
    try {
      this.#wallets?.manager.open();
    } catch (error) {
      opening.closing = this.close();
      throw storageProblem(error, config.networkDir);
    }
    const wallets = this.#wallets?.manager;
    if (wallets && wallets.states.length > 0) warnOfHighFees(config, logs.wallet);
    if (wallets) this.chain.pruner?.addLock('wallets', () => wallets.lowestNeeded);
    this.chain.startPruning();
  }

  status(): NodeStatus {
    return nodeStatus({
      ...{ chain: this.chain, network: this.#network, params: this.params, indexBuilds: this.indexBuilds },
      ...{ wallets: this.#wallets?.manager ?? null, sink: this.sink, now: unixSeconds(this.#clock) },
      failure: this.#workerFailure,
      isSeeding: this.#seeding,
    });
  }

  get #seeding(): boolean {
    const { enabled, interval } = this.#config.dev;
    return enabled && interval > 0;
  }

  /** Resolves when the first wallet has been created. Rejects with an OperatorError. */
  async prepared(): Promise<void> {
    await this.#wallets?.manager.prepared();
  }

  /** Returns the counters since the start. */
  counters(): NodeCounters {
    const { commit, ...stages } = this.chain.durations();
    const { engine, source } = signatureLibrary();
    return {
      signatures: { kind: engine.name, library: source },
      stages,
      commits: commit,
      lockFailures: lockFailures(),
      eventRows: this.chain.eventRows,
      runs: this.chain.runCounts,
      p2p: this.#network?.counters() ?? null,
    };
  }

  /** Calls the listener with every update of chain and mempool, in order. Returns a function that unsubscribes it. */
  onUpdate(listener: (update: NodeUpdate) => void): () => void {
    return this.#updates.subscribe(listener);
  }

  /**
   * Calls the listener when a peer has completed the handshake or disconnected. Returns a function that unsubscribes
   * it.
   */
  onPeerChange(listener: (change: PeerChange) => void): () => void {
    return this.#peerChanges.subscribe(listener);
  }

  /** Restores the saved mempool, and wallet transactions that are missing in it. Then it begins to take samples. */
  async loadMempool(signal: AbortSignal): Promise<void> {
    await this.mempool.load(signal);
    await this.#wallets?.manager.follower.mempoolLoaded();
    // Samples of a mempool that is not loaded yet would be too small.
    this.#sampler.start(this.#ending.signal);
  }

  /** Calls `stop` once as soon as the chain has the height of `chain.stopAtHeight`, if there is one. */
  watchStopHeight(stop: () => void): void {
    const { stopAtHeight } = this.#config.chain;
    if (stopAtHeight > 0) watchHeight(this.chain, stopAtHeight, { log: this.#log, reached: stop });
  }

  #sample(): StateSample {
    const { count, vsize } = this.mempool.mempool.totals();
    const { inbound, outbound } = this.#network?.counts() ?? { inbound: 0, outbound: 0 };
    return { mempoolCount: count, mempoolVsize: vsize, peers: inbound + outbound };
  }

  /** Starts the peer network, unless the configuration disables it. Throws OperatorError. */
  startPeers(): void {
    if (this.#network === null) this.#log.info('the peer network is disabled', { setting: 'p2p.enabled' });
    else this.#network.start();
  }

  /**
   * Runs a call of the main thread; returns a Refusal where it cannot be done. The signal aborts when the client
   * disconnects or the node stops.
   */
  call(name: NodeCallName, args: readonly unknown[], signal: AbortSignal): unknown {
    const call = this.#calls[name] as (...args: readonly unknown[]) => unknown;
    return call(...args, signal);
  }

  /** Whether a call may load, unload or change wallets, which the status lists. */
  changesWallets(name: NodeCallName): boolean {
    return Object.hasOwn(this.#walletCalls, name);
  }

  /** Imports block files. Throws OperatorError for files that cannot be read and for a failing disk. */
  async import(files: readonly string[], options: ImportOptions): Promise<ImportResult> {
    try {
      const result = await importFiles(this.chain, files, options, { clock: this.#clock, log: this.#log });
      this.#log.debug('import stages in milliseconds', { ...this.chain.timings });
      return result;
    } catch (error) {
      throw storageProblem(error, this.#config.chainDir, syncAgainAdvice(this.#config.chainDir));
    }
  }

  /** Runs the sandbox on regtest until the signal aborts, where the configuration enables it. */
  async sandbox(signal: AbortSignal): Promise<void> {
    if (this.#sandbox === null) return;
    await startSandbox({
      chain: this.#sandbox,
      params: this.params,
      interval: this.#config.dev.interval,
      signal,
      log: this.#log,
      clock: this.#clock,
    });
  }

  /** Notifies the observers of an update, after its numbers are marked as given. */
  #notifyUpdate(update: NodeUpdate): void {
    this.#given.addChanges(update.changes);
    this.#given.record();
    // Before the fronts are notified, whose acknowledgement frees the rows of removed transactions.
    this.sink?.addUpdate(update);
    this.#updates.notify(update);
  }

  /** Validates and commits accepted blocks, saves the mempool, and closes the storage. */
  async close(): Promise<void> {
    this.#ending.abort(new Error('the node stops'));
    const builds = Promise.all([this.indexBuilds.close(), this.sink?.close()]);
    await this.#network?.stop();
    try {
      await this.chain.close();
    } finally {
      const threads = Promise.all([builds, this.#merges.close(), this.#builds.close()]);
      this.#wallets?.close();
      this.mempool.close();
      try {
        this.#given.end();
      } finally {
        closeDatabase(this.#database);
        await Promise.all([this.#pool.close(), threads]);
      }
    }
  }
}
