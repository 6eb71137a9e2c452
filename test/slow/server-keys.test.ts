import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { SQL } from 'bun';
import { type Authentication, Authenticator } from '../../src/auth/authenticator.ts';
import { makeKey } from '../../src/auth/key-format.ts';
import { ServerKeys } from '../../src/serve/keys/server-keys.ts';
import { SinkDatabase } from '../../src/sink/sink-database.ts';
import { type Clock, hostClock } from '../../src/util/clock.ts';
import { createLog } from '../../src/util/log.ts';
import { defaultApiOptions } from '../lib/default-options.ts';
import { ManualClock } from '../lib/manual-clock.ts';
import { cleanUpAfterTests, poll, type RunResult, runProgram, tempDir } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';

cleanUpAfterTests();

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

/** Returns the URL of a database that a node has prepared. */
async function database(name: string): Promise<string> {
  const url = postgres.createDatabase(name);
  const sink = new SinkDatabase(url, { network: 'regtest', leader: 'test' });
  await sink.migrate();
  await sink.close();
  return url;
}

interface IssuedKey {
  readonly id: string;
  readonly key: string;
}

function keyCommand(url: string, ...args: string[]): Promise<RunResult> {
  return runProgram(['key', ...args, '--database'], { env: { OBVERSE_SERVE_FROM: url } });
}

async function changed(url: string, ...args: string[]): Promise<string> {
  const { status, stdout, stderr } = await keyCommand(url, ...args);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  return stdout;
}

async function createKey(url: string, ...args: string[]): Promise<IssuedKey> {
  return JSON.parse(await changed(url, 'create', '--json', ...args));
}

/** The authentication of a server, as obverse serve composes it. */
class TestServer implements AsyncDisposable {
  readonly auth: Authenticator;
  readonly lines: string[] = [];
  readonly #keys: ServerKeys;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;

  constructor(url: string, clock: Clock = hostClock) {
    const write = (bytes: Uint8Array) => this.lines.push(new TextDecoder().decode(bytes)) && bytes.length;
    const log = createLog({ level: 'debug', format: 'json', write });
    const networkDir = tempDir('server-keys');
    const options = defaultApiOptions({ network: 'regtest', networkDir, chainDir: networkDir });
    const { authFailuresPerMinute } = options.limits;
    this.#keys = new ServerKeys({ url, name: 'test', log, clock, authFailuresPerMinute });
    const counters = { authFailure: () => {}, password: () => {}, login: () => {} };
    this.auth = new Authenticator(options, log, clock, counters, this.#keys.shared);
    this.#keys.attach(this.auth);
    this.#running = this.#keys.run(this.#ending.signal);
  }

  get status() {
    return this.#keys.status;
  }

  get publicBucket() {
    return this.#keys.shared.buckets.bucket('192.0.2.1', { perSecond: 10, burst: 40 }, hostClock);
  }

  /** Throws where the check of a key would wait. */
  authenticate(key: string, ip = '192.0.2.1'): Authentication {
    const request = { signal: new AbortController().signal };
    const result = this.auth.authenticate(`Bearer ${key}`, { ip, request }, null);
    if (result instanceof Promise) throw new Error('the check of a key waits');
    return result;
  }

  /** Returns `ok` or the code of the error. */
  outcome(key: string, ip?: string): string {
    const result = this.authenticate(key, ip);
    return result.ok ? 'ok' : result.error.failure;
  }

  isKeyState(state: string): () => boolean {
    return () => this.status.keys.state === state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.auth.close();
    this.#ending.abort(new Error('the server stops'));
    await this.#running;
  }
}

async function startServer(url: string, clock?: Clock): Promise<TestServer> {
  const server = new TestServer(url, clock);
  await poll('the keys', server.isKeyState('current'));
  return server;
}

const within2s = (what: string, is: () => boolean) => poll(what, is, { timeoutMs: 2000, everyMs: 20 });

/**
 * Forwards connections to the database, until it stalls: then it accepts connections and bytes, and answers nothing. A mute
 * one drops the answers alone.
 */
class StallingProxy implements AsyncDisposable {
  readonly #server = createServer((client) => this.#forward(client));
  readonly #sockets = new Set<Socket>();
  isStalled = false;
  isMute = false;
  /** Number of connections so far. */
  connections = 0;

  readonly #target: number;

  constructor(port: number) {
    this.#target = port;
  }

  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return (this.#server.address() as { port: number }).port;
  }

