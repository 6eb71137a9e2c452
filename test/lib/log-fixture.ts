import type { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Gap, ResumePoint } from '../../src/feed/event-history.ts';
import { EventLog } from '../../src/feed/event-log.ts';
import type { EventLogLimits } from '../../src/http/options.ts';
import type { MempoolChange } from '../../src/mempool/changes.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import type { EndedEvents } from '../../src/storage/event-store.ts';
import { ManualClock } from './manual-clock.ts';

const LIMITS: EventLogLimits = { entries: 200_000, bytes: 128 * 1024 ** 2, ageMs: 24 * 3600 * 1000 };

/** A database with an events table to write into, and the log that reads it. */
export class LogFixture implements Disposable {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly log: EventLog;
  readonly reads: ChainReads;
  readonly #dir = mkdtempSync(join(tmpdir(), 'event-log-'));
  readonly #db: Database;
  readonly #typeOf: (seq: number) => string;

  constructor({
    rows = [],
    first = 1,
    limits = {},
    sliceMs = Infinity,
    typeOf = () => 'newBlock',
    ended,
  }: {
    rows?: number[];
    first?: number;
    limits?: Partial<EventLogLimits>;
    sliceMs?: number;
    typeOf?: (seq: number) => string;
    /** Events of the mempool that ended with the processes before; all of their numbers if absent. */
    ended?: EndedEvents;
  } = {}) {
    this.#typeOf = typeOf;
    this.#db = openWriter(join(this.#dir, 'chain.db'), { network: 'regtest', genesisHash: '00'.repeat(32) }, 8);
    this.write(...rows);
    // The numbers of this process, behind those of the ones before.
    this.#db.run("INSERT INTO event_ranges VALUES (0, 'log10000'), (?, 'log1now0')", [first]);
    if (ended) this.#db.run("INSERT INTO meta VALUES ('endedEvents', ?)", [JSON.stringify({ first, ...ended })]);
    this.reads = new ChainReads(this.#dir);
    this.log = new EventLog({ clock: this.clock, limits: { ...LIMITS, ...limits }, sliceMs });
    this.log.attach(this.reads);
  }

  write(...seqs: number[]): void {
    for (const seq of seqs)
      this.#db.run('INSERT INTO events (seq, type, data) VALUES (?, ?, ?)', [seq, this.#typeOf(seq), `{"seq":${seq}}`]);
  }

  prune(below: number): void {
    this.#db.run('DELETE FROM events WHERE seq < ?', [below]);
  }

  /** Returns the gaps after a number or a cursor, without the cursors in them, which another test covers. */
  gaps(after: number | string): Omit<Gap, 'cursor'>[] {
    return this.log.gapsBehind(this.point(after)).map(({ cursor, ...gap }) => gap);
  }

  point(after: number | string): ResumePoint {
    const found = typeof after === 'string' ? this.log.locate(after) : this.log.behind(after, 'z');
    if (found === null || typeof found === 'string') throw new Error(`${after}: ${found}`);
    return found;
  }

  /** All that the log hands out behind a number. */
  all(after = 0): number[] {
    const seqs: number[] = [];
    for (let at = after; ; ) {
      const { entries, scanned } = this.log.after(at, 3);
      if (scanned === at) return seqs;
      seqs.push(...entries.map(({ seq }) => seq));
      at = scanned;
    }
  }

  [Symbol.dispose](): void {
    this.log.close();
    this.reads.close();
    this.#db.close();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

export function update(seq: number): MempoolChange {
  return { kind: 'update', seq, data: `{"seq":${seq}}`, totals: {} as never };
}

export function added(seq: number, txid = seq.toString(16).padStart(64, '0'), bytes = 10): MempoolChange {
  return {
    kind: 'added',
    slot: 0,
    seq,
    data: JSON.stringify({ seq, txid }),
    raw: new Uint8Array(bytes),
    spent: new Uint8Array(bytes),
    fee: 300,
    feeDelta: 0,
    vsize: 100,
    time: 1,
    height: 1,
    silent: false,
    weight: 400,
    sigopCost: 0,
    replaced: [],
    unbroadcast: false,
  };
}
