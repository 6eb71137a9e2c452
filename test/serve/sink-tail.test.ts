import { expect, test } from 'bun:test';
import { EventLog } from '../../src/feed/event-log.ts';
import { SinkTail } from '../../src/serve/sink-tail.ts';
import type { SinkHead } from '../../src/serve/tail-database.ts';
import { hostClock } from '../../src/util/clock.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { poll } from '../lib/node-process.ts';

/** A database that removes events at a moment that the test determines. */
class RemovingDatabase {
  readonly chain = new Set<number>();
  readonly mempool = new Set<number>();
  nextSeq = 1;
  removedTo = 0;
  /** Called before the events of the mempool are read. */
  beforeMempool = () => {};

  async readHead(): Promise<SinkHead> {
    return {
      ...{
        version: 2,
        network: 'regtest',
        phase: 'live',
        height: 1,
        hash: '11'.repeat(32),
        header: new Uint8Array(80),
      },
      ...{ nextSeq: this.nextSeq, logTag: 'tag00000', lapsed: -1 },
    };
  }
  readonly #within = (set: ReadonlySet<number>, seq: number, end: number, limit: number) =>
    [...set].filter((each) => each > seq && each < end).slice(0, limit);
  async readEvents(seq: number, end: number, limit: number) {
    return this.#within(this.chain, seq, end, limit).map((each) => ({
      seq: each,
      type: 'newBlock',
      data: `{"seq":${each}}`,
    }));
  }
  async readEventsStart() {
    return 0;
  }
  async readMempoolEvents(seq: number, end: number, limit: number) {
    this.beforeMempool();
    return this.#within(this.mempool, seq, end, limit).map((each) => {
      const event = { seq: each, type: 'mempoolUpdate', data: `{"seq":${each}}`, tx: null, feeRate: 0, reason: null };
      return { seq: each, record: event };
    });
  }
  async readMempoolStart() {
    return { removedTo: this.removedTo, oldest: Math.min(...this.mempool) };
  }
  async readRemovedTo() {
    return this.removedTo;
  }
  /** Adds events of the mempool, and of a block as the last one. */
  addEvents(count: number): void {
    for (let i = 1; i < count; i++) this.mempool.add(this.nextSeq++);
    this.chain.add(this.nextSeq++);
  }
  removeBelow(seq: number): void {
    for (const each of this.mempool) if (each < seq) this.mempool.delete(each);
    this.removedTo = seq;
  }
}

test('events of the mempool that are removed before a server reads them are a gap, and those of blocks are delivered', async () => {
  const database = new RemovingDatabase();
  database.addEvents(4);
  const limits = { entries: 1000, bytes: 1 << 20, ageMs: 1e9 };
  const log = new EventLog({ clock: hostClock, limits });
  const tail = new SinkTail({
    ...{ database, network: 'regtest', log: silentLog, clock: hostClock },
    onLive(chain, from) {
      log.attach(chain, from);
      chain.node.onUpdate(({ commit }) => log.committed(commit!.lastSeq));
    },
    events: () => log,
    onTip: () => {},
    onMoved: () => {},
  });
  const stop = new AbortController();
  const running = tail.run(stop.signal);
  try {
    await poll('the first events', () => log.seq === 4);
    database.beforeMempool = () => {
      database.beforeMempool = () => {};
      database.removeBelow(9);
    };
    // The numbers 5 to 8, where 8 is a block; then 9 to 12.
    database.addEvents(4);
    database.addEvents(4);
    tail.nudge();
    await poll('all events', () => log.seq === 12);
    expect(log.after(4, 100).entries.map(({ seq }) => seq)).toEqual([8, 9, 10, 11, 12]);
    const point = log.behind(4, 'z')!;
    expect(log.gapsBehind(point)).toMatchObject([{ scope: 'mempool', fromSeq: 5, toSeq: 8 }]);
  } finally {
    stop.abort();
    await running;
    tail.close();
  }
});
