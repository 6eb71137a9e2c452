// Not from the package itself, whose index also loads a push gateway and with it node:http, at every start.
import Counter from 'prom-client/lib/counter';
import Gauge from 'prom-client/lib/gauge';
import Histogram from 'prom-client/lib/histogram';
import Registry from 'prom-client/lib/registry';
import type { AuthCounters } from '../../auth/authenticator.ts';
import type { WebhookCounters } from '../../webhooks/webhooks.ts';
import { DurationHistogram, type DurationSeries } from './durations.ts';
import { NodeMetrics } from './node-metrics.ts';
import { addProcessMetrics } from './process-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';
import { addStateGauges, type GaugeSources } from './state-gauges.ts';

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
  readonly #logins;
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
    this.#logins = counter(
      'logins_total',
      'Attempts to log in with a code: ok, wrong, or limited where the address has made too many.',
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
    addStateGauges(this.#registry, sources);
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

  login(result: string): void {
    this.#logins.inc({ result });
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
  txBroadcast(result: 'accepted' | 'scheduled' | 'already_in_mempool' | 'already_confirmed' | 'rejected'): void {
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
