import { afterAll, afterEach, beforeEach, setDefaultTimeout } from 'bun:test';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ApiClient } from './node-client.ts';
import { vectorPath } from './vectors.ts';

const root = join(import.meta.dir, '../..');

/** The value of `OBVERSE_API_KEY` in the nodes of tests. */
export const TEST_KEY = 'key-of-the-functional-tests-0123456789';
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
const PIPES_TIMEOUT_MS = 2000;
const OUTPUT_SHOWN = 4000;
/** Below what Linux and others take for outgoing connections and for port 0. */
const FIRST_PORT = 15_000;
const PORTS = 15_000;

export interface ProgramOptions {
  /** A built executable to run; the sources where absent. */
  readonly executable?: string;
  readonly cwd?: string;
  /** Added to the environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Words before the command, such as `setpriv --reuid 65534`. */
  readonly prefix?: readonly string[];
}

export interface NodeOptions extends ProgramOptions {
  readonly network?: string;
  /** A new one where absent. */
  readonly datadir?: string;
  /** 0 lets the system choose. */
  readonly port?: number;
  readonly args?: readonly string[];
  /** False: the key is the one that the node makes and writes to initial.key. */
  readonly testKey?: boolean;
}

export interface Exit {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | number | null;
}

const running = new Set<Program>();
const directories = new Set<string>();

/**
 * To be called at the top of a file: ends what its tests started and removes their directories. Every wait of these tests
 * has a deadline of its own, so the one of the test runner is only the last. `each`: the tests share no program that one
 * of them started, and each ends its own.
 */
export function cleanUpAfterTests({ each = false } = {}): void {
  setDefaultTimeout(180_000);
  if (each) {
    let before = new Set<Program>();
    beforeEach(() => void (before = new Set(running)));
    afterEach(() => endPrograms([...running].filter((program) => !before.has(program))));
  }
  afterAll(async () => {
    await endPrograms([...running]);
    for (const directory of directories) rmSync(directory, { recursive: true, force: true });
    directories.clear();
  });
}

async function endPrograms(programs: readonly Program[]): Promise<void> {
  for (const program of programs) program.kill('SIGKILL');
  await Promise.all(programs.map(({ exited }) => exited));
}

/** A new directory that goes with the tests of this file. */
export function tempDir(name = 'obverse'): string {
  const directory = mkdtempSync(join(tmpdir(), `${name}-`));
  directories.add(directory);
  return directory;
}

/**
 * Returns a port of the loopback interface without a listener; for tests that must know it before the node reports it.
 * It lies outside the range that the system assigns by itself, so that no connection occupies it in the meantime.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * PORTS);
    try {
      Bun.listen({ hostname: '127.0.0.1', port, exclusive: true, socket: { data() {} } }).stop(true);
      return port;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    }
  }
}

const POLL_MS = { first: 20, last: 250 };

/** Asks again until the answer is neither null nor false; `state` shows in the failure. Errors of `ask` are tried again. */
export async function poll<T>(
  what: string,
  ask: () => Promise<T | null | false> | T | null | false,
  {
    timeoutMs = 60_000,
    everyMs,
    state = () => '',
  }: { timeoutMs?: number; everyMs?: number; state?: () => string } = {},
): Promise<T> {
  const from = performance.now();
  const deadline = from + timeoutMs;
  let last: unknown = 'no';
  for (;;) {
    try {
      const answer = await ask();
      if (answer !== null && answer !== false) return answer;
    } catch (error) {
      if (error instanceof GoneError) throw error;
      last = error;
    }
    const now = performance.now();
    if (now > deadline) throw new Error(`waited ${timeoutMs} ms for ${what}: ${last}\n${state()}`);
    // The longer it has taken, the less often: requests to several nodes cost more than what they wait for.
    await Bun.sleep(everyMs ?? Math.min(Math.max((now - from) / 8, POLL_MS.first), POLL_MS.last));
  }
}

/** The program has ended, so there is nothing left to wait for. */
class GoneError extends Error {}

/** A run of the program, with all that it wrote. */
export class Program {
  readonly args: readonly string[];
  readonly exited: Promise<Exit>;
  stdout = '';
  stderr = '';
  #exit: Exit | null = null;
  readonly #child;
  readonly #listeners = new Set<() => void>();

