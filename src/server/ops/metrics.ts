// Not from the package itself, whose index also loads a push gateway and with it node:http, at every start.
import Counter from 'prom-client/lib/counter';
import Gauge from 'prom-client/lib/gauge';
import Histogram from 'prom-client/lib/histogram';
import Registry from 'prom-client/lib/registry';
import type { AuthCounters } from '../../auth/authenticator.ts';
import type { MempoolTotals } from '../../mempool/changes.ts';
import type { TextCounts } from '../../queries/tx-texts.ts';
import type { WalletState } from '../../wallet/wallet-state.ts';
import type { WebhookCounters, WebhookGauge } from '../../webhooks/webhooks.ts';
import { DurationHistogram, type DurationSeries } from './durations.ts';
import { type NodeMetricSources, NodeMetrics } from './node-metrics.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';

/** Sources of the gauges, read on every collection; null omits a gauge. */
export interface GaugeSources extends NodeMetricSources {
  chain(): {
    readonly height: number;
    readonly headers: number;
    readonly tipTime: number;
    readonly difficulty: number;
    readonly verificationProgress: number;
    readonly initialBlockDownload: boolean;
    readonly unknownRules: boolean;
    readonly heavierInvalidChain: boolean;
    readonly circulating: number | null;
    readonly utxos: number | null;
    /** Lowest height from which on all blocks are stored; null if none has been pruned. */
    readonly pruneHeight: number | null;
    readonly validatedHeight: number;
    /** Heights of the indexes that are switched on. */
    readonly indexHeights: readonly { readonly name: string; readonly height: number }[];
  } | null;
  /** Bytes of block and undo files. */
  blockFileBytes(): Promise<number>;
  mempool(): Pick<MempoolTotals, 'count' | 'vsize' | 'usage' | 'minFeerate'> | null;
  eventsSeq(): number | null;
  /** Sizes in bytes by file; `name` is `chain`, `node`, `auth`, `watches` or `webhooks`. */
  databases(): Promise<readonly { readonly name: string; readonly bytes: number; readonly walBytes: number }[]>;
  /** Loaded wallets. */
  wallets(): readonly Pick<WalletState, 'name' | 'unlockedUntil' | 'unencrypted'>[];
  /** Spendable satoshis by wallet; null if balances are not shown. */
  walletBalances: (() => Promise<ReadonlyMap<string, number>>) | null;
  wsConnections(): number;
  wsBackpressured(): number;
  /** Number of watched items by their subscriber: a connection, or a key with all its connections. */
  wsWatched(): { readonly connection: number; readonly key: number };
  /** All webhooks; none on a further front. */
  webhooks(): readonly WebhookGauge[];
  auditWritable(): boolean;
  /** Whether initial.key exists. */
  initialKeyFile(): boolean;
  cacheReady(): boolean;
  /** The cache of transactions; null where it is disabled. */
  txCache(): TextCounts | null;
  uptimeSeconds(): number;
  /** By thread: seconds since its last sign of progress, and the longest delay of its timers. */
  threads(): readonly { readonly name: string; readonly idle: number; readonly longestStall: number }[];
}

export interface MetricsOptions {
  readonly service: string;
  readonly version: string;
  readonly commit: string;
  readonly startedAt: number;
  /** Makes the text of all fronts of that of this one; absent with one front. */
  readonly ofAllFronts?: (own: () => Promise<string>) => Promise<string>;
}

/** All metrics of one server, in a registry of its own. Recording costs a map lookup and an addition. */
export class ApiMetrics implements AuthCounters, WebhookCounters {
  readonly #registry = new Registry();
  readonly #ofAllFronts: NonNullable<MetricsOptions['ofAllFronts']>;
  readonly #requests: RequestMetrics;
  readonly #node: NodeMetrics;
  readonly #authFailures;
  readonly #passwords;
  readonly #rateLimited;
  /** Numbers of calls by method and code, which are formatted when they are collected. */
  readonly #rpcCounts = new Map<string, Map<number, number>>();
  readonly #rpcSeconds = new DurationHistogram('obverse_rpc_request_seconds', 'Time of JSON-RPC calls.');
  readonly #rpcByMethod = new Map<string, DurationSeries>();
  readonly #txBroadcast;
  readonly #mempoolAccepted;
  readonly #mempoolRemoved;
  readonly #auditFailures;
  readonly #auditLost;
  readonly #wsMessages;
  readonly #wsClosed;
  readonly #webhookAttempts;
  readonly #webhookEvents;
  readonly #webhooksDisabled;
  readonly #blocksConnected;
  readonly #blocksDisconnected;
  readonly #blockBytes;
  readonly #reorgs;
  readonly #reorgDepth;

