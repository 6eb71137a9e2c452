import { chownSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { freePort, poll, tempDir } from './node-process.ts';
import { requireProgram } from './programs.ts';
import { tlsFiles } from './self-signed.ts';
import { publishFixture, sharedFixture } from './shared-fixtures.ts';

const COPY = 'data-of-replica';
const VERSIONS = '/usr/lib/postgresql';

/** A user of Debian without rights: PostgreSQL refuses to run as root. */
const USER = 65_534;

/** Path of a program of PostgreSQL. Throws where it is missing, as `requireProgram` does. */
function requirePostgres(name: string): string {
  const versions = existsSync(VERSIONS) ? readdirSync(VERSIONS).toSorted((a, b) => Number(b) - Number(a)) : [];
  const path = versions.map((version) => join(VERSIONS, version, 'bin', name)).find((each) => existsSync(each));
  if (path === undefined)
    throw new Error(`PostgreSQL is not installed; .ci/install-programs installs what the tests run`);
  return path;
}

const prefix = (): string[] =>
  process.getuid?.() === 0 ? [requireProgram('setpriv'), `--reuid=${USER}`, `--regid=${USER}`, '--clear-groups'] : [];

/** Makes the files of a server without databases of its own, which takes longer than to copy them. */
function makeCluster(): string {
  // Not beside other fixtures, whose folder the user of the server may not read.
  const directory = tempDir('postgres');
  if (process.getuid?.() === 0) chownSync(directory, USER, USER);
  const init = [requirePostgres('initdb'), '-D', join(directory, 'data'), '-U', 'obverse', '-A', 'trust', '-N'];
  const made = Bun.spawnSync([...prefix(), ...init, '-E', 'UTF8', '--locale=C'], { cwd: directory });
  if (!made.success) throw new Error(`initdb failed: ${made.stderr}`);
  return directory;
}

/** A PostgreSQL of a test, in a directory of its own. */
export class PostgresServer implements AsyncDisposable {
  readonly port: number;
  readonly #directory: string;
  #process: ReturnType<typeof Bun.spawn> | null = null;

  private constructor(directory: string, port: number) {
    this.#directory = directory;
    this.port = port;
  }

  static async start(): Promise<PostgresServer> {
    const directory = tempDir('postgres');
    const { path, isThere } = sharedFixture('postgres');
    if (!isThere) publishFixture(makeCluster(), path);
    // With its owner, which the server requires.
    const copied = Bun.spawnSync(['cp', '-a', `${path}/.`, directory]);
    if (!copied.success) throw new Error(`cp failed: ${copied.stderr}`);
    const server = new PostgresServer(directory, await freePort());
    await server.run();
    return server;
  }

  /** Process id of the server, which is the parent of its sessions. */
  get pid(): number {
    if (!this.#process) throw new Error('PostgreSQL does not run');
    return this.#process.pid;
  }

  get url(): string {
    return `postgres://obverse@127.0.0.1:${this.port}/postgres`;
  }

  /** Creates a database for a test, and returns its URL. */
  createDatabase(name: string): string {
    this.psql(`CREATE DATABASE ${name}`);
    return this.url.replace(/postgres$/, name);
  }

  /** Runs psql with a script, and returns what it printed. */
  psql(script: string): string {
    const done = Bun.spawnSync([requirePostgres('psql'), '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', this.url], {
      stdin: Buffer.from(script),
    });
    if (!done.success) throw new Error(`psql failed: ${done.stderr}`);
    return done.stdout.toString();
  }

  /** Has new sessions use TLS where they ask for it, with a certificate for localhost that signs itself. Returns its file. */
  useTls(): string {
    const files = tlsFiles(this.#directory);
    if (process.getuid?.() === 0) chownSync(files.key, USER, USER);
    const settings = { ssl: 'on', ssl_cert_file: files.cert, ssl_key_file: files.key };
    for (const [name, value] of Object.entries(settings)) this.psql(`ALTER SYSTEM SET ${name} = '${value}'`);
    this.psql('SELECT pg_reload_conf()');
    // The server reads its settings some time after the call.
    for (let tries = 0; this.psql('SHOW ssl').trim() !== 'on'; tries++) {
      if (tries === 200) throw new Error('PostgreSQL does not use TLS');
      Bun.sleepSync(20);
    }
    return files.cert;
  }

  /** Stores a copy of all data, as a replica has them, and continues. */
  async storeCopy(): Promise<void> {
    await this.kill();
    this.#copyData('data', COPY);
    await this.run();
  }

  /** Kills the server and continues with the stored copy, as after a failover to a replica that lacks what came later. */
  async failOverToCopy(): Promise<void> {
    await this.kill();
    rmSync(join(this.#directory, 'data'), { recursive: true });
    this.#copyData(COPY, 'data');
    await this.run();
  }

  #copyData(from: string, to: string): void {
    const copied = Bun.spawnSync(['cp', '-a', from, to], { cwd: this.#directory });
    if (!copied.success) throw new Error(`cp failed: ${copied.stderr}`);
  }

  /** Starts the server, with the data of before. Resolves when it answers. */
  async run(): Promise<void> {
    const settings = { listen_addresses: '127.0.0.1', port: this.port, unix_socket_directories: '', fsync: 'off' };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const server = [requirePostgres('postgres'), '-D', join(this.#directory, 'data'), ...options];
    const child = Bun.spawn([...prefix(), ...server], { cwd: this.#directory, stdio: ['ignore', 'ignore', 'ignore'] });
    this.#process = child;
    await poll('PostgreSQL', async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL ended with status ${child.exitCode}`);
      await using sql = new SQL(this.url, { max: 1, connectionTimeout: 2 });
      return (await sql`SELECT 1 AS one`)[0].one === 1;
    });
  }

  /** Kills the server and all its sessions at once, as a crash does. */
  async kill(): Promise<void> {
    // SIGQUIT is the immediate shutdown: the sessions end without a checkpoint. SIGKILL would leave them running.
    this.#process?.kill('SIGQUIT');
    await this.#process?.exited;
    this.#process = null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }
}
