import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TxGraph } from '../../../src/mempool/cluster/tx-graph.ts';
import { type EstimateRequest, FeeEstimator } from '../../../src/mempool/fees/fee-estimator.ts';
import { FeeStore } from '../../../src/storage/fee-store.ts';
import { openNodeDatabase } from '../../../src/storage/node-database.ts';
import { silentLog } from '../../lib/chain-fixture.ts';
import { ManualClock } from '../../lib/manual-clock.ts';

const HOUR_MS = 3_600_000;
const directory = mkdtempSync(join(tmpdir(), 'obverse-fees-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const database = openNodeDatabase(join(directory, 'node.db'), { network: 'regtest', genesisHash: '00'.repeat(32) });
afterAll(() => database.close());

const hashOf = (height: number) => new Uint8Array(32).fill(height % 251);

/** A fee estimator with a controlled mempool and chain. */
class Bench {
  readonly clock = new ManualClock(1_700_000_000_000);
  readonly store = new FeeStore(database);
  readonly graph = new TxGraph();
  floor = 100;
  ready = true;
  height = 1000;
  fork = false;
  estimator: FeeEstimator;

  constructor() {
    database.run('DELETE FROM fee_history');
    this.estimator = this.#open();
  }

  /** Stops and restarts the estimator. */
  restart(options: { acceptStale?: boolean } = {}): void {
    this.estimator.flushUnconfirmed();
    this.estimator.save();
    this.reopen(options);
  }

  reopen(options: { acceptStale?: boolean } = {}): void {
    this.estimator = this.#open(options);
  }

  #open(options: { acceptStale?: boolean } = {}): FeeEstimator {
    return new FeeEstimator({
      graph: this.graph,
      store: this.store,
      clock: this.clock,
      log: silentLog,
      floor: () => this.floor,
      ready: () => this.ready,
      isCurrent: () => true,
      tip: () => ({ height: this.height, hash: this.fork ? hashOf(this.height + 1) : hashOf(this.height) }),
      ...options,
    });
  }

  /**
   * Mines blocks with one transaction each, which entered right before at this feerate, satoshis per 1,000 virtual
   * bytes.
   */
  learn(blocks: number, feerate: number): this {
    this.empty(1);
    for (let i = 0; i < blocks; i++) {
      this.estimator.addTransaction(9999, feerate, 1000, this.height, true);
      this.estimator.recordIncluded(9999, feerate, 1000, 4000);
      this.height++;
      this.estimator.processBlock({ height: this.height, hash: hashOf(this.height) }, 4000);
    }
    return this;
  }

  /** Mines blocks of transactions that were not in the mempool; null means initial block download. */
  empty(blocks: number, weight: number | null = 0): this {
    for (let i = 0; i < blocks; i++) {
      this.height++;
      this.estimator.processBlock({ height: this.height, hash: hashOf(this.height) }, weight);
    }
    return this;
  }

  /** Adds four million weight units of transactions at a feerate. */
  fill(feerate: number, count = 40): this {
    for (let i = 0; i < count; i++) this.graph.add(feerate * 25, 100_000);
    return this;
  }

  ask(question: Partial<EstimateRequest> = {}) {
    return this.estimator.estimate({ target: 6, conservative: false, estimator: 'none', strict: false, ...question });
  }
}

const NO_ESTIMATE = 'Insufficient data or no feerate found';
const NO_BLOCKS = 'mempool_policy: Not enough recent block data for fee rate estimation';
const UNRELIABLE = 'mempool_policy: Mempool is unreliable for fee rate estimation';
const NOT_LOADED = 'mempool_policy: Mempool not loaded yet, no fee rate estimate available';
const FLOOR_WARNING = 'insufficient data, minimum relay rate returned';

/** The state of each estimator, and the expected answer. */
const CASES: {
  name: string;
  bench: () => Bench;
  free: object;
  strict: object;
  blockPolicy: object;
  mempoolPolicy: object;
}[] = [
  {
    name: 'nothing at all',
    bench: () => new Bench(),
    free: { feerate: 100, estimator: 'floor', blocks: 6, warnings: [FLOOR_WARNING] },
    strict: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    blockPolicy: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    mempoolPolicy: { feerate: null, error: NO_BLOCKS, blocks: 2 },
  },
  {
    name: 'a quiet network, whose blocks and mempool are empty',
    bench: () => new Bench().empty(20),
    free: { feerate: 100, estimator: 'floor', blocks: 6, warnings: [FLOOR_WARNING] },
    strict: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    blockPolicy: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    mempoolPolicy: { feerate: 100, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'a full mempool, but no history',
    bench: () => new Bench().empty(20).fill(3000),
    free: { feerate: 3000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    strict: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    blockPolicy: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    mempoolPolicy: { feerate: 3000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'a history, but blocks that the mempool did not know',
    bench: () => new Bench().learn(30, 7000).empty(6, 1_000_000).fill(3000),
    free: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    strict: { feerate: null, error: UNRELIABLE, blocks: 2 },
    blockPolicy: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: null, error: UNRELIABLE, blocks: 2 },
  },
  {
    name: 'a history that asks for more than the mempool',
    bench: () => new Bench().learn(30, 7000).fill(3000),
    free: { feerate: 3000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    strict: { feerate: 3000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    blockPolicy: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: 3000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'a history that asks for less than the mempool',
    bench: () => new Bench().learn(30, 7000).fill(20_000),
    free: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    strict: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    blockPolicy: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: 20_000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'both the same',
    bench: () => new Bench().learn(30, 7000).fill(7000),
    free: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    strict: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    blockPolicy: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: 7000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'a history, and a mempool that is nearly empty',
    bench: () => new Bench().learn(30, 7000).fill(20_000, 3),
    free: { feerate: 100, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    strict: { feerate: 100, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    blockPolicy: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: 100, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'both, and neither is enough to enter now; the lower of them is named',
    bench: () => Object.assign(new Bench().learn(30, 7000).fill(3000), { floor: 9000 }),
    free: { feerate: 9000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    strict: { feerate: 9000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
    blockPolicy: { feerate: 9000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: 9000, estimator: 'mempool_policy', blocks: 2, warnings: [] },
  },
  {
    name: 'both, but the chain is not in sync or the mempool not read back',
    bench: () => Object.assign(new Bench().learn(30, 7000).fill(3000), { ready: false }),
    free: { feerate: null, error: NO_ESTIMATE, blocks: 0 },
    strict: { feerate: null, error: NOT_LOADED, blocks: 2 },
    blockPolicy: { feerate: 7000, estimator: 'block_policy', blocks: 6, warnings: [] },
    mempoolPolicy: { feerate: null, error: NOT_LOADED, blocks: 2 },
  },
];

describe('the source of an estimate', () => {
  for (const { name, bench, free, strict, blockPolicy, mempoolPolicy } of CASES)
    test(name, () => {
      const at = bench();
      expect(at.ask()).toEqual(free as never);
      expect(at.ask({ strict: true })).toEqual(strict as never);
      expect(at.ask({ estimator: 'block_policy' })).toEqual(blockPolicy as never);
      expect(at.ask({ estimator: 'mempool_policy' })).toEqual(mempoolPolicy as never);
    });

  test('a mempool that fills half of a block gives conservative and economical estimates', () => {
    const bench = new Bench().empty(6).fill(5000, 25);
    expect(bench.ask({ conservative: true })).toMatchObject({ feerate: 5000, estimator: 'mempool_policy' });
    expect(bench.ask()).toMatchObject({ feerate: 100, estimator: 'floor' });
    expect(bench.ask({ estimator: 'mempool_policy' })).toMatchObject({ feerate: 100 });
  });

  test('the projection is cached for seven seconds or until a block arrives', () => {
    const bench = new Bench().empty(6).fill(5000);
    const feerate = () => bench.ask({ estimator: 'mempool_policy' }).feerate;
    expect(feerate()).toBe(5000);
    bench.fill(8000);
    bench.clock.advance(6000);
    expect(feerate()).toBe(5000);
    bench.clock.advance(1000);
    expect(feerate()).toBe(8000);
    bench.fill(12_000).empty(1);
    expect(feerate()).toBe(12_000);
  });
});

describe('fee reports', () => {
  test('a report never has a higher feerate for a longer target, nor one below the minimum feerate', () => {
    for (const bench of [new Bench(), ...CASES.slice(1, -1).map((each) => each.bench())]) {
      const { rates, floor } = bench.estimator.report()!;
      expect(rates.map(({ target }) => target)).toEqual([1, 2, 3, 6, 12, 24, 48, 144, 504, 1008]);
      const feerates = rates.map(({ feerate }) => feerate);
      expect(feerates).toEqual(feerates.toSorted((a, b) => b - a));
      for (const feerate of feerates) {
        expect(feerate).toBeGreaterThanOrEqual(floor);
        // Three decimals of satoshis per virtual byte.
        expect(Number.isInteger(feerate)).toBe(true);
      }
    }
  });

  test('no report is given while there are no estimates', () => {
    expect(Object.assign(new Bench(), { ready: false }).estimator.report()).toBeNull();
  });
});

describe('restart of the fee estimator', () => {
  const history = { estimator: 'block_policy' } as const;
  const mempool = { estimator: 'mempool_policy' } as const;

  test('statistics and block coverage are restored', () => {
    const bench = new Bench().learn(30, 7000).fill(3000);
    const before = [bench.ask(history), bench.ask(mempool), bench.estimator.coverage] as const;
    bench.restart();
    expect([bench.ask(history), bench.ask(mempool), bench.estimator.coverage]).toEqual([...before]);
    expect(bench.estimator.coverage).toHaveLength(6);
    // Both continue from there.
    bench.empty(1);
    expect(bench.estimator.coverage.map(({ height }) => height)).toEqual([1027, 1028, 1029, 1030, 1031, 1032]);
  });

  test('block coverage is restored only if no block was connected or disconnected meanwhile', () => {
    for (const move of [{ height: 1032 }, { height: 1030 }, { fork: true }]) {
      const bench = new Bench().learn(30, 7000);
      bench.estimator.save();
      bench.reopen();
      expect(bench.estimator.coverage).toHaveLength(6);
      Object.assign(bench, move);
      bench.reopen();
      expect(bench.estimator.coverage).toEqual([]);
      expect(bench.ask(mempool)).toMatchObject({ error: NO_BLOCKS });
      expect(bench.ask(history).feerate).toBe(7000);
    }
  });

  test('no coverage is saved for blocks that were not compared with the mempool', () => {
    const bench = new Bench().learn(30, 7000).empty(1, null);
    bench.restart();
    expect(bench.estimator.coverage).toEqual([]);
    expect(bench.ask(history).feerate).toBe(7000);
  });

  test('a history older than sixty hours is ignored unless stale data is allowed', () => {
    const bench = new Bench().learn(30, 7000);
    bench.estimator.save();
    bench.clock.advance(61 * HOUR_MS - 1000);
    bench.reopen();
    expect(bench.ask(history).feerate).toBe(7000);
    bench.clock.advance(1000);
    bench.reopen();
    expect(bench.ask(history)).toEqual({ feerate: null, error: NO_ESTIMATE, blocks: 0 });
    // The blocks are still the last ones.
    expect(bench.estimator.coverage).toHaveLength(6);
    bench.reopen({ acceptStale: true });
    expect(bench.ask(history).feerate).toBe(7000);
  });

  test('a damaged history is replaced by an empty one', () => {
    const bench = new Bench().learn(30, 7000);
    bench.estimator.save();
    const { history: bytes, at } = bench.store.load()!;
    for (const damaged of [
      bytes.with(bytes.length >> 1, bytes[bytes.length >> 1]! ^ 1),
      bytes.subarray(1),
      new Uint8Array(),
    ]) {
      bench.store.save(damaged, at);
      bench.reopen();
      expect(bench.ask(history).feerate).toBeNull();
      expect(bench.estimator.coverage).toEqual([]);
    }
    // The estimator collects data again.
    expect(bench.learn(30, 4000).ask(history).feerate).toBe(4000);
  });

  test('the store keeps only the last history', () => {
    const { store } = new Bench();
    expect(store.load()).toBeNull();
    for (const at of [5, 4]) store.save(new Uint8Array([at, 1]), at);
    expect(store.load()).toEqual({ at: 4, history: new Uint8Array([4, 1]) });
  });
});
