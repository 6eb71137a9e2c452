import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ExchangedRates, type RateBatch } from '../../src/serve/keys/exchanged-rates.ts';
import { ManualClock } from '../lib/manual-clock.ts';

/** Outcomes of an exchange: the table and the server may each miss it, or get it again. */
const OUTCOMES = ['complete', 'insert lost', 'acknowledgement lost', 'read lost', 'read twice'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** Servers and the table of their batches. */
class Cluster {
  readonly clock = new ManualClock(1_000_000);
  readonly servers: readonly ExchangedRates[];
  readonly #tables: Map<number, string>[];

  constructor(count: number, allowedFailures = 10) {
    this.servers = Array.from({ length: count }, () => new ExchangedRates(allowedFailures, this.clock));
    this.#tables = this.servers.map(() => new Map());
  }

  /** As RateExchange does with SQL; `limit` is the number of rows of one read. */
  exchange(at: number, outcome: Outcome = 'complete', limit = 1000): void {
    const server = this.servers[at]!;
    const batch = server.nextBatch();
    if (batch && outcome !== 'insert lost') this.#store(at, batch);
    if (outcome === 'insert lost' || outcome === 'acknowledgement lost') return;
    if (batch) server.acknowledge(batch.number);
    if (outcome === 'read lost') return;
    const seen = new Map((outcome === 'read twice' ? [] : server.seen()).map((each) => [each.server, each.number]));
    const rows = this.#tables.flatMap((table, other) =>
      other === at
        ? []
        : [...table]
            .filter(([number]) => number > (seen.get(String(other)) ?? 0))
            .map((row) => [other, ...row] as const),
    );
    for (const [other, number, charges] of rows.slice(0, limit))
      server.apply({ server: String(other), number, charges });
  }

  exchangeAll(): void {
    // A batch that was lost, one of what waits behind it, and the reads of both.
    for (let round = 0; round < 3; round++) for (const at of this.servers.keys()) this.exchange(at);
  }

  #store(at: number, { number, charges }: RateBatch): void {
    const table = this.#tables[at]!;
    // The statement is INSERT … ON CONFLICT DO NOTHING.
    if (!table.has(number)) table.set(number, charges);
  }
}

const bucketOf = (server: ExchangedRates, rate: { perSecond: number; burst: number }, name = 'key a') =>
  server.buckets.bucket(name, rate, new ManualClock(0));