  constructor({ service, version, commit, startedAt, ofAllFronts }: MetricsOptions, sources: GaugeSources) {
    this.#ofAllFronts = ofAllFronts ?? ((own) => own());
    const registers = [this.#registry];
    addProcessMetrics(this.#registry);
    this.#requests = new RequestMetrics(service);
    new Gauge({
      name: 'process_start_seconds',
      help: 'Unix time when the listener began to serve.',
      labelNames: ['service'],
      registers,
    }).set({ service }, startedAt);
    new Gauge({
      name: 'process_apcu_available',
      help: 'This runtime has no APCu: 1 when the shared in-process cache is enabled and initialised, else 0.',
      labelNames: ['service'],
      registers,
      collect() {
        this.set({ service }, sources.cacheReady() ? 1 : 0);
      },
    });
    new Gauge({
      name: 'obverse_build_info',
      help: 'Always 1; the labels describe the build.',
      labelNames: ['version', 'commit', 'bun'],
      registers,
    }).set({ version, commit, bun: Bun.version }, 1);
    const counter = (name: string, help: string, labelNames: string[]) =>
      new Counter({ name: `obverse_${name}`, help, labelNames, registers });
    this.#authFailures = counter('auth_failures_total', 'Refused credentials.', ['kind']);
    this.#passwords = counter(
      'auth_passwords_total',
      'Passwords and static keys that were not verified before: compared (right, wrong), or refused without a comparison (dropped).',
      ['result'],
    );
    this.#rateLimited = counter('rate_limited_total', 'Requests refused by a limit.', ['scope']);
    const rpcCounts = this.#rpcCounts;
    new Counter({
      name: 'obverse_rpc_requests_total',
      help: 'JSON-RPC calls, by known method and error code (0 is success).',
      labelNames: ['method', 'code'],
      registers,
      collect() {
        this.reset();
        for (const [method, codes] of rpcCounts)
          for (const [code, count] of codes) this.inc({ method, code: String(code) }, count);
      },
    });
    this.#txBroadcast = counter('tx_broadcast_total', 'Submitted transactions, by result.', ['result']);
    this.#mempoolAccepted = counter('mempool_accepted_total', 'Transactions that entered the mempool.', []);
    this.#mempoolRemoved = counter('mempool_removed_total', 'Transactions that left the mempool, by reason.', [
      'reason',
    ]);
    this.#auditFailures = counter('audit_failures_total', 'Commits of the audit log that failed.', []);
    this.#auditLost = counter('audit_lost_total', 'Rows that could not be recorded in the audit log.', []);
    this.#wsMessages = counter('ws_messages_total', 'WebSocket messages sent, by type.', ['type']);
    this.#wsClosed = counter('ws_closed_total', 'WebSocket connections closed, by code.', ['code']);
    this.#webhookAttempts = counter('webhook_attempts_total', 'Attempts to deliver to webhooks, by result.', [
      'result',
    ]);
    this.#webhookEvents = counter('webhook_events_total', 'Events that receivers of webhooks have accepted.', []);
    this.#webhooksDisabled = counter(
      'webhooks_disabled_total',
      'Webhooks that were disabled since they only failed.',
      [],
    );
    this.#blocksConnected = counter('blocks_connected_total', 'Blocks that joined the active chain.', []);
    this.#blocksDisconnected = counter('blocks_disconnected_total', 'Blocks that left the active chain.', []);
    this.#blockBytes = counter('block_bytes_total', 'Size of the blocks that joined the active chain.', []);
    this.#reorgs = counter('reorgs_total', 'Reorganizations of the active chain.', []);
    this.#reorgDepth = new Histogram({
      name: 'obverse_reorg_depth',
      help: 'Blocks that left the active chain in a reorganization.',
      buckets: [1, 2, 3, 6, 10, 100],
      registers,
    });
    addGauges(this.#registry, sources);
    this.#node = new NodeMetrics(this.#registry, sources);
  }

  /** `route` is a template or `unmatched`. */
  http(route: string, method: string, status: number, seconds: number): void {
    this.#requests.record(route, method, status, seconds);
  }

  authFailure(kind: string): void {
    this.#authFailures.inc({ kind });
  }

  password(result: string): void {
    this.#passwords.inc({ result });
  }

  rateLimited(scope: string): void {
    this.#rateLimited.inc({ scope });
  }

  /** Counts a call. `method` must be known to the node; `code` is 0 on success. */
  rpc(method: string, code: number, seconds: number): void {
    let codes = this.#rpcCounts.get(method);
    if (!codes) this.#rpcCounts.set(method, (codes = new Map()));
    codes.set(code, (codes.get(code) ?? 0) + 1);
    let series = this.#rpcByMethod.get(method);
    if (!series) this.#rpcByMethod.set(method, (series = this.#rpcSeconds.add({ method })));
    series.observe(seconds);
  }

  /** Counts a submitted transaction by its result. */
  txBroadcast(result: 'accepted' | 'already_in_mempool' | 'already_confirmed' | 'rejected'): void {
    this.#txBroadcast.inc({ result });
  }

  /** Counts one change of the mempool. */
  mempoolChange(kind: 'added' | 'removed', reason: string): void {
    if (kind === 'added') this.#mempoolAccepted.inc();
    else this.#mempoolRemoved.inc({ reason });
  }

  /** Counts a rejected transaction of a client; the node counts those of peers. */
  mempoolRejected(reason: string): void {
    this.#node.mempoolRejected(reason);
  }

  auditFailure(): void {
    this.#auditFailures.inc();
  }

  auditLost(rows: number): void {
    this.#auditLost.inc(rows);
  }

  wsMessage(type: string): void {
    this.#wsMessages.inc({ type });
  }

  wsClosed(code: number): void {
    this.#wsClosed.inc({ code: String(code) });
  }

  webhookAttempt(result: string, events: number): void {
    this.#webhookAttempts.inc({ result });
    if (result === 'ok') this.#webhookEvents.inc(events);
  }

  webhookDisabled(): void {
    this.#webhooksDisabled.inc();
  }

  /** Counts an event of the log; `data` is JSON text. */
  event(type: string, data: string): void {
    if (type === 'newBlock') {
      const { size = 0 } = JSON.parse(data) as { size?: number };
      this.#blocksConnected.inc();
      this.#blockBytes.inc(size);
    } else if (type === 'blockDisconnected') this.#blocksDisconnected.inc();
    else if (type === 'reorg') {
      this.#reorgs.inc();
      this.#reorgDepth.observe((JSON.parse(data) as { depth: number }).depth);
    }
  }

  /** The metrics of all fronts, `text/plain; version=0.0.4`. */
  render(): Promise<string> {
    return this.#ofAllFronts(() => this.ownText());
  }

  /** The metrics of this front. */
  async ownText(): Promise<string> {
    const parts = [await this.#registry.metrics()];
    for (const source of [this.#requests, this.#rpcSeconds, this.#node]) {
      // Other tasks of the thread run between two metrics.
      await new Promise((resolve) => setImmediate(resolve));
      parts.push(source.text());
    }
    return parts.join('\n');
  }
}

const WEBHOOK_STATES: readonly WebhookGauge['status'][] = ['active', 'failing', 'paused', 'disabled'];

function addGauges(registry: Registry, sources: GaugeSources): void {
  const registers = [registry];
  type Chain = NonNullable<ReturnType<GaugeSources['chain']>>;
  const gauge = (name: string, help: string, value: () => number | null) =>
    new Gauge({
      name: `obverse_${name}`,
      help,
      registers,
      collect() {
        const now = value();
        if (now === null) this.remove();
        else this.set(now);
      },
    });
  const chain = (name: string, help: string, of: (chain: Chain) => number | null) =>
    gauge(name, help, () => {
      const now = sources.chain();
      return now && of(now);
    });
  chain('chain_height', 'Height of the active tip.', ({ height }) => height);
  chain('chain_headers', 'Height of the best validated header.', ({ headers }) => headers);
  chain('chain_tip_time_seconds', 'Block time of the active tip.', ({ tipTime }) => tipTime);
  chain('chain_difficulty', 'Difficulty of the active tip.', ({ difficulty }) => difficulty);
  chain(
    'chain_verification_progress',
    'Estimated part of the chain that is verified, 0 to 1.',
    (c) => c.verificationProgress,
  );
  chain('chain_initial_download', '1 during initial block download.', (c) => (c.initialBlockDownload ? 1 : 0));
  chain(
    'chain_prune_height',
    'Lowest height from which on all blocks are stored; 0 if none has been pruned.',
    ({ pruneHeight }) => pruneHeight ?? 0,
  );
  chain(
    'chain_validated_height',
    'Height up to which all blocks are validated: behind a loaded UTXO set, below the tip.',
    ({ validatedHeight }) => validatedHeight,
  );
  new Gauge({
    name: 'obverse_chain_warnings',
    help: '1 while unknown rules are active (unknown_rules), or an invalid chain is far ahead of the tip (invalid_chain).',
    labelNames: ['kind'],
    registers,
    collect() {
      const now = sources.chain();
      this.reset();
      if (!now) return;
      this.set({ kind: 'unknown_rules' }, now.unknownRules ? 1 : 0);
      this.set({ kind: 'invalid_chain' }, now.heavierInvalidChain ? 1 : 0);
    },
  });
  chain('utxos', 'Unspent outputs at the active tip.', ({ utxos }) => utxos);
  new Gauge({
    name: 'obverse_index_height',
    help: 'Height an index has reached.',
    labelNames: ['index'],
    registers,
    collect() {
      const now = sources.chain();
      this.reset();
      for (const { name, height } of now?.indexHeights ?? []) this.set({ index: name }, height);
    },
  });
  gauge('mempool_transactions', 'Transactions in the mempool.', () => sources.mempool()?.count ?? null);
  gauge('mempool_vbytes', 'Virtual bytes in the mempool.', () => sources.mempool()?.vsize ?? null);
  gauge('mempool_usage_bytes', 'Memory usage of the mempool.', () => sources.mempool()?.usage ?? null);
  gauge('mempool_min_fee_rate', 'Least feerate that enters the mempool, sat/vB.', () => {
    const totals = sources.mempool();
    return totals && totals.minFeerate / 1000;
  });
  new Counter({
    name: 'obverse_tx_cache_lookups_total',
    help: 'Look-ups of confirmed transactions in the cache of replies, by result.',
    labelNames: ['result'],
    registers,
    collect() {
      const counts = sources.txCache();
      this.reset();
      if (counts === null) return;
      this.inc({ result: 'hit' }, counts.hits);
      this.inc({ result: 'miss' }, counts.misses);
    },
  });
  gauge('tx_cache_bytes', 'Size of the cache of transactions.', () => sources.txCache()?.bytes ?? null);
  gauge('events_seq', 'Number of the newest event of the log.', () => sources.eventsSeq());
  gauge('audit_writable', '0 while the audit log cannot be written, and spends are refused.', () =>
    sources.auditWritable() ? 1 : 0,
  );
  gauge('initial_key_file', '1 while initial.key holds a key with all scopes in clear.', () =>
    sources.initialKeyFile() ? 1 : 0,
  );
  new Gauge({
    name: 'obverse_webhooks',
    help: 'Webhooks by status; failing ones are active, and their last attempt failed.',
    labelNames: ['status'],
    registers,
    collect() {
      const now = sources.webhooks();
      for (const status of WEBHOOK_STATES) this.set({ status }, now.filter((each) => each.status === status).length);
    },
  });
  const webhookLag = (name: string, help: string, of: (lag: WebhookGauge['lag']) => number) =>
    new Gauge({
      name: `obverse_webhook_lag_${name}`,
      help,
      labelNames: ['webhook'],
      registers,
      collect() {
        this.reset();
        for (const { id, lag } of sources.webhooks()) this.set({ webhook: id }, of(lag));
      },
    });
  webhookLag('events', 'Event numbers between the position of a webhook and the end of the log.', (lag) => lag.events);
  webhookLag('seconds', 'Age of the oldest undelivered event of a webhook.', (lag) => lag.seconds);
  gauge('ws_connections', 'Open WebSocket connections.', () => sources.wsConnections());
  gauge('ws_backpressured', 'WebSocket connections whose client reads too slowly.', () => sources.wsBackpressured());
  new Gauge({
    name: 'obverse_ws_watched',
    help: 'Watched items: of connections, and those stored for keys.',
    labelNames: ['by'],
    registers,
    collect() {
      for (const [by, count] of Object.entries(sources.wsWatched())) this.set({ by }, count);
    },
  });
  new Gauge({
    name: 'obverse_wallet_locked',
    help: '1 while a wallet needs its passphrase before it can spend.',
    labelNames: ['wallet'],
    registers,
    collect() {
      this.reset();
      for (const { name, unlockedUntil } of sources.wallets()) this.set({ wallet: name }, unlockedUntil === 0 ? 1 : 0);
    },
  });
  new Gauge({
    name: 'obverse_wallet_unencrypted',
    help: '1 while a wallet with private keys has no passphrase.',
    labelNames: ['wallet'],
    registers,
    collect() {
      this.reset();
      for (const { name, unencrypted } of sources.wallets()) this.set({ wallet: name }, unencrypted ? 1 : 0);
    },
  });
  const { walletBalances } = sources;
  if (walletBalances)
    new Gauge({
      name: 'obverse_wallet_balance_base_units',
      help: 'What a wallet could spend, in base units, as getbalance counts it.',
      labelNames: ['wallet'],
      registers,
      async collect() {
        const balances = await walletBalances();
        this.reset();
        for (const [wallet, balance] of balances) this.set({ wallet }, balance);
      },
    });
  const byThread = (name: string, help: string, of: (thread: ReturnType<GaugeSources['threads']>[number]) => number) =>
    new Gauge({
      name: `obverse_thread_${name}_seconds`,
      help,
      labelNames: ['thread'],
      registers,
      collect() {
        this.reset();
        for (const thread of sources.threads()) this.set({ thread: thread.name }, of(thread));
      },
    });
  byThread('idle', 'Since a thread was last seen to answer or to get on with its work.', ({ idle }) => idle);
  byThread('longest_stall', 'The longest since its start that a thread did not answer.', (each) => each.longestStall);
  gauge('uptime_seconds', 'Seconds since the start.', () => sources.uptimeSeconds());
  new Gauge({
    name: 'obverse_supply_base_units',
    help: 'Coins in base units: circulating is the value of the UTXO set.',
    labelNames: ['kind'],
    registers,
    collect() {
      const now = sources.chain();
      if (now?.circulating != null) this.set({ kind: 'circulating' }, now.circulating);
    },
  });
  const size = (name: string, help: string, of: (db: { bytes: number; walBytes: number }) => number) =>
    new Gauge({
      name: `obverse_${name}`,
      help,
      labelNames: ['db'],
      registers,
      async collect() {
        for (const db of await sources.databases()) this.set({ db: db.name }, of(db));
      },
    });
  new Gauge({
    name: 'obverse_block_file_bytes',
    help: 'Bytes of block and undo files.',
    registers,
    async collect() {
      this.set(await sources.blockFileBytes());
    },
  });
  size('db_size_bytes', 'Size of a database file.', ({ bytes }) => bytes);
  size('db_wal_bytes', 'Size of the write-ahead log of a database.', ({ walBytes }) => walBytes);
}