  constructor(args: readonly string[], options: ProgramOptions = {}) {
    this.args = args;
    const executable = options.executable ?? process.env.TEST_EXECUTABLE;
    const command = executable ? [executable] : [process.execPath, join(root, 'src/main.ts')];
    this.#child = Bun.spawn([...withParent(), ...(options.prefix ?? []), ...command, ...args], {
      cwd: options.cwd ?? root,
      env: childEnvironment(options.env),
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      // A session of its own, as systemd gives it one. Its threads yield to others, which Linux counts within a session
      // (autogroups): in that of the tests, those that check scripts would get nothing where other tests are busy. Not
      // where nothing else would end the program with this process.
      detached: setpriv !== null,
    });
    running.add(this);
    const out = this.#collect(this.#child.stdout, (text) => (this.stdout += text));
    const err = this.#collect(this.#child.stderr, (text) => (this.stderr += text));
    // A process that it left behind may hold the pipes open.
    const closed = Promise.all([out, err]);
    this.exited = this.#child.exited.then(async () => {
      await Promise.race([closed, Bun.sleep(PIPES_TIMEOUT_MS)]);
      const exit: Exit = { status: this.#child.exitCode, signal: this.#child.signalCode };
      this.#exit = exit;
      running.delete(this);
      this.#notify();
      return exit;
    });
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** null while it runs. */
  get exit(): Exit | null {
    return this.#exit;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends a signal and waits for the end. Returns how it ended, and how long that took. */
  async stop(signal: NodeJS.Signals = 'SIGTERM', timeoutMs = STOP_TIMEOUT_MS): Promise<Exit & { ms: number }> {
    const from = performance.now();
    this.kill(signal);
    const exit = await this.end(timeoutMs);
    return { ...exit, ms: performance.now() - from };
  }

  /** Waits for the end. A run that does not end is killed, and that is an error. */
  async end(timeoutMs = 120_000): Promise<Exit> {
    const timer = Promise.withResolvers<null>();
    const id = setTimeout(() => timer.resolve(null), timeoutMs);
    const exit = await Promise.race([this.exited, timer.promise]);
    clearTimeout(id);
    if (exit) return exit;
    this.kill('SIGKILL');
    throw new Error(`still running after ${timeoutMs} ms: ${this.describe()}`);
  }

  /** The first match in what it wrote to stdout or stderr. */
  async output(stream: 'stdout' | 'stderr', pattern: RegExp, timeoutMs = START_TIMEOUT_MS): Promise<RegExpExecArray> {
    const deadline = performance.now() + timeoutMs;
    for (;;) {
      const match = pattern.exec(this[stream]);
      if (match) return match;
      const left = deadline - performance.now();
      if (this.#exit || left <= 0)
        throw new GoneError(
          `${this.#exit ? 'ended' : `${timeoutMs} ms passed`} without ${pattern}: ${this.describe()}`,
        );
      const { promise, resolve } = Promise.withResolvers<void>();
      const id = setTimeout(resolve, left);
      this.#listeners.add(resolve);
      await promise;
      this.#listeners.delete(resolve);
      clearTimeout(id);
    }
  }

  /** Waits as `poll` does, and gives up when the program has ended. */
  until<T>(
    what: string,
    ask: () => Promise<T | null | false> | T | null | false,
    timeoutMs?: number,
    everyMs?: number,
  ) {
    return poll(
      what,
      () => {
        if (this.#exit) throw new GoneError(`ended before ${what}: ${this.describe()}`);
        return ask();
      },
      {
        ...(timeoutMs !== undefined && { timeoutMs }),
        ...(everyMs !== undefined && { everyMs }),
        state: () => this.describe(),
      },
    );
  }

  /** For messages of failure. */
  describe(): string {
    const how = this.#exit ? `status ${this.#exit.status}, signal ${this.#exit.signal}` : 'running';
    return `obverse ${this.args.join(' ')} (${how})\n--- stdout\n${this.stdout.slice(-OUTPUT_SHOWN)}\n--- stderr\n${this.stderr.slice(-OUTPUT_SHOWN)}`;
  }

  async #collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      add(decoder.decode(chunk, { stream: true }));
      this.#notify();
    }
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** A `start` of the program with a client for its API. */
export class NodeProcess extends Program {
  readonly datadir: string;
  readonly network: string;
  #api: ApiClient | null = null;
  readonly #key: string | null;

  constructor(options: NodeOptions = {}) {
    const { network = 'regtest', datadir = tempDir(), port = 0, args = [], testKey = true, env } = options;
    const listen = `127.0.0.1:${port}`;
    super(
      [
        ...['start', '--network', network, '--datadir', datadir, '--http.listen', listen],
        // Tests ask more often than a stranger may.
        ...['--http.limits.publicRate=100000', '--http.limits.publicBurst=100000'],
        // Most tests use no wallet, whose first keys take a quarter of the processor time of a start.
        ...(names(args, '--wallet.') ? [] : ['--wallet.autocreate=false']),
        // Most tests are about one node alone, and two cannot listen on one port.
        ...(names(args, '--p2p.') ? [] : ['--p2p.enabled=false']),
        // A thread for each core takes longer to start than the few scripts of most tests take to verify.
        ...(names(args, '--workers.verify') ? [] : ['--workers.verify=1']),
        ...args,
      ],
      { ...options, env: { ...(testKey && { OBVERSE_API_KEY: TEST_KEY }), ...env } },
    );
    this.datadir = datadir;
    this.network = network;
    this.#key = testKey ? TEST_KEY : null;
    if (port !== 0) this.#api = new ApiClient(`http://${listen}`, this.#key);
  }

  /** Where the data of the network is. */
  get networkDir(): string {
    return join(this.datadir, this.network);
  }

  get api(): ApiClient {
    if (!this.#api) throw new Error(`the node has not printed its address: ${this.describe()}`);
    return this.#api;
  }

  /** Waits until the node has opened its data and answers. */
  async ready(timeoutMs = START_TIMEOUT_MS): Promise<this> {
    const [, url] = await this.output('stderr', /"msg":"ready".*"url":"([^"]+)"/, timeoutMs);
    const key = this.#key ?? readFileSync(join(this.networkDir, 'initial.key'), 'utf8').trim();
    this.#api = new ApiClient(url!, key);
    return this;
  }

  /** Waits until the tip is at least that high. */
  height(height: number, timeoutMs = 60_000): Promise<number> {
    return this.until(
      `height ${height}`,
      async () => {
        const info = await this.api.json<{ height: number }>('/api/info');
        return info.height >= height && info.height;
      },
      timeoutMs,
    );
  }
}

const names = (args: readonly string[], setting: string): boolean => args.some((arg) => arg.startsWith(setting));

/** Starts a node and waits until it answers. */
export function startNode(options: NodeOptions = {}): Promise<NodeProcess> {
  return new NodeProcess(options).ready();
}

export interface RunResult extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function runProgram(
  args: readonly string[],
  { timeoutMs, ...options }: ProgramOptions & { timeoutMs?: number } = {},
): Promise<RunResult> {
  const program = new Program(args, options);
  const exit = await program.end(timeoutMs);
  return { ...exit, stdout: program.stdout, stderr: program.stderr };
}

/** Imports files and expects it to work. */
export async function importFiles(network: string, datadir: string, files: readonly string[]): Promise<RunResult> {
  const result = await runProgram(['import', '--network', network, '--datadir', datadir, ...files]);
  if (result.status !== 0) throw new Error(`import failed with ${result.status ?? result.signal}: ${result.stderr}`);
  return result;
}

export const MIXED_FILE = vectorPath('chains/regtest-mixed-160.dat');
export const MAINNET_FILE = vectorPath('chains/mainnet-first-blocks.dat');

/** A copy of a data directory, without the files of a process that runs on it. */
export function copyDatadir(from: string): string {
  const to = tempDir();
  cpSync(from, to, { recursive: true });
  return to;
}

/** An argument for nodes whose default wallet a test uses. The usual thousand addresses of eight kinds take two seconds. */
export const WITH_WALLET = '--wallet.keypool=20';

/** The environment of this process without what would configure the program. */
function childEnvironment(
  extra: Readonly<Record<string, string | undefined>> = {},
): Record<string, string | undefined> {
  const outer = Object.entries(process.env).filter(([name]) => !name.startsWith('OBVERSE_') && name !== 'NODE_PATH');
  return { ...Object.fromEntries(outer), ...SHORT_LIVED, ...extra };
}

/**
 * Most programs of tests live for seconds. These options of the engine save a fifth of the processor time of a start: a
 * function is compiled after ten times as many calls as usual, and a thread collects its garbage for the first time when
 * its heap is larger, alone. Busy functions are still compiled and optimized.
 */
export const SHORT_LIVED = {
  BUN_JSC_thresholdForJITAfterWarmUp: '5000',
  BUN_JSC_thresholdForOptimizeAfterWarmUp: '10000',
  BUN_JSC_thresholdForOptimizeAfterLongWarmUp: '10000',
  BUN_JSC_largeHeapSize: `${64 * 2 ** 20}`,
  BUN_JSC_smallHeapSize: `${16 * 2 ** 20}`,
  BUN_JSC_numberOfGCMarkers: '1',
};

const setpriv = existsSync('/usr/bin/setpriv') ? '/usr/bin/setpriv' : null;

/** Where it can be had: the program ends with this process, even when that is killed. */
function withParent(): readonly string[] {
  return setpriv ? [setpriv, '--pdeathsig', 'KILL'] : [];
}
