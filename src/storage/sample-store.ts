import type { Database } from 'bun:sqlite';

const DAY = 86_400;

/**
 * How long samples are kept: those of an interval are added up, and older ones are there in longer intervals only. At most
 * 13,800 rows, some 600 kB.
 */
const SAMPLE_TIERS = [
  { seconds: 60, kept: DAY },
  { seconds: 600, kept: 30 * DAY },
  { seconds: 7200, kept: 366 * DAY },
  { seconds: DAY, kept: 3660 * DAY },
] as const;

/** In node.db since schema 5. `bucket` is the begin of the interval, Unix seconds; the sums are those of its samples. */
export const SAMPLE_TABLE = `
CREATE TABLE samples (
  tier INTEGER NOT NULL,
  bucket INTEGER NOT NULL,
  samples INTEGER NOT NULL,
  mempool_count INTEGER NOT NULL,
  mempool_vsize INTEGER NOT NULL,
  peers INTEGER NOT NULL,
  PRIMARY KEY (tier, bucket)
) WITHOUT ROWID;
`;

/** The state of the node at one moment. */
export interface StateSample {
  readonly mempoolCount: number;
  /** Virtual bytes of the mempool. */
  readonly mempoolVsize: number;
  /** Peers that have completed the handshake. */
  readonly peers: number;
}

const COLUMNS: Readonly<Record<keyof StateSample, string>> = {
  mempoolCount: 'mempool_count',
  mempoolVsize: 'mempool_vsize',
  peers: 'peers',
};

/** A series of samples to read; times are Unix seconds. */
export interface SampleRequest {
  readonly series: keyof StateSample;
  /** Null for all that is kept. */
  readonly length: number | null;
  /** Maximum number of points. */
  readonly points: number;
}

/** Means of samples. Intervals without a sample have no point. */
export interface SampledSeries {
  /** Seconds that each point stands for. */
  readonly interval: number;
  /** Begin of the interval in Unix seconds, and the mean of its samples. */
  readonly points: readonly (readonly [time: number, value: number])[];
}

/** The samples of the state of the node in node.db. */
export class SampleStore {
  readonly #db: Database;
  readonly #add;
  readonly #removeOld;
  readonly #removeFuture;
  readonly #counts;

  constructor(db: Database) {
    this.#db = db;
    this.#add = db.prepare<null, [number, number, number, number, number]>(
      `INSERT INTO samples VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET samples = samples + 1,
         mempool_count = mempool_count + ?3, mempool_vsize = mempool_vsize + ?4, peers = peers + ?5`,
    );
    this.#removeOld = db.prepare<null, [number, number]>('DELETE FROM samples WHERE tier = ? AND bucket <= ?');
    this.#removeFuture = db.prepare<null, [number, number]>('DELETE FROM samples WHERE tier = ? AND bucket > ?');
    this.#counts = db.prepare<{ first: number | null; samples: number | null }, [number, number]>(
      'SELECT min(bucket) AS first, sum(samples) AS samples FROM samples WHERE tier = ? AND bucket <= ?',
    );
  }

  /**
   * Adds a sample, and removes those that have become too old. Samples of the future, which a clock that was set back
   * leaves, are removed as well.
   */
  add(at: number, { mempoolCount, mempoolVsize, peers }: StateSample): void {
    this.#db.transaction(() => {
      for (const [tier, { seconds, kept }] of SAMPLE_TIERS.entries()) {
        this.#add.run(tier, startOf(at, seconds), mempoolCount, mempoolVsize, peers);
        this.#removeOld.run(tier, at - kept - seconds);
        this.#removeFuture.run(tier, at);
      }
    })();
  }

  /** Returns a series that ends at `now`, in the shortest interval that covers it with at most the points requested. */
  read({ series, length, points }: SampleRequest, now: number): SampledSeries {
    const tier = length === null ? this.#tierOfAll(now) : SAMPLE_TIERS.findIndex(({ kept }) => kept >= length);
    const { seconds } = SAMPLE_TIERS[tier]!;
    const first = length === null ? (this.#counts.get(tier, now)!.first ?? now) : now - length;
    const start = startOf(first, seconds);
    const interval = seconds * Math.ceil((now - start + 1) / (seconds * points));
    const column = COLUMNS[series];
    const rows = this.#db
      .query<{ part: number; value: number }, [number, number, number, number]>(
        `SELECT (bucket - ?2) / ?4 AS part, sum(${column}) * 1.0 / sum(samples) AS value FROM samples
         WHERE tier = ?1 AND bucket >= ?2 AND bucket <= ?3 GROUP BY part ORDER BY part`,
      )
      .all(tier, start, now, interval);
    return { interval, points: rows.map(({ part, value }) => [start + part * interval, value] as const) };
  }

  /** Returns the number of the first tier that still has every sample. */
  #tierOfAll(now: number): number {
    const last = SAMPLE_TIERS.length - 1;
    const { samples } = this.#counts.get(last, now)!;
    for (let tier = 0; tier < last; tier++) if (this.#counts.get(tier, now)!.samples === samples) return tier;
    return last;
  }
}

function startOf(at: number, seconds: number): number {
  return Math.floor(at / seconds) * seconds;
}
