import { afterEach, describe, expect, test } from 'bun:test';
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Info } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  freePort,
  Program,
  runProgram,
  startNode,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';

cleanUpAfterTests();

const KEY = 'a-key-of-the-operator-that-is-long-enough';
const startArgs = (...args: string[]) => [
  ...['start', '--network', 'regtest', '--datadir', tempDir()],
  ...['--http.listen', '127.0.0.1:0', '--p2p.enabled=false', ...args],
];

/** Returns the status of a refused start and the one line with the reason. */
async function refusal(args: readonly string[], env: Record<string, string | undefined> = {}) {
  const { status, stderr } = await runProgram(args, { env, timeoutMs: 30_000 });
  expect(stderr).not.toMatch(/^\s+at /m);
  const lines = stderr.split('\n').filter((line) => line.startsWith('obverse:'));
  expect(lines).toHaveLength(1);
  return [status, lines[0]!.slice('obverse: '.length)];
}

test('SIGHUP does not end the node, neither while it starts nor later', async () => {
  const node = await startNode();
  for (let sent = 1; sent <= 3; sent++) {
    node.kill('SIGHUP');
    await node.until('the line', () => node.stderr.split('settings were read again').length === sent + 1);
  }
  expect((await node.api.request('/healthz')).status).toBe(200);
  expect(await node.stop()).toMatchObject({ status: 0, signal: null });

  const args = startArgs();
  const lock = join(args[4]!, 'regtest/lock');
  const starting = new Program(args);
  await starting.until('the lock', () => existsSync(lock), 30_000, 1);
  starting.kill('SIGHUP');
  await starting.output('stderr', /"msg":"ready"/, 30_000);
  expect(await starting.stop()).toMatchObject({ status: 0, signal: null });
});

