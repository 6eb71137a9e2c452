import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Random } from '../fuzz/random.ts';
import type { Info } from '../lib/node-client.ts';
import { freePort, NodeProcess, runProgram, tempDir, WITH_WALLET } from '../lib/node-process.ts';
import { Acknowledged } from './faults/acknowledged.ts';
import { Comparison } from './faults/compare.ts';
import { CALL_FAULTS, type CallFault, FaultShim } from './faults/fault-shim.ts';
import { Load, MINER } from './faults/load.ts';
import { SmallDisk } from './faults/small-disk.ts';
import type { Proof } from './proof.ts';

const FAULTS = ['full-disk', 'read-only', ...CALL_FAULTS, 'pause', 'clock', 'kill'] as const;
type Fault = (typeof FAULTS)[number];

const SEED_BLOCKS = 110;
/** Time of load before a fault and during one, milliseconds. */
const LOAD_MS = 600;
const FAULT_MS = { shortest: 300, longest: 2500 };
const MAX_SKIPPED_CALLS = 60;
const MAX_FAILED_CALLS = 8;
const CALLS_MS = 2500;
/** A block may be two hours ahead of the clock, and the clock goes back again. */
const MAX_CLOCK_SHIFT_MS = 90 * 60_000;
const RECOVERY_MS = 30_000;
/** Faults that must not end the process of a node. */
const NOT_ENDING: ReadonlySet<Fault> = new Set(['full-disk', 'write-short', 'pause', 'clock']);
const AGAIN = '"the node starts again within its process"';
const CLEAR_END = /^obverse: (cannot use .+|.+(no space left|read or write errors|read-only).*)$/m;

/**
 * Lets faults of the host happen to a node under load, in the order that the seed gives. After each one the node goes on
 * by itself, or ends with a clear sentence and starts again, and has everything that it acknowledged.
 */
export const faults: Proof = {
  help: 'a node under load loses nothing that it acknowledged to a full or failing disk, pauses, clock jumps and kills; counts faults',
  count: 200,
  async run(count, seed, signal, progress) {
    const run = await Run.start(new Random(seed));
    try {
      await run.play(count, signal, progress);
      return { figures: run.figures(), violations: run.violations };
    } finally {
      await run.close();
    }
  },
};

/** Numbers of faults of one kind, by how the node came through. */
interface Outcomes {
  /** It went on, with all that it had in memory. */
  survived: number;
  /** It closed its databases and opened them again in the same process. */
  again: number;
  /** It ended, and was started by the proof. */
  ended: number;
}

class Run {
  readonly #random: Random;
  readonly #workDir: string;
  readonly #disk: SmallDisk;
  readonly #shim: FaultShim;
  readonly #datadir: string;
  readonly #port: number;
  readonly #known = new Acknowledged();
  readonly #comparison = new Comparison(this.#known);
  readonly #counts = new Map<Fault, Outcomes>();
  #failedCalls = 0;
  #starts = 0;
  #node: NodeProcess | null = null;

  private constructor(random: Random, workDir: string, port: number) {
    this.#random = random;
    this.#workDir = workDir;
    this.#port = port;
    this.#disk = SmallDisk.create(workDir);
    this.#datadir = join(this.#disk.directory, 'node');
    try {
      this.#shim = FaultShim.compile(workDir, this.#datadir);
    } catch (error) {
      this.#disk.close();
      throw error;
    }
  }

