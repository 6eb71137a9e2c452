import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { Random } from '../fuzz/random.ts';
import { post } from '../lib/mempool-node.ts';
import type { AddressTx } from '../lib/node-client.ts';
import { freePort, NodeProcess, poll, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { lockOf } from '../lib/tx-builder.ts';
import type { Proof, ProofResult } from './proof.ts';

const addressAt = (n: number) => addressOf(lockOf('p2wpkh', n).scriptPubKey, regtest.address)!;
const ADDRESS = addressAt(9);
const MINER = addressAt(8);
const CONSUMER = join(import.meta.dir, '../lib/ledger-consumer.ts');
const WAYS = ['ws', 'sse', 'webhook', 'pages'] as const;
/** Consumers of each way, with one key. */
const CONSUMERS = 2;
const DEPOSITS_A_RUN = 1000;
const DEEPEST_REORG = 6;
const NODE_ARGS = ['--dev', '--dev.interval=86400', '--webhooks.allowedNetworks=127.0.0.0/8', '--webhooks.maxPause=1'];
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
  deepest = 0;
  nodeKills = 0;
  consumerKills = 0;
}

/**
 * Kills node and consumers at random with SIGKILL, while deposits are made, replaced, mined and reverted. A consumer
 * stores only the last cursor beside its ledger, or the cursors of the events that were delivered to it, and the ledger must
 * equal the chain in the end.
 */
export const deliveries: Proof = {
  help: `each deposit is credited once over every way, by two consumers each; counts runs of ${DEPOSITS_A_RUN} deposits`,
  count: 20,
  run: (count, seed, signal, progress) =>
    runDeliveries({ runs: count, deposits: DEPOSITS_A_RUN }, seed, signal, progress),
};

/** Proves it with this number of runs, each until this number of deposits is confirmed. */
export async function runDeliveries(
  { runs, deposits }: { readonly runs: number; readonly deposits: number },
  seed: number,
  signal: AbortSignal,
  progress?: (line: string) => void,
): Promise<ProofResult> {
  const counts = new Counts();
  const violations: string[] = [];
  for (let i = 0; i < runs; i++) {
    signal.throwIfAborted();
    const started = performance.now();
    const runSeed = seed + i;
    await using run = await Run.start(new Random(runSeed), counts, signal);
    violations.push(...(await run.play(deposits)).map((text) => `run ${i + 1}, seed ${runSeed}: ${text}`));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    progress?.(
      `run ${i + 1}, seed ${runSeed}, ${seconds} s: ${counts.deposits} deposits, ` +
        `${counts.nodeKills} + ${counts.consumerKills} kills, ${violations.length} violations`,
    );
  }
  const figures = [
    ['runs', runs],
    ['consumers of a run', WAYS.length * CONSUMERS],
    ['confirmed deposits', counts.deposits],
    ['credits booked, over all consumers', counts.credits],
    ['credits reverted', counts.reverted],
    ['reorgs', counts.reorgs],
    ['deepest reorg', counts.deepest],
    ['double spends', counts.doubleSpends],
    ['floods', counts.floods],
    ['kills of the node', counts.nodeKills],
    ['kills of consumers', counts.consumerKills],
  ] as const;
  return { figures, violations };
}

/** A consumer and its ledger. */
interface Consumer {
  readonly name: string;
  readonly way: (typeof WAYS)[number];
  readonly ledger: string;
  readonly env: Readonly<Record<string, string>>;
  process: ReturnType<typeof Bun.spawn> | null;
}

/** A node on a fixed port, and two consumers for each way to receive events. */
class Run implements AsyncDisposable {
  readonly #random: Random;
  readonly #counts: Counts;
  readonly #signal: AbortSignal;
  readonly #dir = tempDir('deposits');
  readonly #consumers: Consumer[] = [];
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
    const node = await startNode({ args: NODE_ARGS, port, datadir: tempDir('deposits-node') });
    await node.height(SEED_BLOCKS);
    const run = new Run(node, port, random, counts, signal);
    await post(node.api, '/api/watches', { kind: 'address', value: ADDRESS, confirmations: [1, 2] });
    run.#after = (await node.api.json<{ lastCursor: string }>('/api/events')).lastCursor;
    for (const way of WAYS)
      for (let i = 1; i <= CONSUMERS; i++) {
        const name = `${way}-${i}`;
        const env = way === 'webhook' ? await run.#createHook() : {};
        run.#consumers.push({ name, way, env, ledger: join(run.#dir, `${name}.db`), process: null });
      }
    for (const consumer of run.#consumers) run.#startConsumer(consumer);
    return run;
  }