  #forward(client: Socket): void {
    this.connections++;
    const database = connect(this.#target, '127.0.0.1');
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(from);
      const isDropped = () => this.isStalled || (this.isMute && from === database);
      from.on('data', (bytes) => void (isDropped() || to.write(bytes)));
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

describe('keys', () => {
  test('a command creates, rotates and revokes a key, and a running server follows within two seconds', async () => {
    const url = await database('follow');
    await using server = await startServer(url);
    const { id, key } = await createKey(url, '--label', 'shop');
    await within2s('the new key', () => server.outcome(key) === 'ok');

    const overlapping = JSON.parse(await changed(url, 'rotate', id, '--overlap', '1h', '--json')).key;
    await within2s('the second secret', () => server.outcome(overlapping) === 'ok');
    expect(server.outcome(key)).toBe('ok');
    const last = JSON.parse(await changed(url, 'rotate', id, '--overlap', '0s', '--json')).key;
    await within2s('the third secret', () => server.outcome(last) === 'ok');
    expect([server.outcome(key, '192.0.2.9'), server.outcome(overlapping, '192.0.2.9')]).toEqual([
      'invalid_credentials',
      'invalid_credentials',
    ]);

    await changed(url, 'revoke', id);
    await within2s('the revocation', () => server.outcome(last, '192.0.2.10') === 'invalid_credentials');
  });

  test('scopes, addresses, expiry and rate of a key hold', async () => {
    const url = await database('rights');
    await using server = await startServer(url);
    const rights = ['--scopes', 'read', '--ip', '10.0.0.0/8', '--rate', '2/s,5', '--expires', '1h'];
    const { id, key } = await createKey(url, ...rights);
    await within2s('the key', () => server.outcome(key, '10.1.1.1') === 'ok');
    expect(server.outcome(key, '192.0.2.1')).toBe('ip_not_allowed');
    const found = server.authenticate(key, '10.1.1.1');
    if (!found.ok) throw found.error;
    expect([...found.principal.scopes]).toEqual(['read']);
    expect(found.bucket?.rate).toEqual({ perSecond: 2, burst: 5 });
    expect(found.bucket?.consume(5)).toBe(true);
    expect(found.bucket?.consume(1)).toBe(false);
    expect(server.auth.standing(found.principal, { ip: '10.1.1.1' })).toBe(found.principal);

    await changed(url, 'scopes', id, 'metrics');
    await within2s('the other scope', () => {
      const now = server.authenticate(key, '10.1.1.1');
      return now.ok && now.principal.scopes.has('metrics') && !now.principal.scopes.has('read');
    });
    // An open connection sees that its rights are others.
    expect(server.auth.standing(found.principal, { ip: '10.1.1.1' })).not.toBe(found.principal);
  });

  test('commands that run at the same time lose nothing', async () => {
    const url = postgres.createDatabase('concurrent');
    // The first ones find no tables.
    const made = await Promise.all(Array.from({ length: 12 }, (_, i) => createKey(url, '--label', `key ${i}`)));
    const listed: { id: string; label: string }[] = JSON.parse(await changed(url, 'list', '--json'));
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set(made.map(({ id }) => id)));
    await using sql = new SQL(url, { max: 1 });
    const changes =
      await sql`SELECT version::INT AS version, who, method, key_id FROM obverse.api_key_changes ORDER BY version`;
    expect(changes.map(({ version }: { version: number }) => version)).toEqual(made.map((_, i) => i + 2));
    expect(changes[0]).toMatchObject({ method: 'createapikey', who: expect.stringMatching(/^cli:\d+@./) });
    expect(new Set(changes.map(({ key_id }: { key_id: string }) => key_id))).toEqual(new Set(made.map(({ id }) => id)));
  });

  test('the time of last use is in the database after the server has stopped', async () => {
    const url = await database('uses');
    const { key } = await createKey(url);
    {
      await using server = await startServer(url);
      expect(server.outcome(key)).toBe('ok');
    }
    const [listed] = JSON.parse(await changed(url, 'list', '--json'));
    const now = Date.now() / 1000;
    expect(listed.lastUsedAt % 60).toBe(0);
    expect(now - listed.lastUsedAt).toBeLessThan(180);
  });

  test('a file of --out is removed where the database refuses the change', async () => {
    const url = await database('refused');
    postgres.psql(`CREATE ROLE reader LOGIN; \\c refused
      GRANT USAGE ON SCHEMA obverse TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA obverse TO reader;
      GRANT UPDATE ON obverse.api_key_state TO reader`);
    const file = join(tempDir(), 'new.key');
    const made = await keyCommand(url.replace('obverse@', 'reader@'), 'create', '--out', file);
    expect([made.status, made.stdout, made.stderr]).toEqual([
      1,
      '',
      'obverse: the keys in the database cannot be changed: permission denied for table api_keys\n',
    ]);
    expect(existsSync(file)).toBe(false);
    expect(JSON.parse((await keyCommand(url.replace('obverse@', 'reader@'), 'list', '--json')).stdout)).toEqual([]);
    expect((await keyCommand(url, 'create', '--out', file)).status).toBe(0);
    expect(readFileSync(file, 'utf8')).toMatch(/^obv1_\S+\n$/);
  });

  test('a role with the rights of a server follows keys and shares limits, and cannot change a key', async () => {
    const url = await database('roles');
    postgres.psql(`CREATE ROLE server LOGIN; \\c roles
      GRANT USAGE ON SCHEMA obverse TO server;
      GRANT SELECT ON ALL TABLES IN SCHEMA obverse TO server;
      GRANT INSERT, UPDATE ON obverse.api_key_uses TO server;
      GRANT INSERT, DELETE ON obverse.rate_batches TO server;`);
    const { id: used, key } = await createKey(url);
    const asServer = url.replace('obverse@', 'server@');
    {
      await using server = await startServer(asServer);
      expect(server.outcome(key)).toBe('ok');
      server.publicBucket.consume(7);
      await using sql = new SQL(url, { max: 1 });
      await poll('the batch', async () => (await sql`SELECT charges FROM obverse.rate_batches`).length === 1);
      expect(server.status).toMatchObject({ keys: { state: 'current' }, rates: { problem: null } });
    }
    expect((await keyCommand(asServer, 'create')).stderr).toContain('permission denied');
    postgres.psql(`CREATE ROLE keeper LOGIN; \\c roles
      GRANT USAGE ON SCHEMA obverse TO keeper;
      GRANT SELECT ON obverse.api_key_uses TO keeper;
      GRANT SELECT, INSERT, UPDATE ON obverse.api_keys, obverse.api_key_state TO keeper;
      GRANT SELECT, INSERT, UPDATE, DELETE ON obverse.api_key_secrets TO keeper;
      GRANT SELECT, INSERT, DELETE ON obverse.api_key_changes TO keeper;`);
    const asKeeper = url.replace('obverse@', 'keeper@');
    const { id } = await createKey(asKeeper);
    await changed(asKeeper, 'rotate', id, '--overlap', '0s');
    await changed(asKeeper, 'revoke', id);
    expect(await changed(asKeeper, 'list')).toContain('revoked');
    const listed: { id: string; lastUsedAt: number | null }[] = JSON.parse(await changed(url, 'list', '--json'));
    expect(listed.find((each) => each.id === used)?.lastUsedAt).toBeNumber();
  });
});

describe('limits of two servers', () => {
  test('a key that is used at both has one rate', async () => {
    const url = await database('rates');
    const rate = { perSecond: 20, burst: 40 };
    const { key } = await createKey(url, '--rate', `${rate.perSecond}/s,${rate.burst}`);
    await using first = await startServer(url);
    await using second = await startServer(url);
    const buckets = [first, second].map((server) => {
      const found = server.authenticate(key);
      if (!found.ok) throw found.error;
      return found.bucket!;
    });
    const startedAt = performance.now();
    let consumed = 0;
    const seconds = () => (performance.now() - startedAt) / 1000;
    while (seconds() < 8) {
      for (const bucket of buckets) while (bucket.consume(1)) consumed++;
      await Bun.sleep(10);
    }
    const allowed = rate.burst + rate.perSecond * seconds();
    // A busy machine may delay an exchange by some of a second.
    expect(consumed).toBeLessThanOrEqual(allowed + rate.burst + rate.perSecond * 2);
    expect(consumed).toBeGreaterThan(allowed / 2);
  });

  test('what one server consumed is known to the other, also to one that starts later', async () => {
    const url = await database('known');
    const { key } = await createKey(url, '--rate', '0.1/s,100');
    const remaining = (server: TestServer) => {
      const found = server.authenticate(key);
      return found.ok ? found.bucket!.remaining : null;
    };
    await using first = await startServer(url);
    await using second = await startServer(url);
    const found = first.authenticate(key);
    if (!found.ok) throw found.error;
    expect(found.bucket!.consume(90)).toBe(true);
    expect(first.publicBucket.consume(40)).toBe(true);
    await within2s('the consumption', () => (remaining(second) ?? 100) < 20 && second.publicBucket.remaining < 40);
    await using third = await startServer(url);
    await within2s('the consumption', () => (remaining(third) ?? 100) < 20);
  });

  test('consumption whose acknowledgement is lost is subtracted once', async () => {
    const url = await database('unacknowledged');
    const { key } = await createKey(url, '--rate', '0.000001/s,100000');
    await using proxy = new StallingProxy(postgres.port);
    const port = await proxy.listen();
    await using first = await startServer(url.replace(`:${postgres.port}/`, `:${port}/`));
    await using second = await startServer(url);
    const [found, other] = [first, second].map((server) => server.authenticate(key));
    if (!found?.ok || !other?.ok) throw new Error('the key is refused');
    let consumed = 0;
    const consumeFor = async (ms: number) => {
      for (const until = performance.now() + ms; performance.now() < until; await Bun.sleep(10))
        if (found.bucket!.consume(3)) consumed += 3;
    };
    await using sql = new SQL(url, { max: 1 });
    for (let round = 0; round < 3; round++) {
      const rows = async () => (await sql`SELECT count(*)::INT AS count FROM obverse.rate_batches`)[0].count as number;
      // The statement must be prepared: otherwise its parameters wait for an answer.
      await consumeFor(1500);
      const before = await rows();
      expect(before).toBeGreaterThan(0);
      proxy.isMute = true;
      await consumeFor(1500);
      // It has a batch whose acknowledgement does not come.
      expect(await rows()).toBeGreaterThan(before);
      await poll('the failure', () => first.status.rates.problem !== null, { everyMs: 10 });
      proxy.isMute = false;
      await poll('the exchange', () => first.status.rates.problem === null);
    }
    await poll('all charges', () => other.bucket!.remaining === 100_000 - consumed);
    await consumeFor(1500);
    await poll('further charges', () => other.bucket!.remaining === 100_000 - consumed);
    expect(first.status.rates.unshared).toBe(0);
  });

  test('failed authentications at one server count at the other', async () => {
    const url = await database('failures');
    await using first = await startServer(url);
    await using second = await startServer(url);
    const guess = () => makeKey().text;
    for (let i = 0; i < 10; i++) expect(first.outcome(guess(), '198.51.100.1')).toBe('invalid_credentials');
    await using sql = new SQL(url, { max: 1 });
    await poll('the batch', async () => (await sql`SELECT 1 FROM obverse.rate_batches`).length > 0);
    await within2s('the failures', () => second.outcome(guess(), '198.51.100.1') === 'rate_limited');
    expect(second.outcome(guess(), '198.51.100.2')).toBe('invalid_credentials');
  });
});

describe('without the database', () => {
  /** Expects that a known key is accepted all the time, at once, and that no other is. */
  async function expectKnownKeys(server: TestServer, key: string, seconds: number): Promise<void> {
    const endsAt = performance.now() + seconds * 1000;
    for (let i = 0; performance.now() < endsAt; i++) {
      expect(server.outcome(key)).toBe('ok');
      expect(server.outcome(makeKey().text, `10.0.0.${i}`)).toBe('invalid_credentials');
      await Bun.sleep(100);
    }
  }

  test('known keys are accepted during an outage of ten seconds, and revocations are seen after it', async () => {
    const url = await database('outage');
    await using server = await startServer(url);
    const kept = await createKey(url, '--rate', '1000/s,1000');
    const revoked = await createKey(url);
    await within2s('the keys', () => server.outcome(kept.key) === 'ok' && server.outcome(revoked.key) === 'ok');
    await postgres.kill();
    try {
      await expectKnownKeys(server, kept.key, 10);
      expect(server.status.keys).toMatchObject({ state: 'stale', problem: expect.any(String) });
      expect(server.status.keys.ageSeconds).toBeGreaterThanOrEqual(9);
      expect(server.status.rates.problem).toBeString();
    } finally {
      await postgres.run();
    }
    await poll('the database', server.isKeyState('current'));
    await poll('the exchange', () => server.status.rates.problem === null);
    await changed(url, 'revoke', revoked.id);
    await within2s('the revocation', () => server.outcome(revoked.key, '192.0.2.2') === 'invalid_credentials');
    expect(server.outcome(kept.key)).toBe('ok');
    expect(server.lines.join('')).toContain('revocations are not seen');
    expect(server.lines.join('')).toContain('the keys are read from the database again');
  });

  test('a database that accepts connections and does not answer holds nothing up', async () => {
    const url = await database('stalled');
    const { key } = await createKey(url);
    await using proxy = new StallingProxy(postgres.port);
    const port = await proxy.listen();
    await using server = await startServer(url.replace(`:${postgres.port}/`, `:${port}/`));
    expect(server.outcome(key)).toBe('ok');
    proxy.isStalled = true;
    await expectKnownKeys(server, key, 8);
    expect(server.status.keys).toMatchObject({
      state: 'stale',
      problem: 'the database has not answered within 3 seconds',
    });
    proxy.isStalled = false;
    await poll('the database', server.isKeyState('current'));
    const other = await createKey(url);
    await within2s('another key', () => server.outcome(other.key) === 'ok');
  });

  test('a server stops within the time limit of one statement', async () => {
    const url = await database('stopping');
    const { key } = await createKey(url);
    await using proxy = new StallingProxy(postgres.port);
    const port = await proxy.listen();
    const server = await startServer(url.replace(`:${postgres.port}/`, `:${port}/`));
    // Its time of last use waits to be written.
    expect(server.outcome(key)).toBe('ok');
    proxy.isStalled = true;
    await poll('the outage', server.isKeyState('stale'));
    const startedAt = performance.now();
    await server[Symbol.asyncDispose]();
    expect(performance.now() - startedAt).toBeLessThan(4500);
  });

  test('known keys end after five minutes, with an error that asks to come again', async () => {
    const url = await database('expired');
    const { key } = await createKey(url);
    const clock = new ManualClock(Date.now());
    await using proxy = new StallingProxy(postgres.port);
    const port = await proxy.listen();
    await using server = await startServer(url.replace(`:${postgres.port}/`, `:${port}/`), clock);
    expect(server.outcome(key)).toBe('ok');
    proxy.isStalled = true;
    await poll('the outage', server.isKeyState('stale'));
    clock.advance(299_000);
    // Each attempt opens a connection, of the keys and of the rates.
    const before = proxy.connections;
    await poll('further attempts', () => proxy.connections >= before + 6);
    expect(server.outcome(key)).toBe('ok');
    clock.advance(2000);
    await poll('the end of the keys', server.isKeyState('expired'));
    expect(server.outcome(key)).toBe('warming_up');
    proxy.isStalled = false;
    await poll('the database', server.isKeyState('current'));
    expect(server.outcome(key)).toBe('ok');
  });

  test('a server that starts without its database accepts keys as soon as it can read them', async () => {
    const url = await database('later');
    const { key } = await createKey(url);
    await postgres.kill();
    await using server = new TestServer(url);
    try {
      await poll('the failure', () => server.status.keys.problem !== null);
      expect([server.status.keys.state, server.outcome(key)]).toEqual(['loading', 'warming_up']);
    } finally {
      await postgres.run();
    }
    await poll('the keys', () => server.outcome(key) === 'ok');
  });
});

describe('secrets', () => {
  test('the password of the database is in no output, and is refused as an argument', async () => {
    const password = 'correct-horse-battery-staple';
    const url = (await database('secrets')).replace('obverse@', `stranger:${password}@`);
    const made = await keyCommand(url, 'create');
    expect(made.status).toBe(1);
    expect(made.stderr).toContain('role "stranger" does not exist');
    const given = await runProgram(['key', 'list', '--database', '--serve.from', url]);
    expect(given.status).toBe(2);
    expect(given.stderr).toContain('--serve.from has a password, which other users of this host can read');
    const none = await runProgram(['key', 'list', '--database']);
    expect([none.status, none.stderr.split('\n')[0]]).toEqual([
      2,
      'obverse: --database needs the URL of the database: set OBVERSE_SERVE_FROM, or serve.from in the settings file',
    ]);
    await using server = new TestServer(url);
    await poll('the failure', () => server.status.keys.problem !== null && server.status.rates.problem !== null);
    const all = [made, given].flatMap(({ stdout, stderr }) => [stdout, stderr]);
    expect(all.join('') + server.lines.join('') + JSON.stringify(server.status)).not.toContain(password);
  });

  test('the database has hashes of secrets alone', async () => {
    const url = await database('hashes');
    const { id, key } = await createKey(url);
    await using server = await startServer(url);
    expect(server.outcome(key)).toBe('ok');
    server.outcome(makeKey(id).text);
    await using sql = new SQL(url, { max: 1 });
    await poll('the failure', async () => (await sql`SELECT 1 FROM obverse.rate_batches`).length > 0);
    const tables = await sql`SELECT table_name FROM information_schema.tables WHERE table_schema = 'obverse'`;
    const contents = await Promise.all(
      tables.map(({ table_name }: { table_name: string }) =>
        sql.unsafe(`SELECT CAST(t.* AS TEXT) AS row FROM obverse.${table_name} AS t`),
      ),
    );
    const text = JSON.stringify(contents);
    expect(text).toContain(id);
    expect(text).not.toContain(key.slice(-58, -6));
    expect(server.lines.join('')).not.toContain(key.slice(-58, -6));
  });
});