  static async start(random: Random): Promise<Run> {
    const run = new Run(random, tempDir('faults'), await freePort());
    try {
      const node = await run.#startNode();
      const own = await node.api.rpc<string>('getnewaddress');
      await node.api.rpc('generatetoaddress', [SEED_BLOCKS, own]);
      await new Load(node.api, run.#known).begin();
      return run;
    } catch (error) {
      await run.close();
      throw error;
    }
  }

  get violations(): readonly string[] {
    return this.#known.violations;
  }

  /** Lets all kinds of faults happen in turn, in an order of chance. */
  async play(count: number, signal: AbortSignal, progress: (line: string) => void = () => {}): Promise<void> {
    let waiting: Fault[] = [];
    for (let i = 1; i <= count && this.violations.length === 0; i++) {
      signal.throwIfAborted();
      if (waiting.length === 0) waiting = [...FAULTS];
      const [fault] = waiting.splice(this.#random.int(waiting.length), 1);
      const outcome = await this.#suffer(fault!);
      progress(
        `${i} ${fault}: ${outcome}; height ${this.#known.blocks.at(-1)?.height}, ${this.#known.sent} withdrawals`,
      );
    }
    if (this.violations.length === 0) await this.#finish();
  }

  figures(): readonly (readonly [string, string | number])[] {
    const { blocks, keys, watches, events, failures } = this.#known;
    return [
      ...FAULTS.map((fault) => {
        const { survived, again, ended } = this.#countsOf(fault);
        return [`faults: ${fault}`, `${survived} survived, ${again} opened again, ${ended} ended`] as const;
      }),
      ['system calls that failed', this.#failedCalls],
      ['starts of the process', this.#starts],
      ['acknowledged blocks', blocks.length],
      ['acknowledged withdrawals', this.#known.sent],
      ['acknowledged keys', keys.size],
      ['acknowledged watches', watches.size],
      ['consumed events', events],
      ...[...failures].map(([text, n]) => [`failed requests: ${text}`, n] as const),
    ];
  }

  async close(): Promise<void> {
    if (this.#node?.exit === null) {
      this.#node.kill('SIGCONT');
      await this.#node.stop('SIGKILL');
    }
    this.#disk.close();
    this.#shim.close();
    rmSync(this.#workDir, { recursive: true, force: true });
  }

  async #startNode(): Promise<NodeProcess> {
    this.#starts++;
    const args = [WITH_WALLET];
    const node = new NodeProcess({ datadir: this.#datadir, port: this.#port, args, env: this.#shim.env });
    this.#node = node;
    return node.ready();
  }

  /** Lets one fault happen under load. Returns how the node came through. */
  async #suffer(fault: Fault): Promise<string> {
    const node = this.#node!;
    const load = new Load(node.api, this.#known);
    load.start();
    await Bun.sleep(LOAD_MS);
    const before = node.stderr.split(AGAIN).length - 1;
    await this.#inflict(fault, node);
    const survived = await this.#recovers(node);
    await load.stop();
    const counts = this.#countsOf(fault);
    const startsAgain = node.stderr.split(AGAIN).length - 1 - before;
    if (!survived) counts.ended++;
    else if (startsAgain > 0) counts.again++;
    else counts.survived++;
    if (!survived) {
      const complaint = this.#checkEnd(fault, node);
      if (this.violations.length > 0) return 'the node did not come through';
      if (fault === 'read-only') this.#disk.repair();
      await this.#startNode();
      if (!(await this.#recovers(this.#node!)))
        this.#violate(fault, this.#node!, 'the node does not go on after a start');
      await this.#comparison.compareNew(this.#node!);
      return `ended (${complaint}) and started again`;
    }
    await this.#comparison.compareNew(node);
    return startsAgain > 0 ? 'opened its databases again' : 'went on';
  }

  #countsOf(fault: Fault): Outcomes {
    let counts = this.#counts.get(fault);
    if (counts === undefined) this.#counts.set(fault, (counts = { survived: 0, again: 0, ended: 0 }));
    return counts;
  }

  async #inflict(fault: Fault, node: NodeProcess): Promise<void> {
    const { shortest, longest } = FAULT_MS;
    const ms = shortest + this.#random.int(longest - shortest);
    switch (fault) {
      case 'full-disk':
        this.#disk.fill();
        await Bun.sleep(ms);
        this.#disk.free();
        return;
      case 'read-only':
        // A fault of the device loses what was not synced, as a power failure does. Here it loses nothing.
        node.kill('SIGSTOP');
        this.#disk.sync();
        this.#disk.makeReadOnly();
        node.kill('SIGCONT');
        return;
      case 'pause':
        node.kill('SIGSTOP');
        await Bun.sleep(ms);
        node.kill('SIGCONT');
        return;
      case 'clock':
        this.#shim.shiftClock(this.#random.int(2 * MAX_CLOCK_SHIFT_MS) - MAX_CLOCK_SHIFT_MS);
        await Bun.sleep(ms);
        this.#shim.shiftClock(0);
        return;
      case 'kill':
        node.kill('SIGKILL');
        await node.end();
        return;
      default:
        await this.#failCalls(fault, node);
    }
  }

  async #failCalls(fault: CallFault, node: NodeProcess): Promise<void> {
    const left = 1 + this.#random.int(MAX_FAILED_CALLS);
    this.#shim.begin(fault, this.#random.int(MAX_SKIPPED_CALLS), left);
    const deadline = performance.now() + CALLS_MS;
    while (node.exit === null && this.#shim.hits < left && performance.now() < deadline) await Bun.sleep(20);
    this.#failedCalls += this.#shim.end();
  }

  /** Resolves to true when the node has connected another block, and to false when it has ended. */
  async #recovers(node: NodeProcess): Promise<boolean> {
    const deadline = performance.now() + RECOVERY_MS;
    while (node.exit === null) {
      const mined = await node.api
        .rpc<string[]>('generatetoaddress', [1, MINER])
        .then(([hash]) => node.api.rpc<{ confirmations: number }>('getblockheader', [hash]))
        .catch(() => null);
      if (mined !== null && mined.confirmations > 0) return true;
      if (performance.now() > deadline) {
        const readiness = await node.api.request('/readyz').catch(String);
        this.#known.violations.push(
          `the node neither goes on nor ends: ${JSON.stringify(readiness)}\n${node.describe()}`,
        );
        await node.stop('SIGKILL');
      } else await Bun.sleep(100);
    }
    return false;
  }

  /** Checks how a node has ended. Returns its last sentence. */
  #checkEnd(fault: Fault, node: NodeProcess): string {
    const { signal, status } = node.exit!;
    if (fault === 'kill') {
      if (signal !== 'SIGKILL') this.#violate(fault, node, `the node had ended with ${status ?? signal}`);
      return 'SIGKILL';
    }
    if (NOT_ENDING.has(fault)) this.#violate(fault, node, 'the node ended, though it must go on');
    const [complaint] = CLEAR_END.exec(node.stderr) ?? [];
    if (status !== 1 || complaint === undefined) this.#violate(fault, node, 'the node ended without a clear sentence');
    if (/^\s+at .+:\d+/m.test(node.stderr)) this.#violate(fault, node, 'the node printed a stack');
    return complaint ?? '';
  }

  #violate(fault: Fault, node: NodeProcess, text: string): void {
    this.#known.violations.push(`${fault}: ${text}: ${node.describe()}`);
  }

  /** Settles everything that is open, and compares the whole state. */
  async #finish(): Promise<void> {
    const node = this.#node!;
    await new Load(node.api, this.#known).finish();
    const { bestBlockHash } = await node.api.json<Info>('/api/info');
    const consumed = this.#known.consumedTip?.hash;
    if (consumed !== bestBlockHash)
      this.#known.violations.push(`the events end at ${consumed}, not at ${bestBlockHash}`);
    await this.#comparison.compareAll(node);
    await node.stop();
    const { status, stdout, stderr } = await runProgram(['verify', '--network', 'regtest', '--datadir', this.#datadir]);
    if (status !== 0) this.#known.violations.push(`obverse verify ends with ${status}: ${stdout}${stderr}`);
  }
}
