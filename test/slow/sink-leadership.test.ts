import { afterAll, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { SQL } from 'bun';
import { INITIAL_SINK_STATUS, type SinkStatus } from '../../src/port/sink-status.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { BatchReader } from '../../src/sink/block-batch.ts';
import { SinkDatabase } from '../../src/sink/sink-database.ts';
import { SinkFollower } from '../../src/sink/sink-follower.ts';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { directoryWith } from '../lib/chain-directory.ts';
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

  private constructor(datadir: string, url: string, leader: string) {
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
  await using ahead = await TestSink.start(12, url, 'ahead');
  await poll('the standbys', () => isState(equal, 'standby')() && isState(ahead, 'standby')());
  for (const { clock } of [equal, ahead]) clock.advance(59_000);
  // Each reads the position once a second.
  await Bun.sleep(1500);
  expect([behind, equal, ahead].map(({ status }) => status.state)).toEqual(['live', 'standby', 'standby']);
  for (const { clock } of [equal, ahead]) clock.advance(2000);
  await sinkAt(sql, hashAt(12));
  await poll('the change', () => isState(ahead, 'live')() && isState(behind, 'standby')());
  // Nodes that have nothing to add do not take it back.
  for (const { clock } of [behind, equal]) clock.advance(61_000);
  await Bun.sleep(1500);
  expect([behind, equal, ahead].map(({ status }) => status.state)).toEqual(['standby', 'standby', 'live']);
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