describe('ExchangedRates', () => {
  test('each charge is subtracted once at every server, whichever statements are lost', () => {
    const rate = { perSecond: 1e-9, burst: 1_000_000 };
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            server: fc.nat(2),
            action: fc.oneof(fc.integer({ min: 1, max: 50 }), fc.constantFrom(...OUTCOMES)),
            limit: fc.integer({ min: 1, max: 3 }),
          }),
          { maxLength: 60 },
        ),
        (steps) => {
          const cluster = new Cluster(3);
          let consumed = 0;
          for (const { server, action, limit } of steps) {
            cluster.clock.advance(50);
            if (typeof action !== 'number') cluster.exchange(server, action, limit);
            else if (bucketOf(cluster.servers[server]!, rate).consume(action)) consumed += action;
          }
          cluster.exchangeAll();
          for (const server of cluster.servers) expect(bucketOf(server, rate).remaining).toBe(rate.burst - consumed);
        },
      ),
    );
  });

  test('a batch that is read again is subtracted once', () => {
    const cluster = new Cluster(2);
    const rate = { perSecond: 1e-9, burst: 100 };
    bucketOf(cluster.servers[0]!, rate).consume(30);
    cluster.exchange(0);
    for (let i = 0; i < 3; i++) cluster.exchange(1, 'read twice');
    expect(bucketOf(cluster.servers[1]!, rate).remaining).toBe(70);
  });

  test('servers together exceed a limit by no more than one interval of each further server', () => {
    const rate = { perSecond: 10, burst: 20 };
    const tickMs = 50;
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 4 }),
        fc.array(fc.tuple(fc.nat(3), fc.integer({ min: 0, max: 30 })), { minLength: 100, maxLength: 600 }),
        (count, visits) => {
          const cluster = new Cluster(count);
          let consumed = 0;
          for (const [tick, [at, calls]] of visits.entries()) {
            const bucket = bucketOf(cluster.servers[at % count]!, rate);
            for (let i = 0; i < calls; i++) if (bucket.consume(1)) consumed++;
            const seconds = (tick * tickMs) / 1000;
            const allowed = rate.burst + rate.perSecond * seconds;
            // A charge is known everywhere after two exchanges, which are half a second apart.
            expect(consumed).toBeLessThanOrEqual(allowed + (count - 1) * (rate.burst + rate.perSecond));
            cluster.clock.advance(tickMs);
            if (tick % 10 === 9) for (const each of cluster.servers.keys()) cluster.exchange(each);
          }
        },
      ),
    );
  });

  test('a server that saw nothing of a name knows the consumption of the others', () => {
    const cluster = new Cluster(2);
    const rate = { perSecond: 1, burst: 10 };
    for (const name of ['key a', '192.0.2.0/24']) {
      expect(bucketOf(cluster.servers[0]!, rate, name).consume(10)).toBe(true);
      cluster.exchangeAll();
      expect(bucketOf(cluster.servers[1]!, rate, name).consume(1)).toBe(false);
    }
    // A bucket of another rate is another limit.
    expect(bucketOf(cluster.servers[1]!, { perSecond: 1, burst: 11 }).consume(11)).toBe(true);
  });

  test('a refused request is charged nowhere', () => {
    const cluster = new Cluster(2);
    const rate = { perSecond: 1, burst: 5 };
    for (let i = 0; i < 50; i++) bucketOf(cluster.servers[0]!, rate).consume(1);
    cluster.exchangeAll();
    cluster.clock.advance(2000);
    expect(bucketOf(cluster.servers[1]!, rate).remaining).toBe(2);
  });

  test('after an outage, consumption of more than ten seconds ago is not passed on', () => {
    const cluster = new Cluster(2);
    const rate = { perSecond: 10, burst: 10 };
    const bucket = bucketOf(cluster.servers[0]!, rate);
    for (let second = 0; second < 600; second++) {
      bucket.consume(10);
      cluster.exchange(0, 'insert lost');
      cluster.clock.advance(1000);
    }
    cluster.exchangeAll();
    // At most the charges of ten seconds in a batch, and those of ten seconds that wait behind it.
    expect(bucketOf(cluster.servers[1]!, rate).retryAfter(1)).toBeLessThanOrEqual(20);
    expect(cluster.servers[0]!.unshared).toBeGreaterThan(0);
  });

  test('failed authentications of an address count at all servers', () => {
    const cluster = new Cluster(2, 5);
    const [a, b] = cluster.servers as [ExchangedRates, ExchangedRates];
    for (let i = 0; i < 3; i++) expect(a.failures.record('192.0.2.1')).toBe(0);
    cluster.exchangeAll();
    expect([b.failures.record('192.0.2.1'), b.failures.record('192.0.2.1')]).toEqual([0, 0]);
    expect(b.failures.record('192.0.2.1')).toBeGreaterThan(0);
    expect(b.failures.record('192.0.2.2')).toBe(0);
    cluster.clock.advance(61_000);
    expect(b.failures.record('192.0.2.1')).toBe(0);
  });

  test('many names go in several batches, and further ones are counted and not kept', () => {
    const cluster = new Cluster(1);
    const [server] = cluster.servers as [ExchangedRates];
    const rate = { perSecond: 1, burst: 10 };
    for (let i = 0; i < 10_500; i++) bucketOf(server, rate, `address ${i}`).consume(1);
    expect(server.unshared).toBe(500);
    const sizes: number[] = [];
    for (let batch = server.nextBatch(); batch; batch = server.nextBatch()) {
      sizes.push(JSON.parse(batch.charges).charges.length);
      server.acknowledge(batch.number);
    }
    expect(sizes).toEqual([2000, 2000, 2000, 2000, 2000]);
  });

  test('many addresses do not fill the bucket of a key again', () => {
    const [server] = new Cluster(1).servers as [ExchangedRates];
    const rate = { perSecond: 1, burst: 10 };
    expect(bucketOf(server, rate).consume(10)).toBe(true);
    for (let i = 0; i < 20_000; i++) bucketOf(server, rate, `address ${i}`).consume(1);
    expect(bucketOf(server, rate).remaining).toBe(0);
  });

  test.each([
    '',
    'null',
    '{}',
    '{"charges":[["key a",1,10,-5]],"failures":[]}',
    '{"charges":[[1,1,1,1]],"failures":[]}',
  ])('a batch that no server writes changes nothing: %j', (charges) => {
    const [server] = new Cluster(1).servers as [ExchangedRates];
    server.apply({ server: 'other', number: 1, charges });
    expect(bucketOf(server, { perSecond: 1, burst: 10 }).remaining).toBe(10);
  });
});
