import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { Random } from '../fuzz/random.ts';
import { post } from '../lib/mempool-node.ts';
import type { AddressTx } from '../lib/node-client.ts';
import { freePort, NodeProcess, poll, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { lockOf } from '../lib/tx-builder.ts';
import type { Proof } from './proof.ts';

const addressAt = (n: number) => addressOf(lockOf('p2wpkh', n).scriptPubKey, regtest.address)!;
const ADDRESS = addressAt(9);
const MINER = addressAt(8);
const CONSUMER = join(import.meta.dir, '../lib/ledger-consumer.ts');
const WAYS = ['ws', 'pages'] as const;
const DEPOSITS_A_RUN = 500;
const DEV = ['--dev', '--dev.interval=86400'];
const SEED_BLOCKS = 110;
const KILLED_WITHIN_MS = 60;
const CATCH_UP_MS = 60_000;
/** An action is drawn as a number below 100; these are the first numbers of each kind. */
const FLOOD = 0;
const KILL_CONSUMER = 80;
const KILL_NODE = 91;

/** Number of events over all runs. */
class Counts {
  deposits = 0;
  credits = 0;
  reverted = 0;
  reorgs = 0;
  doubleSpends = 0;
  floods = 0;
  nodeKills = 0;
  consumerKills = 0;
}

/**
 * Kills node and consumers at random with SIGKILL, while deposits are made, replaced, mined and reverted. A consumer
 * stores only the last cursor beside its ledger, and the ledger must equal the chain in the end.
 */
export const deposits: Proof = {
  help: `each deposit is credited once by consumers that store the last cursor; counts deposits, ${DEPOSITS_A_RUN} a run`,
  count: 20 * DEPOSITS_A_RUN,
  async run(count, seed, signal, progress) {
    const counts = new Counts();
    const violations: string[] = [];
    let runs = 0;
    for (let left = count; left > 0; left -= DEPOSITS_A_RUN) {
      signal.throwIfAborted();
      await using run = await Run.start(new Random(seed + runs), counts, signal);
      violations.push(...(await run.play(Math.min(left, DEPOSITS_A_RUN))).map((text) => `run ${runs + 1}: ${text}`));
      runs++;
      progress?.(`run ${runs}: ${counts.deposits} deposits, ${counts.nodeKills} + ${counts.consumerKills} kills`);
    }
    const figures = [
      ['runs', runs],
      ['confirmed deposits', counts.deposits],
      ['credits booked, over both consumers', counts.credits],
      ['credits reverted', counts.reverted],
      ['reorgs', counts.reorgs],
      ['double spends', counts.doubleSpends],
      ['floods', counts.floods],
      ['kills of the node', counts.nodeKills],
      ['kills of consumers', counts.consumerKills],
    ] as const;
    return { figures, violations };
  },
};

type Way = (typeof WAYS)[number];

/** A node on a fixed port, and one consumer for each way to receive events. */
class Run implements AsyncDisposable {
  readonly #random: Random;
  readonly #counts: Counts;
  readonly #signal: AbortSignal;
  readonly #dir = tempDir('deposits');
  readonly #consumers = new Map<Way, ReturnType<typeof Bun.spawn>>();
  readonly #violations: string[] = [];
  readonly #port: number;
  #node: NodeProcess;
  #after = '';

  private constructor(node: NodeProcess, port: number, random: Random, counts: Counts, signal: AbortSignal) {
    this.#node = node;
    this.#port = port;
    this.#random = random;
    this.#counts = counts;
    this.#signal = signal;
  }

  static async start(random: Random, counts: Counts, signal: AbortSignal): Promise<Run> {
    const port = await freePort();
    const node = await startNode({ args: DEV, port, datadir: tempDir('deposits-node') });
    await node.height(SEED_BLOCKS);
    const run = new Run(node, port, random, counts, signal);
    await post(node.api, '/api/watches', { kind: 'address', value: ADDRESS, confirmations: [1, 2] });
    run.#after = (await node.api.json<{ lastCursor: string }>('/api/events')).lastCursor;
    for (const way of WAYS) run.#startConsumer(way);
    return run;
  }

  /** Runs until this number of deposits is confirmed. Returns the faults of the ledgers. */
  async play(deposits: number): Promise<string[]> {
    // Each process is killed at least once.
    for (const action of [FLOOD, KILL_CONSUMER, KILL_NODE]) await this.#act(action);
    while (this.#violations.length === 0 && (await this.#confirmed()).size < deposits) {
      this.#signal.throwIfAborted();
      await this.#act();
    }
    // Pending deposits are mined, and one more behind them: a consumer that has booked it has received everything
    // before it.
    await this.#mine(2);
    await this.#call('devpay', [ADDRESS, 1]);
    await this.#mine(1);
    const truth = await this.#confirmed();
    this.#counts.deposits += truth.size;
    for (const way of WAYS) this.#violations.push(...(await this.#compare(way, truth)));
    return this.#violations;
  }

  async #act(action = this.#random.int(100)): Promise<void> {
    const { int, once } = {
      int: (below: number) => this.#random.int(below),
      once: (n: number) => this.#random.once(n),
    };
    const counts = this.#counts;
    if (action < 30) {
      counts.floods++;
      await this.#call('devflood', [10 + int(40), ADDRESS]);
    } else if (action < 40) await this.#call('devpay', [ADDRESS, 1]);
    else if (action < 50) {
      counts.doubleSpends++;
      await this.#call('devdoublespend', [ADDRESS, 1, int(4)]);
    } else if (action < 65) {
      counts.reorgs++;
      await this.#call('devreorg', [1 + int(4), once(2)]);
    } else if (action < KILL_CONSUMER) await this.#mine(1 + int(3));
    else {
      // The kill happens amid the events of a block or a reorg.
      const under = once(3) ? this.#call('devreorg', [1 + int(3), true]) : this.#mine(1);
      await Promise.all([under, Bun.sleep(int(KILLED_WITHIN_MS)).then(() => this.#kill(action))]);
    }
  }

  async #kill(action: number): Promise<void> {
    if (action >= KILL_NODE) {
      this.#counts.nodeKills++;
      await this.#node.stop('SIGKILL');
      this.#node = await new NodeProcess({ args: DEV, port: this.#port, datadir: this.#node.datadir }).ready();
      return;
    }
    const way = this.#random.pick(WAYS);
    this.#counts.consumerKills++;
    await this.#killConsumer(way);
    if (this.#violations.length === 0) this.#startConsumer(way);
  }

  /** Calls a method that may fail because the node is killed or the sandbox lacks coins. */
  async #call(method: string, params: unknown[]): Promise<void> {
    const node = this.#node;
    try {
      await node.api.rpc(method, params);
    } catch (error) {
      if (node !== this.#node || node.exit !== null || /ECONN|closed|socket|connect/i.test(String(error))) return;
      if (!String(error).includes('the sandbox has')) throw error;
      await this.#mine(1);
    }
  }

  #mine(blocks: number): Promise<void> {
    return this.#call('generatetoaddress', [blocks, MINER]);
  }

  /** Returns the outputs to the address in the chain, with their values. */
  async #confirmed(): Promise<Map<string, number>> {
    const { items } = await this.#node.api.all<AddressTx>(`/api/address/${ADDRESS}/txs?confirmed=true&limit=500`);
    return new Map(
      items.flatMap(({ txid, outputs }) => outputs.map(({ n, value }) => [`${txid}:${n}`, value] as const)),
    );
  }

  #startConsumer(way: Way): void {
    const args = [this.#node.api.url, TEST_KEY, this.#ledger(way), ADDRESS, way, this.#after];
    this.#consumers.set(way, Bun.spawn([process.execPath, CONSUMER, ...args], { stdout: 'ignore', stderr: 'pipe' }));
  }

  /** Only this test may end the process; any other end is a violation. */
  async #killConsumer(way: Way): Promise<void> {
    const consumer = this.#consumers.get(way);
    if (!consumer) return;
    this.#consumers.delete(way);
    consumer.kill('SIGKILL');
    await consumer.exited;
    if (consumer.signalCode === 'SIGKILL') return;
    const text = await new Response(consumer.stderr as ReadableStream).text();
    this.#violations.push(`${way}: the consumer ended with ${consumer.exitCode}: ${text.trim()}`);
  }

  #ledger(way: Way): string {
    return join(this.#dir, `${way}.db`);
  }

  async #compare(way: Way, truth: ReadonlyMap<string, number>): Promise<string[]> {
    const read = () => creditsOf(this.#ledger(way));
    const last = () => read().size >= truth.size && [...truth.keys()].every((output) => read().has(output));
    await poll(`the ledger of ${way}`, last, { timeoutMs: CATCH_UP_MS, everyMs: 100 }).catch(() => null);
    await this.#killConsumer(way);
    const credits = read();
    const { booked, reverted } = movesOf(this.#ledger(way));
    this.#counts.credits += booked;
    this.#counts.reverted += reverted;
    const wrong: string[] = [];
    for (const [output, value] of truth)
      if (credits.get(output) !== value) wrong.push(`${way}: ${output} is in the chain and has no credit`);
    for (const output of credits.keys())
      if (!truth.has(output)) wrong.push(`${way}: ${output} is credited and not in the chain`);
    return wrong;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const consumer of this.#consumers.values()) consumer.kill('SIGKILL');
    if (this.#node.exit === null) await this.#node.stop('SIGKILL');
  }
}

function creditsOf(path: string): Map<string, number> {
  using db = new Database(path, { readonly: true });
  const rows = db.query<{ txid: string; n: number; value: number }, []>('SELECT * FROM credits').all();
  return new Map(rows.map(({ txid, n, value }) => [`${txid}:${n}`, value]));
}

function movesOf(path: string): { booked: number; reverted: number } {
  using db = new Database(path, { readonly: true });
  return db
    .query<{ booked: number; reverted: number }, []>(
      'SELECT count(*) FILTER (WHERE amount > 0) AS booked, count(*) FILTER (WHERE amount < 0) AS reverted FROM moves',
    )
    .get()!;
}