test('a node whose log is not read continues', async () => {
  const port = await freePort();
  // The reader of the pipe ends with the first line.
  const prefix = ['sh', '-c', '"$0" "$@" 2>&1 >/dev/null | head -n 1 >/dev/null'];
  const program = new Program(
    [
      ...['start', '--network', 'regtest', '--datadir', tempDir(), '--log.level=debug'],
      ...['--http.listen', `127.0.0.1:${port}`, '--p2p.enabled=false'],
    ],
    { prefix, env: { OBVERSE_API_KEY: KEY } },
  );
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${KEY}` } });
  await program.until('the node', async () => (await ask('/api/mempool').catch(() => null))?.status === 200);
  const stop = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'stop' });
  const reply = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    body: stop,
    headers: { authorization: `Bearer ${KEY}` },
  });
  expect(reply.status).toBe(200);
  await program.end(30_000);
});

test('dev.interval=0 mines nothing', async () => {
  const node = await startNode({ args: ['--dev', '--dev.interval=0', WITH_WALLET] });
  await node.until('the line', () => node.stderr.includes('sandbox: mining is disabled'));
  // Nothing else waits for blocks that do not come.
  expect((await node.api.request('/readyz')).status).not.toBe(500);
  expect(await node.api.json<Info>('/api/info')).toMatchObject({ height: 0 });
  expect(JSON.stringify((await node.api.request('/readyz')).body)).not.toContain('first blocks');
  await node.api.rpc('generatetoaddress', [2, await node.api.rpc<string>('getnewaddress')]);
  expect(await node.api.json<Info>('/api/info')).toMatchObject({ height: 2 });
  await node.stop();
});

describe('the cookie file', () => {
  const umask = process.umask();
  afterEach(() => void process.umask(umask));

  test('is always a new one, whatever file lies in its place', async () => {
    const datadir = tempDir();
    const networkDir = join(datadir, 'regtest');
    mkdirSync(networkDir);
    const victim = join(datadir, 'victim');
    writeFileSync(victim, 'untouched');
    symlinkSync(victim, join(networkDir, '.cookie.tmp'));
    let node = await startNode({ datadir });
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
    expect(statSync(join(networkDir, '.cookie')).mode & 0o777).toBe(0o600);
    await node.stop();

    process.umask(0);
    writeFileSync(join(networkDir, '.cookie.tmp'), 'kept open by another user', { mode: 0o666 });
    node = await startNode({ datadir });
    expect(statSync(join(networkDir, '.cookie')).mode & 0o777).toBe(0o600);
    await node.stop();
  });
});

test('a data directory that others can write to causes a warning', async () => {
  const datadir = tempDir();
  let node = await startNode({ datadir });
  expect(node.stderr).not.toContain('other users can write');
  await node.stop();
  chmodSync(datadir, 0o777);
  node = await startNode({ datadir });
  expect(node.stderr).toContain('the data directory is writable for other users');
  await node.stop();
});

describe('the API key of the operator', () => {
  const file = (text: string, mode = 0o600) => {
    const path = join(tempDir(), 'api-key');
    writeFileSync(path, text, { mode });
    chmodSync(path, mode);
    return path;
  };
  const accepted = async (env: Record<string, string>) => {
    const node = new Program(startArgs(), { env: { OBVERSE_API_KEY: undefined, ...env } });
    const [, url] = await node.output('stderr', /"msg":"ready".*"url":"([^"]+)"/, 30_000);
    const reply = await fetch(`${url}/api/mempool`, { headers: { authorization: `Bearer ${KEY}` } });
    await node.stop();
    return { status: reply.status, stderr: node.stderr };
  };

  test.each([
    ['in a file', () => ({ OBVERSE_API_KEY_FILE: file(`${KEY}\n`) })],
    ['as a credential of systemd', () => ({ CREDENTIALS_DIRECTORY: join(file(KEY, 0o400), '..') })],
  ])('is accepted %s', async (_, env) => {
    const { status, stderr } = await accepted(env());
    expect(status).toBe(200);
    expect(stderr).not.toContain('other users can read');
    expect(stderr).not.toContain(KEY);
  });

  test('in a file that others can read causes a warning', async () => {
    expect((await accepted({ OBVERSE_API_KEY_FILE: file(KEY, 0o644) })).stderr).toContain(
      'the API key file is readable for other users',
    );
  });

  test('that cannot be used is refused with status 2', async () => {
    const refused = (env: Record<string, string>) => refusal(startArgs(), { OBVERSE_API_KEY: undefined, ...env });
    expect(await refused({ OBVERSE_API_KEY: 'short' })).toEqual([
      2,
      'OBVERSE_API_KEY: the key is shorter than 16 characters',
    ]);
    expect(await refused({ OBVERSE_API_KEY_FILE: '/nowhere/key' })).toEqual([
      2,
      'OBVERSE_API_KEY_FILE: /nowhere/key cannot be read: ENOENT',
    ]);
    expect(await refused({ OBVERSE_API_KEY_FILE: '/dev/zero' })).toEqual([
      2,
      'OBVERSE_API_KEY_FILE: /dev/zero is not a file of at most 4096 bytes',
    ]);
    expect(await refused({ OBVERSE_API_KEY: KEY, OBVERSE_API_KEY_FILE: file(KEY) })).toEqual([
      2,
      'OBVERSE_API_KEY and OBVERSE_API_KEY_FILE are both set: set one of them',
    ]);
  });
});

describe('an impossible start', () => {
  test('names the file of a certificate', async () => {
    const text = join(tempDir(), 'text');
    writeFileSync(text, 'not PEM');
    expect(await refusal(startArgs('--http.tls.cert=/nope.crt', `--http.tls.key=${text}`))).toEqual([
      2,
      'http.tls.cert: /nope.crt cannot be read: ENOENT',
    ]);
    expect(await refusal(startArgs(`--http.tls.cert=${text}`, `--http.tls.key=${text}`))).toEqual([
      2,
      `http.tls.cert: ${text} does not hold a certificate in PEM form`,
    ]);
  });

  // systemd starts a node again after status 1, and not after 2.
  test.each([
    ['p2p.externalAddress: nowhere is not', '--p2p.externalAddress=nowhere'],
    ['wallet.passphraseFile: /nope cannot be read: ENOENT', '--wallet.passphraseFile=/nope'],
  ])('has status 2 for a wrong setting: %s', async (line, flag) => {
    const args = [
      'start',
      '--network',
      'regtest',
      '--datadir',
      tempDir(),
      '--http.listen=127.0.0.1:0',
      '--p2p.listen=',
    ];
    const [status, reason] = await refusal([...args, flag]);
    expect([status, reason]).toEqual([2, expect.stringContaining(line)]);
  });

  test('is ready only when it listens for peers', async () => {
    const taken = Bun.listen({ hostname: '127.0.0.1', port: 0, exclusive: true, socket: { data() {} } });
    try {
      const args = ['--http.listen=127.0.0.1:0', '--wallet.enabled=false', `--p2p.listen=127.0.0.1:${taken.port}`];
      const { status, stderr } = await runProgram(['start', '--network', 'regtest', '--datadir', tempDir(), ...args]);
      expect(status).toBe(1);
      expect(stderr).toContain(`cannot listen for peers on 127.0.0.1 port ${taken.port}: EADDRINUSE`);
      expect(stderr).not.toContain('"msg":"ready"');
    } finally {
      taken.stop(true);
    }
  });

  test('names the listener whose port is in use', async () => {
    const port = await freePort();
    const holder = Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } });
    try {
      const [status, line] = await refusal(startArgs(`--ops.listen=127.0.0.1:${port}`));
      expect([status, line]).toEqual([1, expect.stringContaining(`ops.listen: 127.0.0.1:${port} is in use: `)]);
    } finally {
      holder.stop(true);
    }
  });

  test('names the file to import, and the directory that cannot be made', async () => {
    expect(await refusal(startArgs('--import', '/nope.dat'))).toEqual([2, 'cannot read /nope.dat: no such file']);
    const args = ['start', '--network', 'regtest', '--datadir', '/proc/nope', '--http.listen', '127.0.0.1:0'];
    expect(await refusal(args)).toEqual([1, 'cannot use /proc/nope/regtest: it does not exist and cannot be created']);
  });
});
