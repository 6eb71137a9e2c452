import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { processorTime } from '../http/processor-time.ts';

const START_MS = 600_000;
const POLL_MS = 50;
const FIRST_PORT = 20_000;
const PORTS = 10_000;
const ADDRESS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';

/** A program with a JSON-RPC interface and a mempool. */
export interface NodeKind {
  readonly name: string;
  /** Returns the command of a node on regtest that connects the blocks of a file. */
  command(datadir: string, port: number, blocks: string): readonly string[];
}

/** Returns the node of an executable. */
export function obverse(name: string, executable: string): NodeKind {
  return {
    name,
    command: (datadir, port, blocks) => [
      ...[executable, 'start', '--network', 'regtest', '--datadir', datadir],
      ...['--http.listen', `127.0.0.1:${port}`, '--p2p.enabled=false', '--wallet.enabled=false'],
      ...['--import.files', blocks, '--http.limits.publicRate=1000000', '--http.limits.publicBurst=1000000'],
    ],
  };
}

/** Leaves out the self-checks of regtest, which the main chain does not have. */
export function bitcoinCore(bitcoind: string): NodeKind {
  return {
    name: 'Bitcoin Core',
    command: (datadir, port, blocks) => [
      ...[bitcoind, '-regtest', `-datadir=${datadir}`, `-loadblock=${blocks}`, `-rpcport=${port}`, '-server=1'],
      ...['-connect=0', '-listen=0', '-checkblockindex=0', '-checkmempool=0', '-checkaddrman=0', '-disablewallet'],
      `-par=${navigator.hardwareConcurrency}`,
    ],
  };
}

interface RpcReply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string } | null;
}

/** A running node. It must be disposed, which ends the process and removes its directory. */
export class BenchNode implements AsyncDisposable {
  readonly datadir: string;
  readonly #child: Bun.Subprocess<'ignore', 'ignore', 'pipe'>;
  readonly #url: string;
  #stderr = '';

  private constructor(kind: NodeKind, blocks: string) {
    this.datadir = mkdtempSync(join(tmpdir(), 'obverse-bench-'));
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    this.#url = `http://127.0.0.1:${port}`;
    // A session of its own, in which no other nice value counts.
    this.#child = Bun.spawn(['setsid', '--wait', ...kind.command(this.datadir, port, blocks)], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'pipe',
    });
    void this.#collect();
  }

  /** Starts a node, and waits until it has connected all blocks of the file and can accept transactions. */
  static async start(kind: NodeKind, blocks: string, height: number): Promise<BenchNode> {
    const node = new BenchNode(kind, blocks);
    try {
      await node.#until(async () => (await node.call('getblockcount')) === height);
      // A block of today ends the initial block download.
      await node.call('generatetoaddress', 1, ADDRESS);
      return node;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The process of the node itself. */
  get pid(): number {
    const children = readFileSync(`/proc/${this.#child.pid}/task/${this.#child.pid}/children`, 'utf8').trim();
    return Number(children === '' ? this.#child.pid : children.split(' ', 1)[0]);
  }

  /** Processor time of all threads, microseconds. */
  get processorUs(): number {
    return processorTime(this.pid);
  }

  /** Resident memory and its peak, bytes. */
  get memory(): { readonly resident: number; readonly peak: number } {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    const bytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) * 1024;
    return { resident: bytes('VmRSS'), peak: bytes('VmHWM') };
  }

  async call(method: string, ...params: readonly unknown[]): Promise<unknown> {
    const [{ result, error }] = await this.send([{ method, params }]);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Sends calls as one batch. */
  async send(calls: readonly { readonly method: string; readonly params: readonly unknown[] }[]) {
    const cookie = readFileSync(join(this.datadir, 'regtest/.cookie'), 'utf8').trim();
    const reply = await fetch(this.#url, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(cookie)}`, 'content-type': 'application/json' },
      body: JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call }))),
    });
    const replies = (await reply.json()) as RpcReply[];
    if (!Array.isArray(replies)) throw new Error(`the batch failed: ${JSON.stringify(replies).slice(0, 300)}`);
    return replies as [RpcReply, ...RpcReply[]];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.kill(this.pid, 'SIGTERM');
    await this.#child.exited;
    rmSync(this.datadir, { recursive: true, force: true });
  }

  async #until(isDone: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + START_MS;
    let problem: unknown = null;
    for (;;) {
      try {
        if (await isDone()) return;
      } catch (error) {
        problem = error;
      }
      const state = () => `${problem}\n${this.#stderr.slice(-2000)}`;
      if (this.#child.exitCode !== null) throw new Error(`the node ended: ${state()}`);
      if (performance.now() > deadline) throw new Error(`the node is not ready: ${state()}`);
      await Bun.sleep(POLL_MS);
    }
  }

  async #collect(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of this.#child.stderr) this.#stderr = (this.#stderr + decoder.decode(chunk)).slice(-10_000);
  }
}
