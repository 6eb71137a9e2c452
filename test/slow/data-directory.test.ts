import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RegtestChain } from '../lib/chain-builder.ts';
import type { Info } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  copyDatadir,
  freePort,
  importFiles,
  runProgram,
  startNode,
  tempDir,
} from '../lib/node-process.ts';
import { requireProgram } from '../lib/programs.ts';
import { tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const chain = new RegtestChain();
chain.mine(30);
const file = join(tempDir(), 'blocks.dat');
chain.writeBootstrap(file);
const done = `tip at height 30, ${tipHash(chain)}\n`;

const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

const importArgs = (datadir: string, network = 'regtest', files = [file]) => [
  ...['import', '--network', network, '--datadir', datadir],
  ...files,
];
const startArgs = (datadir: string, network = 'regtest') => [
  ...['start', '--network', network, '--datadir', datadir],
  ...['--http.listen', '127.0.0.1:0', '--p2p.enabled=false'],
];

/** Exactly one line for the operator, and no trace of a stack. */
function onlyComplaint(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.startsWith('obverse:'));
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(lines).toHaveLength(1);
  return lines[0]!;
}

/** Checks that both commands refuse the directory with the same message, and returns that. */
async function refused(datadir: string, network: string, prefix: readonly string[] = []): Promise<string> {
  const imported = await runProgram(importArgs(datadir, network), { prefix, timeoutMs: 30_000 });
  const started = await runProgram(startArgs(datadir, network), { prefix, timeoutMs: 30_000 });
  expect([imported.status, started.status]).toEqual([1, 1]);
  const line = onlyComplaint(imported.stderr);
  expect(onlyComplaint(started.stderr)).toBe(line);
  return line;
}

/** The directory is as good as before. */
async function stillServes(datadir: string) {
  const node = await startNode({ datadir });
  expect(await node.api.json<Info>('/api/info')).toMatchObject({ height: 30, bestBlockHash: tipHash(chain) });
  await node.stop();
}

const original = tempDir();
beforeAll(() => importFiles('regtest', original, [file]));
const filled = () => copyDatadir(original);

