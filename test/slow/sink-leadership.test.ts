import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { INITIAL_SINK_STATUS, type SinkStatus } from '../../src/port/sink-status.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { BatchReader } from '../../src/sink/block-batch.ts';
import { LeaseLost } from '../../src/sink/leader-lease.ts';
import { SinkDatabase } from '../../src/sink/sink-database.ts';
import { SinkFollower } from '../../src/sink/sink-follower.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { directoryWith, extendDirectory } from '../lib/chain-directory.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { cleanUpAfterTests, poll } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { brokenEvents, sinkAt } from '../lib/sink-rows.ts';

cleanUpAfterTests();

const chain = recentChain(12, { payments: 1 });
const hashAt = (height: number) => hashToHex(chain.at(height).hash);

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

/** The sink of a node that has the blocks up to a height and no others. */
class TestSink implements AsyncDisposable {
  readonly clock = new ManualClock(Date.now());
  status: SinkStatus = INITIAL_SINK_STATUS;
  /** False as behind a loaded UTXO set. */
  canRead = true;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  readonly #datadir: string;

  private constructor(datadir: string, url: string, leader: string) {
    this.#datadir = datadir;
    const chainDir = join(datadir, 'regtest/chain');
    const reads = new ChainReads(chainDir);
    const blocks = new BatchReader(reads);
    const database = new SinkDatabase(url, { network: 'regtest', leader });
    const follower = new SinkFollower({
      ...{ reads, database, mempool: null, halvingInterval: 150, clock: this.clock },
      readBatch: async (request) => (this.canRead ? blocks.readBatch(request) : null),
      onStatus: (status) => {
        this.status = status;
      },
    });
    follower.endInitialSync();
    this.#running = follower.run(this.#ending.signal).finally(async () => {
      await database.close();
      reads.close();
    });
  }

  static async start(height: number, url: string, leader: string): Promise<TestSink> {
    return new TestSink(await directoryWith({ blocks: chain.blocks.slice(0, height + 1) }), url, leader);
  }

  /** Connects the blocks above a height up to another one. */
  connect(from: number, to: number): Promise<void> {
    return extendDirectory(this.#datadir, chain.blocks.slice(from + 1, to + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort(new Error('the node stops'));
    await this.#running;
  }
}

const isState = (sink: TestSink, state: string) => () => sink.status.state === state;

test('a leader that does not write the next block for a minute is replaced by a node that has it', async () => {
  const url = postgres.createDatabase('stalled');
  await using sql = new SQL(url, { max: 1 });
  await using behind = await TestSink.start(8, url, 'behind');
  await sinkAt(sql, hashAt(8));
  await using equal = await TestSink.start(8, url, 'equal');
  await using ahead = await TestSink.start(8, url, 'ahead');
  await poll('the standbys', () => isState(equal, 'standby')() && isState(ahead, 'standby')());
  const states = async () => {
    // Each reads the position once a second.
    await Bun.sleep(2200);
    return [behind, equal, ahead].map(({ status }) => status.state);
  };
  // A quiet minute before the block does not count.
  for (const { clock } of [equal, ahead]) clock.advance(61_000);
  expect(await states()).toEqual(['live', 'standby', 'standby']);
  await ahead.connect(8, 12);
  expect(await states()).toEqual(['live', 'standby', 'standby']);
  for (const { clock } of [equal, ahead]) clock.advance(59_000);
  expect(await states()).toEqual(['live', 'standby', 'standby']);
  for (const { clock } of [equal, ahead]) clock.advance(2000);
  await sinkAt(sql, hashAt(12));
  await poll('the change', () => isState(ahead, 'live')() && isState(behind, 'standby')());
  // Nodes that have nothing to add do not take it back.
  for (const { clock } of [behind, equal]) clock.advance(61_000);
  expect(await states()).toEqual(['standby', 'standby', 'live']);
  expect((await brokenEvents(sql)).faults).toEqual([]);
});

