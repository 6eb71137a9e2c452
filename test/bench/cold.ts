import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { buildExecutable, runToEnd } from './executable.ts';
import { grouped, percentile, printGrid } from './report.ts';

const ROOT = resolve(import.meta.dir, '../..');
const REQUEST = 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
/** Requests are measured for this time from the moment at which the server accepts connections. */
const WINDOW_MS = 2000;
const PAUSE_MS = 2;
const START_MS = 30_000;
const BARE = `Bun.serve({ hostname: '127.0.0.1', port: Number(process.argv[2]), fetch: () => new Response('{"status":"ok"}') });`;

interface Target {
  readonly name: string;
  readonly command: (port: number) => readonly string[];
  /** Times of the first request of each start, and of all requests, milliseconds. */
  readonly first: number[];
  readonly all: number[];
  /** Times from the start of the process to its first reply, milliseconds. */
  readonly reached: number[];
}

/**
 * Starts an executable of the node and a bare Bun.serve in alternation, and measures GET /healthz from the moment at which
 * each accepts connections: the first request, and all of the first two seconds. `--busy` keeps that many other processes
 * busy meanwhile.
 */
export async function benchCold(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      starts: { type: 'string', default: '100' },
      base: { type: 'string' },
      busy: { type: 'string', default: '0' },
    },
  });
  const folder = mkdtempSync(join(tmpdir(), 'obverse-cold-'));
  const busy: Bun.Subprocess[] = [];
  try {
    const targets = [await node('node', ROOT, folder)];
    if (values.base) targets.push(await node('base', resolve(values.base), folder));
    targets.push(await bare(folder));
    // The first start makes the data directory and brings the files into the page cache.
    for (const target of targets) await measureStart({ ...target, first: [], all: [], reached: [] });
    for (let i = 0; i < Number(values.busy); i++)
      busy.push(Bun.spawn(['setsid', '--wait', process.execPath, '-e', 'for (;;);']));
    for (let start = 0; start < Number(values.starts); start++)
      for (const target of targets) await measureStart(target);
    console.log(`GET /healthz, ${values.starts} starts beside ${values.busy} busy processes, milliseconds`);
    printGrid(
      ['', 'p50', 'p99', 'longest', 'requests'],
      targets.flatMap(({ name, first, all, reached }) => [
        [`${name}: start to first reply`, ...spread(reached)],
        [`${name}: first request`, ...spread(first)],
        [`${name}: first two seconds`, ...spread(all)],
      ]),
    );
  } finally {
    for (const child of busy) child.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function node(name: string, root: string, folder: string): Promise<Target> {
  const executable = join(folder, name);
  await buildExecutable(executable, root);
  const datadir = join(folder, `${name}-data`);
  const command = (port: number) => [
    ...[executable, 'start', '--network', 'regtest', '--datadir', datadir],
    ...['--http.listen', `127.0.0.1:${port}`, '--p2p.enabled=false'],
  ];
  return { name, command, first: [], all: [], reached: [] };
}

async function bare(folder: string): Promise<Target> {
  const executable = join(folder, 'bare');
  const source = join(folder, 'bare.ts');
  writeFileSync(source, BARE);
  await runToEnd([process.execPath, 'build', '--compile', source, '--outfile', executable], folder);
  return { name: 'Bun.serve', command: (port) => [executable, String(port)], first: [], all: [], reached: [] };
}

async function measureStart({ command, first, all, reached }: Target): Promise<void> {
  const port = await freePort();
  const began = performance.now();
  const child = Bun.spawn(['setsid', '--wait', ...command(port)], { stdout: 'ignore', stderr: 'ignore' });
  try {
    const client = await HealthClient.connect(port);
    const end = performance.now() + WINDOW_MS;
    first.push(await client.request());
    reached.push(performance.now() - began);
    all.push(first.at(-1)!);
    while (performance.now() < end) {
      await Bun.sleep(PAUSE_MS);
      all.push(await client.request());
    }
    client.close();
  } finally {
    child.kill();
    await child.exited;
  }
}

/** One connection that sends one request at a time. */
class HealthClient {
  readonly #socket: Bun.Socket;
  readonly #replies: { done: (() => void) | null };

  private constructor(socket: Bun.Socket, replies: { done: (() => void) | null }) {
    this.#socket = socket;
    this.#replies = replies;
  }

  /** Connects as soon as the port accepts connections. */
  static async connect(port: number): Promise<HealthClient> {
    const replies: { done: (() => void) | null } = { done: null };
    const data = () => replies.done?.();
    for (const deadline = performance.now() + START_MS; performance.now() < deadline; ) {
      try {
        const socket = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data } });
        return new HealthClient(socket, replies);
      } catch {
        await Bun.sleep(1);
      }
    }
    throw new Error('the server accepts no connection');
  }

  /** Returns the time until the reply, milliseconds. A reply fits into one segment. */
  async request(): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#replies.done = resolve;
    const began = performance.now();
    this.#socket.write(REQUEST);
    await promise;
    return performance.now() - began;
  }

  close(): void {
    this.#socket.end();
  }
}

function freePort(): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const server = createServer().listen(0, '127.0.0.1', () => {
    const { port } = server.address() as { port: number };
    server.close(() => resolve(port));
  });
  return promise;
}

function spread(times: readonly number[]): string[] {
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => grouped(percentile(sorted, share), 2));
  return [p50!, p99!, longest!, grouped(sorted.length)];
}
