import Counter from 'prom-client/lib/counter';
import Gauge from 'prom-client/lib/gauge';
import type Registry from 'prom-client/lib/registry';
import type { MempoolTotals } from '../../mempool/changes.ts';
import type { SinkStatus } from '../../port/sink-status.ts';
import type { TextCounts } from '../../queries/tx-texts.ts';
import type { WalletState } from '../../wallet/wallet-state.ts';
import type { WebhookGauge } from '../../webhooks/webhooks.ts';
import type { NodeMetricSources } from './node-metrics.ts';
import { addSinkGauges } from './sink-gauges.ts';
import { addTailGauges, type TailGauges } from './tail-gauges.ts';

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
  /** The reads of a server's database; absent on a node. */
  tail?(): TailGauges;
  /** The database that follows the chain; null without one. */
  sink(): SinkStatus | null;
  auditWritable(): boolean;
  /** Number of people's sessions; null on a further front. */
  sessions(): number | null;
  /** Whether initial.key exists. */
  initialKeyFile(): boolean;
  cacheReady(): boolean;
  /** The cache of transactions; null where it is disabled. */
  txCache(): TextCounts | null;
  uptimeSeconds(): number;
  /** By thread: seconds since its last sign of progress, and the longest delay of its timers. */
  threads(): readonly { readonly name: string; readonly idle: number; readonly longestStall: number }[];
}

const WEBHOOK_STATES: readonly WebhookGauge['status'][] = ['active', 'failing', 'paused', 'disabled'];

/** Adds the gauges of the state of the node, which are read on every collection. */
export function addStateGauges(registry: Registry, given: GaugeSources): void {
  // Up to a dozen gauges show parts of the same facts.
  const sources = {
    ...given,
    chain: oncePerTurn(() => given.chain()),
    mempool: oncePerTurn(() => given.mempool()),
    databases: oncePerTurn(() => given.databases()),
  };
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
  addSinkGauges(registry, () => sources.sink());
  if (sources.tail) addTailGauges(registry, sources.tail);
  gauge('audit_writable', '0 while the audit log cannot be written, and spends are refused.', () =>
    sources.auditWritable() ? 1 : 0,
  );
  gauge('sessions', 'Open sessions of browsers.', () => sources.sessions());
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

/** Calls `read` once for all calls up to the next microtask, such as those of one collection. */
function oncePerTurn<T>(read: () => T): () => T {
  let known: { readonly value: T } | null = null;
  return () => {
    if (known === null) {
      known = { value: read() };
      queueMicrotask(() => (known = null));
    }
    return known.value;
  };
}
