import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { ApiError } from '../../src/http/errors.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { ReaderJob } from '../../src/queries/reader-jobs.ts';
import { ReaderPool, type ReaderPoolOptions } from '../../src/queries/reader-pool.ts';
import { startReader } from '../../src/server/start-reader.ts';
import { createLog } from '../../src/util/log.ts';
import { describeWithVectors, expectedOfMixedChain, mixedChainDir } from '../lib/chain-api.ts';
import { defaultReadSources } from '../lib/default-options.ts';

const log = createLog({ level: 'error', format: 'text', write: (bytes) => bytes.length });
const never = new AbortController().signal;
const COUNT: ReaderJob = { kind: 'rpc', method: 'getblockcount', params: '[]' };
/** A scan of 23,354 coins that takes about a second, for jobs that must outlast others. */
const SCAN: ReaderJob = { kind: 'rpc', method: 'gettxoutsetinfo', params: '["muhash"]' };
/** The same scan with a hash that takes a tenth of that time. */
const SHORT_SCAN: ReaderJob = { kind: 'rpc', method: 'gettxoutsetinfo', params: '["hash_serialized_3"]' };

describeWithVectors('reader workers', () => {
  const expected = expectedOfMixedChain();
  const pools: ReaderPool[] = [];
  const start = (
    workers: number,
    queue: number,
    { shortMs, longWorkers = 1, reservedWorkers = 0 }: Partial<ReaderPoolOptions> = {},
  ) => {
    const sources = defaultReadSources(regtest);
    const pool = new ReaderPool({
      chainDir: mixedChainDir(),
      sources,
      workers,
      longWorkers,
      reservedWorkers,
      perKey: queue,
      total: queue,
      startReader,
      log,
      ...(shortMs !== undefined && { shortMs }),
    });
    pools.push(pool);
    return pool;
  };
  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
  });
  const text = async (running: ReturnType<ReaderPool['run']>) => {
    const result = await running;
    if (!result.ok) return JSON.stringify(result);
    const { body } = result.reply;
    return typeof body === 'string' ? body : new TextDecoder().decode(body);
  };

  /** For tests that leave it idle: a thread loads its modules for a third of a second. */
  let shared: ReaderPool;
  /** How long a whole scan takes on a thread of it. */
  let scanMs: Promise<number> | undefined;
  const scan = async () => {
    await shared.run(COUNT, { signal: never, long: true });
    const began = performance.now();
    const { muhash } = JSON.parse(await text(shared.run(SCAN, { signal: never, long: true }))) as { muhash: string };
    expect(muhash).toBe(expected.txoutset.muhash);
    return performance.now() - began;
  };
  beforeAll(() => {
    shared = start(1, 4);
    pools.pop();
  }, 60_000);
  afterAll(() => shared.close());

  test('readers give the same answers as the main thread', async () => {
    const pool = shared;
    expect(await text(pool.run(COUNT, { signal: never }))).toBe('160');
    await (scanMs ??= scan());
    const rest = await pool.run(
      { kind: 'rest', name: 'block-status', input: { hash: expected.tip } },
      { signal: never },
    );
    expect(rest).toMatchObject({
      ok: true,
      reply: { headers: { 'x-chain-height': '160', 'x-chain-hash': expected.tip } },
    });
  });

  test('failures come back as what they are', async () => {
    const pool = shared;
    const unknown = await pool.run(
      { kind: 'rest', name: 'block', input: { hash: '00'.repeat(32) } },
      { signal: never },
    );
    expect(unknown).toEqual({
      ok: false,
      api: { failure: 'block_not_found', message: 'no such block', details: { tipHeight: 160 } },
    });
    const range = await pool.run({ kind: 'rpc', method: 'getblockhash', params: '[-1]' }, { signal: never });
    const data = { code: 'block_not_found', details: { tipHeight: 160 } };
    expect(range).toEqual({ ok: false, rpc: { rpcCode: -8, message: 'Block height out of range', data } });
    const fault = await pool
      .run({ kind: 'rest', name: 'nope', input: null }, { signal: never })
      .catch((error: unknown) => error);
    expect(fault).toMatchObject({ failure: 'internal_error' });
    expect(await text(pool.run(COUNT, { signal: never }))).toBe('160');
  });

  test('a job is refused when the queue is full', async () => {
    const pool = start(1, 1);
    const running = pool.run(SHORT_SCAN, { signal: never });
    const waiting = pool.run(COUNT, { signal: never });
    const refused = await pool.run(COUNT, { signal: never }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ApiError);
    expect(refused).toMatchObject({ failure: 'rate_limited', details: { scope: 'reads', retryAfter: 1 } });
    expect(await text(waiting)).toBe('160');
    expect((await running).ok).toBe(true);
  });

  test('a job that turns out to be long is admitted again when the queue is full', async () => {
    const pool = start(1, 1, { shortMs: 0 });
    const running = pool.run(SHORT_SCAN, { signal: never });
    const waiting = pool.run(COUNT, { signal: never });
    expect(await text(waiting)).toBe('160');
    expect((await running).ok).toBe(true);
  });

  test('a key with nothing running finds a thread while another key holds the shared ones', async () => {
    const pool = start(1, 8, { reservedWorkers: 1, shortMs: 60_000 });
    const order: string[] = [];
    const greedy = [SCAN, SHORT_SCAN].map((job, i) =>
      pool.run(job, { signal: never, owner: 'greedy' }).then(() => order.push(`scan ${i + 1}`)),
    );
    const modest = ['a', 'b'].map((owner) =>
      pool.run(COUNT, { signal: never, owner }).then(() => order.push(`count of ${owner}`)),
    );
    await Promise.all([...greedy, ...modest]);
    expect(order).toEqual(['count of a', 'count of b', 'scan 1', 'scan 2']);
  });

  test('a scan ends when its client disconnects', async () => {
    const pool = shared;
    await pool.run(COUNT, { signal: never });
    const whole = await (scanMs ??= scan());
    const caller = new AbortController();
    const left = pool.run(SCAN, { signal: caller.signal, long: true });
    const queued = new AbortController();
    const behind = pool.run(COUNT, { signal: queued.signal });
    const next = pool.run(COUNT, { signal: never });
    const startedAt = performance.now();
    caller.abort();
    queued.abort();
    expect(await left.catch((error: unknown) => error)).toMatchObject({ failure: 'overloaded' });
    expect(await behind.catch((error: unknown) => error)).toMatchObject({ failure: 'overloaded' });
    expect(await text(next)).toBe('160');
    expect(performance.now() - startedAt).toBeLessThan(whole / 2);
  });

  test('long jobs leave a thread to the others', async () => {
    const pool = start(2, 8);
    const order: string[] = [];
    const scans = [SCAN, SHORT_SCAN].map((job, i) =>
      pool.run(job, { signal: never, long: true }).then(() => order.push(`scan ${i + 1}`)),
    );
    const short = pool.run(COUNT, { signal: never }).then(() => order.push('short'));
    await Promise.all([...scans, short]);
    expect(order).toEqual(['short', 'scan 1', 'scan 2']);
  });

  test('calls that turn out to be long leave a thread to the others, and are answered all the same', async () => {
    const pool = start(2, 8, { shortMs: 0 });
    const order: string[] = [];
    const scans = [1, 2].map(async (n) => {
      const found = JSON.parse(await text(pool.run(SHORT_SCAN, { signal: never }))) as { hash_serialized_3: string };
      expect(found.hash_serialized_3).toBe(expected.txoutset.hash_serialized_3.hash_serialized_3 as string);
      order.push(`scan ${n}`);
    });
    const caller = new AbortController();
    const left = pool.run(SHORT_SCAN, { signal: caller.signal }).catch((error: unknown) => error);
    const short = pool.run(COUNT, { signal: never }).then(() => order.push('short'));
    await short;
    caller.abort();
    expect(await left).toMatchObject({ failure: 'overloaded' });
    await Promise.all(scans);
    expect([order[0], order.slice(1).sort()]).toEqual(['short', ['scan 1', 'scan 2']]);
  });

  test('a closed pool refuses what runs and what comes', async () => {
    const pool = start(1, 4);
    const running = pool.run(SHORT_SCAN, { signal: never }).catch((error: unknown) => error);
    await pool.close();
    expect(await running).toMatchObject({ failure: 'shutting_down' });
    expect(await pool.run(COUNT, { signal: never }).catch((error: unknown) => error)).toMatchObject({
      failure: 'shutting_down',
    });
  });
});
