import { SQL } from 'bun';
import { Random } from '../fuzz/random.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { submit } from '../lib/mempool-node.ts';
import { copyDatadir, type NodeProcess, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { extend, recentChain, tipHash } from '../lib/sample-chains.ts';
import { brokenEvents, expectedTables, type SinkTables, sinkAt, sinkTables } from '../lib/sink-rows.ts';
import type { Proof } from './proof.ts';

const FIRST_BLOCKS = 110;
/** Seconds between two blocks: all of them lie in the past and in the last day. */
const SPACING = 8;
const PAYMENTS = 4;
const DEEPEST = 5;
/** Share of the steps that are a reorg. */
const REORGS = 0.3;
const KILLED_WITHIN_MS = 600;
/** Kills between two comparisons of all rows. */
const COMPARED_AFTER = 10;

type Target = 'leader' | 'standby' | 'database';

/**
 * Two nodes feed one database while the chain grows and reorganizes. The database and either node are killed at random
 * moments. All rows must then be those that follow from the answers of a node, and the events must be those of one chain.
 */
export const sink: Proof = {
  help: 'kills of two nodes and of their PostgreSQL leave the rows of the chain and its events; counts kills',
  count: 100,
  async run(count, seed, signal, progress) {
    const random = new Random(seed);
    const violations: string[] = [];
    const kills: Record<Target, number> = { leader: 0, standby: 0, database: 0 };
    await using stage = await Stage.set(random);
    for (let n = 1; n <= count && violations.length === 0; n++) {
      signal.throwIfAborted();
      kills[await stage.killOne()]++;
      if (n % COMPARED_AFTER > 0 && n < count) continue;
      violations.push(...(await stage.compare()));
      progress?.(`${n} kills, height ${stage.height}`);
    }
    const figures = [
      ['kills of the node that wrote', kills.leader],
      ['kills of the other node', kills.standby],
      ['kills of the database', kills.database],
      ['reorgs', stage.reorgs],
      ['blocks that reorgs disconnected', stage.disconnected],
      ['height', stage.height],
      ['events', stage.events],
      ['rows compared', stage.rows],
    ] as const;
    return { figures, violations };
  },
};

class Stage implements AsyncDisposable {
  reorgs = 0;
  disconnected = 0;
  events = 0;
  rows = 0;
  readonly #random: Random;
  readonly #postgres: PostgresServer;
  /** The chain, and what it was before each of the last steps. */
  #chain: RegtestChain;
  #earlier: RegtestChain[] = [];
  readonly #nodes: NodeProcess[];

  private constructor(random: Random, postgres: PostgresServer, chain: RegtestChain, nodes: NodeProcess[]) {
    this.#random = random;
    this.#postgres = postgres;
    this.#chain = chain;
    this.#nodes = nodes;
  }

  static async set(random: Random): Promise<Stage> {
    const chain = recentChain(FIRST_BLOCKS, { payments: PAYMENTS, spacing: SPACING });
    const datadir = await directoryWith(chain);
    const postgres = await PostgresServer.start();
    const nodes: NodeProcess[] = [];
    for (const directory of [datadir, copyDatadir(datadir)]) nodes.push(await startSinkNode(postgres, directory));
    return new Stage(random, postgres, chain, nodes);
  }

  get height(): number {
    return this.#chain.height;
  }

  /** Changes the chain, kills one of the three at a random moment of that, and starts it again. */
  async killOne(): Promise<Target> {
    const target = (['leader', 'standby', 'database'] as const)[this.#random.int(3)]!;
    this.#changeChain();
    const changed = Promise.all(this.#nodes.map((node) => this.#catchUp(node)));
    // The killed node leaves its blocks unsubmitted.
    changed.catch(() => {});
    // The moment is what is random; nothing is waited for.
    await Bun.sleep(this.#random.int(KILLED_WITHIN_MS));
    if (target === 'database') {
      await this.#postgres.kill();
      await this.#postgres.run();
    } else {
      const leader = await this.#leader();
      const at = target === 'leader' ? leader : 1 - leader;
      const node = this.#nodes[at]!;
      await node.stop('SIGKILL');
      await changed.catch(() => {});
      this.#nodes[at] = await startSinkNode(this.#postgres, node.datadir);
    }
    await changed.catch(() => {});
    await Promise.all(this.#nodes.map((node) => this.#catchUp(node)));
    return target;
  }

  /** Waits until the database has the tip, and compares all rows. Returns what differs. */
  async compare(): Promise<string[]> {
    await using sql = new SQL(this.#postgres.url, { max: 1 });
    await sinkAt(sql, tipHash(this.#chain));
    const [rows, expected] = [await sinkTables(sql), await expectedTables(this.#nodes[0]!.api)];
    const different = (Object.keys(rows) as (keyof SinkTables)[]).filter(
      (table) => rows[table].join('\n') !== expected[table].join('\n'),
    );
    this.rows += Object.values(rows).reduce((sum, lines) => sum + lines.length, 0);
    const events = await brokenEvents(sql);
    this.events = events.count;
    return [...different.map((table) => `the rows of ${table} are not those of the chain`), ...events.faults];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const node of this.#nodes) await node.stop();
    await this.#postgres[Symbol.asyncDispose]();
  }

  #changeChain(): void {
    const depth = this.#random.int(1000) < REORGS * 1000 ? 1 + this.#random.int(DEEPEST) : 0;
    const base = this.#earlier.findLast(({ height }) => height === this.#chain.height - depth);
    if (depth > 0 && base) {
      this.reorgs++;
      this.disconnected += depth;
      this.#chain = base.fork();
    }
    this.#earlier = this.#earlier.filter(({ height }) => height < this.#chain.height);
    const end = this.#chain.height + depth + 1;
    while (this.#chain.height < end) {
      this.#earlier.push(this.#chain.fork());
      // Another number of payments than on the branch before makes other blocks.
      extend(this.#chain, 1, 1 + this.#random.int(2 * PAYMENTS));
    }
    this.#earlier = this.#earlier.slice(-DEEPEST - 1);
  }

  /** Submits the blocks that the node may lack. */
  async #catchUp(node: NodeProcess): Promise<void> {
    for (const block of this.#chain.blocks.slice(-2 * DEEPEST - 4))
      await submit(node.api, block).catch(ignoreDuplicate);
  }

  /** The index of the node that writes; the first one while none does. */
  async #leader(): Promise<number> {
    for (const [i, { api }] of this.#nodes.entries()) {
      const { text } = await api.request('/metrics');
      if (/^obverse_sink_leader(?:\{[^}]*\})? 1$/m.test(text)) return i;
    }
    return 0;
  }
}

function ignoreDuplicate(error: unknown): void {
  if (!(error instanceof Error && error.message.includes('duplicate'))) throw error;
}

function startSinkNode(postgres: PostgresServer, datadir: string): Promise<NodeProcess> {
  return startNode({ datadir, env: { OBVERSE_SINK_POSTGRES: postgres.url } });
}