  /** Runs until this number of deposits is confirmed. Returns the faults of the ledgers. */
  async play(deposits: number): Promise<string[]> {
    // Each process is killed at least once.
    for (const action of [FLOOD, KILL_CONSUMER, KILL_NODE]) await this.#act(action);
    while (this.#violations.length === 0 && (await this.#confirmedCount()) < deposits) {
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
    for (const consumer of this.#consumers) this.#violations.push(...(await this.#compare(consumer, truth)));
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
      await this.#call('devflood', [10 + int(70), ADDRESS]);
    } else if (action < 40) await this.#call('devpay', [ADDRESS, 1]);
    else if (action < 50) {
      counts.doubleSpends++;
      await this.#call('devdoublespend', [ADDRESS, 1, int(4)]);
    } else if (action < 65) {
      const depth = 1 + int(DEEPEST_REORG);
      counts.reorgs++;
      counts.deepest = Math.max(counts.deepest, depth);
      await this.#call('devreorg', [depth, once(2)]);
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
      this.#node = await new NodeProcess({ args: NODE_ARGS, port: this.#port, datadir: this.#node.datadir }).ready();
      return;
    }
    const consumer = this.#random.pick(this.#consumers);
    this.#counts.consumerKills++;
    await this.#killConsumer(consumer);
    if (this.#violations.length === 0) this.#startConsumer(consumer);
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

  /** Returns the number of transactions in the chain that pay the address; each is one deposit at least. */
  async #confirmedCount(): Promise<number> {
    return (await this.#node.api.json<{ txCount: number }>(`/api/address/${ADDRESS}`)).txCount;
  }

  /** Returns the outputs to the address in the chain, with their values. */
  async #confirmed(): Promise<Map<string, number>> {
    const { items } = await this.#node.api.all<AddressTx>(`/api/address/${ADDRESS}/txs?confirmed=true&limit=500`);
    return new Map(
      items.flatMap(({ txid, outputs }) => outputs.map(({ n, value }) => [`${txid}:${n}`, value] as const)),
    );
  }

  /** Creates a webhook. Returns the environment of its receiver. */
  async #createHook(): Promise<Consumer['env']> {
    const port = await freePort();
    const request = { url: `http://127.0.0.1:${port}/`, types: ['addressTransaction'], after: this.#after };
    const { body, text } = await post<{ secret?: string }>(this.#node.api, '/api/webhooks', request);
    if (body.secret === undefined) throw new Error(text);
    return { HOOK_PORT: String(port), HOOK_SECRET: body.secret };
  }

  #startConsumer(consumer: Consumer): void {
    const { ledger, way, env } = consumer;
    const args = [this.#node.api.url, TEST_KEY, ledger, ADDRESS, way, this.#after];
    consumer.process = Bun.spawn([process.execPath, CONSUMER, ...args], {
      env: { ...process.env, ...env },
      stdout: 'ignore',
      stderr: 'pipe',
    });
  }

  /** Only this test may end the process; any other end is a violation. */
  async #killConsumer(consumer: Consumer): Promise<void> {
    const { name, process: running } = consumer;
    if (!running) return;
    consumer.process = null;
    running.kill('SIGKILL');
    await running.exited;
    if (running.signalCode === 'SIGKILL') return;
    const text = await new Response(running.stderr as ReadableStream).text();
    this.#violations.push(`${name}: the consumer ended with ${running.exitCode}: ${text.trim()}`);
  }

  async #compare(consumer: Consumer, truth: ReadonlyMap<string, number>): Promise<string[]> {
    const { name, ledger } = consumer;
    const read = () => creditsOf(ledger);
    const isComplete = () => {
      const credits = read();
      return credits.size >= truth.size && [...truth.keys()].every((output) => credits.has(output));
    };
    const ended = () => consumer.process?.exitCode != null;
    await poll(`the ledger of ${name}`, () => isComplete() || ended(), { timeoutMs: CATCH_UP_MS, everyMs: 100 }).catch(
      () => null,
    );
    await this.#killConsumer(consumer);
    const credits = read();
    const { booked, reverted } = movesOf(ledger);
    this.#counts.credits += booked;
    this.#counts.reverted += reverted;
    const wrong: string[] = [];
    for (const [output, value] of truth)
      if (credits.get(output) !== value) wrong.push(`${name}: ${output} is in the chain and has no credit`);
    for (const output of credits.keys())
      if (!truth.has(output)) wrong.push(`${name}: ${output} is credited and not in the chain`);
    return wrong;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { process: running } of this.#consumers) running?.kill('SIGKILL');
    if (this.#node.exit === null) await this.#node.stop('SIGKILL');
    for (const dir of [this.#dir, this.#node.datadir]) rmSync(dir, { recursive: true, force: true });
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
