import type { MempoolRecord } from '../feed/log-entry.ts';
import { SINK_SCHEMA } from '../sink/schema-name.ts';
import type { EventRecord } from '../storage/event-store.ts';
import { DatabaseSession, isNotCreated } from './database-session.ts';
import { type MempoolRow, mempoolRecordOf } from './mempool-rows.ts';

/** The state of the database that servers follow. */
export interface SinkHead {
  /** Version of the tables. */
  readonly version: number;
  /** As `chainNameOf` names the chain. */
  readonly network: string;
  /** `fill` until the look-up indexes exist. */
  readonly phase: string;
  /** -1 before the first block. */
  readonly height: number;
  /** Display order; empty before the first block. */
  readonly hash: string;
  /** 80 bytes; null before the first block. */
  readonly header: Uint8Array | null;
  /** Number of the next event. */
  readonly nextSeq: number;
  /** The tag of the log of events. */
  readonly logTag: string;
  /** Seconds since the lease of the last writer has ended, by the clock of the database; negative while it lasts. */
  readonly lapsed: number;
}

interface HeadRow extends Pick<SinkHead, 'version' | 'network' | 'phase' | 'height' | 'hash'> {
  readonly header: string | null;
  readonly next_seq: string | number;
  readonly log_tag: string | null;
  readonly lapsed: string | number;
}

interface EventRow extends Omit<EventRecord, 'seq'> {
  readonly seq: string | number;
}

/** An event of the mempool; null where events are missing. */
export interface NumberedRecord {
  readonly seq: number;
  readonly record: MempoolRecord | null;
}

/** Time limit of one statement, milliseconds. */
const LIMIT_MS = 5000;

/** Reads the position and the events of a sink on one connection. Each method rejects with the error of the driver. */
export class TailDatabase {
  readonly #session: DatabaseSession;

  /** `url` may hold a password; `service` is the name of the service. */
  constructor(url: string, service: string) {
    this.#session = new DatabaseSession({ url, name: `obverse ${service} tail`.slice(0, 63), limitMs: LIMIT_MS });
  }

  readHead(): Promise<SinkHead> {
    return this.#session.run(async (sql) => {
      const [row]: HeadRow[] = await sql.unsafe(
        `SELECT p.version, p.network, p.phase, p.height, encode(p.hash, 'hex') AS hash, p.next_seq, p.log_tag,
           encode(b.header, 'hex') AS header, CAST(extract(epoch FROM now() - l.expires) AS DOUBLE PRECISION) AS lapsed
         FROM ${SINK_SCHEMA}.sink_position AS p
         JOIN ${SINK_SCHEMA}.sink_lease AS l ON l.id = 1
         LEFT JOIN ${SINK_SCHEMA}.blocks AS b ON b.height = p.height
         WHERE p.id = 1`,
      );
      if (row === undefined || row.log_tag === null) throw new Error(NOT_FILLED);
      const { header, next_seq: nextSeq, log_tag: logTag, lapsed, ...same } = row;
      return {
        ...same,
        header: header === null ? null : Uint8Array.fromHex(header),
        nextSeq: Number(nextSeq),
        logTag,
        lapsed: Number(lapsed),
      };
    });
  }

  /** Returns at most `limit` events with numbers above `seq` and below `end`, in order. */
  readEvents(seq: number, end: number, limit: number): Promise<EventRecord[]> {
    return this.#session.run(async (sql) => {
      const rows: EventRow[] = await sql.unsafe(
        `SELECT seq, type, data FROM ${SINK_SCHEMA}.events WHERE seq > $1 AND seq < $2 ORDER BY seq LIMIT ${limit}`,
        [seq, end],
      );
      return rows.map(({ seq, type, data }) => ({ seq: Number(seq), type, data }));
    });
  }

  /** Returns the number before the newest `count` events of the chain; 0 without any. */
  readEventsStart(count: number): Promise<number> {
    return this.#session.run(async (sql) => {
      const [row] = await sql.unsafe(
        `SELECT coalesce(min(seq), 1) AS seq
         FROM (SELECT seq FROM ${SINK_SCHEMA}.events ORDER BY seq DESC LIMIT ${count}) AS newest`,
      );
      return Number(row.seq) - 1;
    });
  }

  /** As `readEvents` for those of the mempool; of a gap null in place of its event. */
  readMempoolEvents(seq: number, end: number, limit: number): Promise<NumberedRecord[]> {
    return this.#session.run(async (sql) => {
      const rows: (MempoolRow & { readonly seq: string | number })[] = await sql.unsafe(
        `SELECT seq, type, data, raw, spent FROM ${SINK_SCHEMA}.mempool_events WHERE seq > $1 AND seq < $2
         ORDER BY seq LIMIT ${limit}`,
        [seq, end],
      );
      return rows.map((row) => ({ seq: Number(row.seq), record: mempoolRecordOf({ ...row, seq: Number(row.seq) }) }));
    });
  }

  /** Returns the number below which events of the mempool may be removed. */
  readRemovedTo(): Promise<number> {
    return this.#session.run(async (sql) => {
      const [row] = await sql.unsafe(`SELECT removed_to FROM ${SINK_SCHEMA}.mempool_position WHERE id = 1`);
      return Number(row.removed_to);
    });
  }

  /** Returns the numbers below which events of the mempool may be removed, and of the oldest one; null without any. */
  readMempoolStart(): Promise<{ readonly removedTo: number; readonly oldest: number | null }> {
    return this.#session.run(async (sql) => {
      const [row] = await sql.unsafe(
        `SELECT removed_to, (SELECT min(seq) FROM ${SINK_SCHEMA}.mempool_events) AS oldest
         FROM ${SINK_SCHEMA}.mempool_position WHERE id = 1`,
      );
      const { removed_to: removedTo, oldest } = row;
      return { removedTo: Number(removedTo), oldest: oldest === null ? null : Number(oldest) };
    });
  }

  close(): void {
    this.#session.close();
  }
}

const NOT_FILLED =
  'the database has no chain for servers: a node of this version with sink.postgres creates and fills the tables';

/** Returns the reason of a failure for the log and for operators. Messages of the driver name no password. */
export function tailProblem(error: unknown): string {
  if (isNotCreated(error)) return NOT_FILLED;
  return error instanceof Error ? error.message : String(error);
}