test('a leader that cannot read its next block gives up the lease with the reason, and writes when it can', async () => {
  const url = postgres.createDatabase('unreadable');
  await using sql = new SQL(url, { max: 1 });
  {
    await using _first = await TestSink.start(5, url, 'first');
    await sinkAt(sql, hashAt(5));
  }
  await using loaded = await TestSink.start(12, url, 'loaded');
  loaded.canRead = false;
  const problem =
    'the block of height 6 cannot be written yet: blocks behind a loaded UTXO set follow when the ones below it are validated';
  await poll('the reason', () => loaded.clock.advance(30_000) ?? loaded.status.problem === problem);
  const lapsed = async () =>
    (await sql`SELECT expires <= now() AS lapsed FROM obverse.sink_lease`)[0].lapsed as boolean;
  await poll('the end of the lease', lapsed);
  await poll('the standby', isState(loaded, 'standby'));
  const other = await TestSink.start(9, url, 'other');
  await sinkAt(sql, hashAt(9));
  await other[Symbol.asyncDispose]();
  loaded.canRead = true;
  await sinkAt(sql, hashAt(12));
  await poll('the state', () => loaded.status.state === 'live' && loaded.status.problem === null);
  expect((await brokenEvents(sql)).faults).toEqual([]);
});

test('a node that saw events which the database lacks takes over where the leader does not notice', async () => {
  const url = postgres.createDatabase('unnoticed');
  await using sql = new SQL(url, { max: 1 });
  await using first = await TestSink.start(12, url, 'first');
  await sinkAt(sql, hashAt(12));
  await using second = await TestSink.start(12, url, 'second');
  await poll('the standby', isState(second, 'standby'));
  const tag = async () => (await sql`SELECT log_tag FROM obverse.sink_position`)[0].log_tag as string;
  const before = await tag();
  // As on a replica that lacks the last transactions; the leader reads its position only when it connects.
  await sql`UPDATE obverse.sink_position SET next_seq = next_seq - 2`;
  await poll('the change', () => {
    second.clock.advance(2000);
    return isState(second, 'live')() && second.status.rollbacks === 1;
  });
  await poll('the former leader', isState(first, 'standby'));
  const after = await tag();
  expect([after.slice(0, 4), after === before]).toEqual([before.slice(0, 4), false]);
  // The former leader does not change it once more.
  first.clock.advance(61_000);
  await Bun.sleep(2200);
  expect([await tag(), first.status.state, first.status.rollbacks]).toEqual([after, 'standby', 0]);
});

test('a node that is behind the database leaves the lease to one that is not', async () => {
  const url = postgres.createDatabase('behind');
  await using sql = new SQL(url, { max: 1 });
  {
    await using _first = await TestSink.start(12, url, 'first');
    await sinkAt(sql, hashAt(12));
  }
  await using behind = await TestSink.start(8, url, 'behind');
  await poll('the standby', isState(behind, 'standby'));
  // The lease is free all the time.
  await Bun.sleep(2200);
  expect(behind.status.state).toBe('standby');
  await behind.connect(8, 12);
  await poll('the leader', isState(behind, 'live'));
});

test('a failover that takes back the number of a leader leaves one leader alone', async () => {
  const url = postgres.createDatabase('fenced');
  await using sql = new SQL(url, { max: 1 });
  const [former, next] = ['former', 'next'].map((leader) => new SinkDatabase(url, { network: 'regtest', leader })) as [
    SinkDatabase,
    SinkDatabase,
  ];
  try {
    await former.migrate();
    expect(await former.acquireLease(60)).not.toBeNull();
    // As on a replica that has not received the lease of the former leader.
    await sql`UPDATE obverse.sink_lease SET fence = 0, leader = '', expires = now() - INTERVAL '1 second'`;
    await sql`UPDATE obverse.sink_position SET fence = 0`;
    expect(await next.acquireLease(60)).not.toBeNull();
    const [{ fence }] = await sql`SELECT fence FROM obverse.sink_position`;
    expect(Number(fence)).toBe(1);
    const write = (database: SinkDatabase) => database.commitMempoolEvents([], { height: -1, time: 0 });
    await expect(write(former)).rejects.toThrow(LeaseLost);
    await expect(former.renewLease(60)).rejects.toThrow(LeaseLost);
    await former.releaseLease();
    await next.renewLease(60);
    await write(next);
    expect(await former.acquireLease(60)).toBeNull();
  } finally {
    await Promise.all([former.close(), next.close()]);
  }
});