describe('a data directory', () => {
  test('of another network is refused', async () => {
    const datadir = filled();
    const other = tempDir();
    // Networks have folders of their own, but an operator may rename one.
    mkdirSync(join(other, 'signet'));
    for (const name of readdirSync(join(datadir, 'regtest')))
      await Bun.$`cp -r ${join(datadir, 'regtest', name)} ${join(other, 'signet')}`.quiet();
    const line = await refused(other, 'signet');
    expect(line).toContain('belongs to network regtest');
    expect(line).toContain('not to signet');
    await stillServes(datadir);
  });

  test('of a newer version is refused', async () => {
    const datadir = filled();
    const change = (by: number) => {
      const db = new Database(join(datadir, 'regtest/chain/chain.db'));
      db.run("UPDATE meta SET value = value + ? WHERE key = 'schema'", [by]);
      db.close();
    };
    change(1);
    expect(await refused(datadir, 'regtest')).toContain('made by a newer version');
    change(-1);
    await stillServes(datadir);
  });

  test('that holds no valid database is refused', async () => {
    const datadir = filled();
    rmSync(join(datadir, 'regtest/chain/chain.db'));
    writeFileSync(join(datadir, 'regtest/chain/chain.db'), 'x'.repeat(20_000));
    const folder = join(datadir, 'regtest/chain');
    expect(await refused(datadir, 'regtest')).toBe(
      `obverse: ${folder}/chain.db is damaged: run obverse reindex, or remove ${folder} and sync again; wallets and keys are stored elsewhere and are kept`,
    );
  });

  test('that is a file is refused', async () => {
    const datadir = join(tempDir(), 'file');
    writeFileSync(datadir, '');
    expect(await refused(datadir, 'regtest')).toContain(datadir);
  });

  test('in use by a running node is refused, and the node is not disturbed', async () => {
    const datadir = filled();
    const node = await startNode({ datadir });
    const line = await refused(datadir, 'regtest');
    expect(line).toBe(
      `obverse: ${join(datadir, 'regtest')} is in use by another process (pid ${node.pid}): stop it first, or choose another datadir`,
    );
    expect(await node.api.json<Info>('/api/info')).toMatchObject({ height: 30 });
    expect((await node.api.request('/healthz')).status).toBe(200);
    // However the process ends, the lock goes with it.
    await node.stop('SIGKILL');
    await stillServes(datadir);
  });

  test.skipIf(!isRoot)('that this user may not write to is refused', async () => {
    const datadir = filled();
    const asNobody = [requireProgram('setpriv'), `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
    const probe = Bun.spawnSync([...asNobody, process.execPath, '--version'], { stderr: 'ignore' });
    // The runtime itself may lie where only root can read.
    if (!probe.success) return console.warn('skipped: user nobody cannot run the runtime');
    // Only the data directory is closed, not the file to import.
    chmodSync(join(file, '..'), 0o755);
    // Another test of this process may have set the umask before the file was made.
    chmodSync(file, 0o644);
    const closed = await refused(datadir, 'regtest', asNobody);
    expect(closed).toContain('permission denied');
    // Readable, and still not writable.
    chmodSync(datadir, 0o755);
    await Bun.$`chmod -R a+rX ${datadir}`.quiet();
    expect(await refused(datadir, 'regtest', asNobody)).toContain('permission denied');
    const own = tempDir();
    chownSync(own, NOBODY, NOBODY);
    // A TMPDIR that only root may enter would refuse the import as well, for another reason.
    const reached = Bun.spawnSync([...asNobody, requireProgram('test'), '-w', own]);
    expect([own, reached.exitCode]).toEqual([own, 0]);
    chmodSync(file, 0o600);
    const unreadable = await runProgram(importArgs(own), { prefix: asNobody });
    expect(unreadable).toMatchObject({ status: 1, stderr: `obverse: cannot read ${file}: permission denied\n` });
    chmodSync(file, 0o644);
    expect(await runProgram(importArgs(own), { prefix: asNobody })).toMatchObject({ status: 0 });
    await stillServes(datadir);
  });

  test('that does not exist is created for its owner alone', async () => {
    const datadir = join(tempDir(), 'a/b/c');
    expect(await runProgram(importArgs(datadir))).toMatchObject({
      status: 0,
      stdout: `30 blocks connected, 1 known before; ${done}`,
    });
    const modes = await Bun.$`stat -c %a ${join(datadir, 'regtest')} ${join(datadir, 'regtest/chain/chain.db')}`.text();
    expect(modes).toBe('700\n600\n');
  });
});

describe('the listener', () => {
  test('on a port that is in use ends the start', async () => {
    const datadir = filled();
    const port = await freePort();
    const holder = Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } });
    try {
      const args = ['start', '--network', 'regtest', '--datadir', datadir, '--http.listen', `127.0.0.1:${port}`];
      const { status, stderr } = await runProgram(args, { timeoutMs: 30_000 });
      expect(status).toBe(1);
      expect(onlyComplaint(stderr)).toStartWith(`obverse: http.listen: 127.0.0.1:${port} is in use`);
    } finally {
      holder.stop(true);
    }
    await stillServes(datadir);
  });

  test.each([
    'nonsense',
    '127.0.0.1:99999',
    '127.0.0.1',
    ':8332:',
    '[::1',
    '256.0.0.1:18443',
    'no-such-host.invalid:18443',
  ])('at %p', async (address) => {
    const datadir = tempDir();
    const args = ['start', '--network', 'regtest', '--datadir', datadir, '--http.listen', address];
    const { status, stderr } = await runProgram(args, { timeoutMs: 30_000 });
    expect([1, 2]).toContain(status!);
    expect(onlyComplaint(stderr)).toContain('http.listen');
    expect(readdirSync(datadir)).toEqual([]);
  });

  test('at an address that is not of this machine ends the start', async () => {
    const args = ['start', '--network', 'regtest', '--datadir', tempDir(), '--http.listen', '203.0.113.1:18443'];
    const { status, stderr } = await runProgram(args, { timeoutMs: 30_000 });
    expect([1, 2]).toContain(status!);
    expect(onlyComplaint(stderr)).toContain('http.listen');
  });
});
