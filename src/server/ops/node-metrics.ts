import type { Registry } from 'prom-client';
import Counter from 'prom-client/lib/counter';
import Gauge from 'prom-client/lib/gauge';
import type { FeeReport } from '../../mempool/fees/fee-estimator.ts';
import type { NodeCounters, P2pCounters } from '../../port/node-port.ts';
import { COUNTED_DATABASES, lockFailures, sumOfFailures } from '../../util/lock-failures.ts';
import { DurationHistogram, type DurationSeries } from './durations.ts';

export interface NodeMetricSources {
  /** Counters of the node thread; null before its first report. */
  counters(): NodeCounters | null;
  fees(): FeeReport | null;
}

/** Metrics of the node thread's counters, as of its last report about a second ago. */
export class NodeMetrics {
  readonly #sources: NodeMetricSources;
  readonly #stages = new DurationHistogram(
    'obverse_block_connect_seconds',
    'Time of each stage of block processing: parse, check, connect (coins and rows), wait (for script verification).',
  );
  readonly #commits = new DurationHistogram('obverse_db_commit_seconds', 'Time of commits, by database.');
  readonly #series = new Map<string, DurationSeries>();
  /** Rejected transactions of clients, by class. */
  readonly #rejected = new Map<string, number>();

  constructor(registry: Registry, sources: NodeMetricSources) {
    this.#sources = sources;
    const { counters, fees } = sources;
    addP2pMetrics(registry, () => counters()?.p2p ?? null);
    const registers = [registry];
    const rejectedHere = this.#rejected;
    new Counter({
      name: 'obverse_mempool_rejected_total',
      help: 'Transactions rejected by the mempool, of clients and of peers, by class.',
      labelNames: ['reason'],
      registers,
      collect() {
        this.reset();
        for (const [reason, count] of rejectedHere) this.inc({ reason }, count);
        for (const [reason, count] of Object.entries(counters()?.p2p?.rejected ?? {})) this.inc({ reason }, count);
      },
    });
    new Gauge({
      name: 'obverse_fee_rate',
      help: 'Estimated feerate for a confirmation within this number of blocks, sat/vB.',
      labelNames: ['target', 'estimator'],
      registers,
      collect() {
        this.reset();
        for (const { target, estimator, feerate } of fees()?.rates ?? [])
          this.set({ target: String(target), estimator }, feerate / 1000);
      },
    });
    new Gauge({
      name: 'obverse_event_log_rows',
      help: 'Events that the database holds.',
      registers,
      collect() {
        const rows = counters()?.eventRows;
        if (rows === undefined) this.remove();
        else this.set(rows);
      },
    });
    new Counter({
      name: 'obverse_db_busy_total',
      help: 'Statements that failed because another connection held the lock of the database for the 5 seconds that each waits; shorter waits are not counted. All wallets are one database here.',
      labelNames: ['db'],
      registers,
      collect() {
        this.reset();
        const all = sumOfFailures(lockFailures(), counters()?.lockFailures ?? {});
        for (const db of COUNTED_DATABASES) this.inc({ db }, all[db] ?? 0);
      },
    });
    new Gauge({
      name: 'obverse_signature_library_info',
      help: 'Always 1; the labels name the library that verifies signatures.',
      labelNames: ['kind', 'library'],
      registers,
      collect() {
        this.reset();
        const signatures = counters()?.signatures;
        if (signatures) this.set({ ...signatures }, 1);
      },
    });
    const byFamily = (name: string, help: string, part: 'runs' | 'bytes') =>
      new Gauge({
        name,
        help,
        labelNames: ['family'],
        registers,
        collect() {
          this.reset();
          for (const count of counters()?.runs ?? []) this.set({ family: count.family }, count[part]);
        },
      });
    byFamily(
      'obverse_storage_runs',
      'Sorted runs of coins and indexes; a merge replaces eight or more by one.',
      'runs',
    );
    byFamily('obverse_storage_run_bytes', 'Bytes of the sorted runs of coins and indexes.', 'bytes');
  }

  mempoolRejected(reason: string): void {
    this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + 1);
  }

  /** Returns the histograms, which prom-client does not hold. */
  text(): string {
    const counters = this.#sources.counters();
    if (counters) {
      for (const [stage, totals] of Object.entries(counters.stages))
        this.#seriesOf(this.#stages, { stage }).show(totals);
      this.#seriesOf(this.#commits, { db: 'chain' }).show(counters.commits);
    }
    return `${this.#stages.text()}\n${this.#commits.text()}`;
  }

  #seriesOf(histogram: DurationHistogram, labels: Readonly<Record<string, string>>): DurationSeries {
    const key = Object.values(labels).join();
    let series = this.#series.get(key);
    if (!series) this.#series.set(key, (series = histogram.add(labels)));
    return series;
  }
}

type Labels = Readonly<Record<string, string>>;
type Samples = readonly (readonly [labels: Labels, value: number])[];

/** Without a peer network none of these metrics has samples. */
function addP2pMetrics(registry: Registry, p2p: () => P2pCounters | null): void {
  const samplesOf = (of: (counters: P2pCounters) => Samples): Samples => {
    const counters = p2p();
    return counters === null ? [] : of(counters);
  };
  const counter = (name: string, help: string, labelNames: string[], of: (counters: P2pCounters) => Samples) =>
    new Counter({
      name: `obverse_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const [labels, value] of samplesOf(of)) this.inc(labels, value);
      },
    });
  const gauge = (name: string, help: string, labelNames: string[], of: (counters: P2pCounters) => Samples) =>
    new Gauge({
      name: `obverse_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        // After a reset, prom-client would show a metric without labels as 0.
        if (labelNames.length === 0) this.remove();
        else this.reset();
        for (const [labels, value] of samplesOf(of)) this.set(labels, value);
      },
    });
  gauge('peers', 'Peers whose handshake is complete.', ['direction', 'network'], ({ inbound, outbound }) => [
    ...samples({ direction: 'inbound' }, 'network', inbound),
    ...samples({ direction: 'outbound' }, 'network', outbound),
  ]);
  gauge('bans', 'Addresses and subnets that are banned.', [], ({ bans }) => [[{}, bans]]);
  counter(
    'p2p_bytes_total',
    'Bytes exchanged with peers.',
    ['direction'],
    ({ bytesSent: sent, bytesReceived: received }) => samples({}, 'direction', { sent, received }),
  );
  counter(
    'p2p_messages_total',
    'Messages exchanged with peers, those of unknown types as `other`.',
    ['direction', 'type'],
    ({ messagesSent, messagesReceived }) => [
      ...samples({ direction: 'sent' }, 'type', messagesSent),
      ...samples({ direction: 'received' }, 'type', messagesReceived),
    ],
  );
  counter(
    'peer_disconnects_total',
    'Connections to peers that have ended, including those without a complete handshake.',
    ['reason'],
    ({ disconnects }) => samples({}, 'reason', disconnects),
  );
}

function samples(labels: Labels, name: string, values: Readonly<Record<string, number>>): Samples {
  return Object.entries(values).map(([key, value]) => [{ ...labels, [name]: key }, value] as const);
}
