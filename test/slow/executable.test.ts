import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { signatureLibrary } from '../../src/crypto/secp256k1.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { HEADER_SIZE, headerFromBytes, headerHash } from '../../src/primitives/header.ts';
import { mixedBlocks } from '../lib/chain-fixture.ts';
import type { Info, Readiness } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  MAINNET_FILE,
  MIXED_FILE,
  type NodeProcess,
  Program,
  runProgram,
  startNode,
  tempDir,
} from '../lib/node-process.ts';
import { generate } from '../lib/peer-node.ts';
import { requireProgram } from '../lib/programs.ts';
import { hasVectors } from '../lib/vectors.ts';

cleanUpAfterTests();

const root = join(import.meta.dir, '../..');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
/** `npm test` has built it; a run of this file alone builds one. */
const built = process.env.TEST_EXECUTABLE ?? join(tempDir('build'), 'obverse');
/** The executable is alone in its folder, with an empty home and an empty folder for temporary files. */
const folder = tempDir('alone');
const executable = join(folder, 'obverse');
const home = join(folder, 'home');
const surroundings = {
  executable,
  cwd: folder,
  env: {
    HOME: home,
    XDG_DATA_HOME: undefined,
    TMPDIR: join(folder, 'tmp'),
    PATH: '/usr/bin:/bin',
    OBVERSE_API_KEY: undefined,
  },
} as const;
const run = (...args: string[]) => runProgram(args, surroundings);

/** Without the sources in sight, where such a thing can be had: an empty file system lies over them. */
function withoutSources(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  const prefix = [requireProgram('unshare'), '--mount', 'sh', '-c', `mount -t tmpfs tmpfs '${root}' && exec "$0" "$@"`];
  return Bun.spawnSync([...prefix, 'true'], { stderr: 'ignore' }).success ? prefix : [];
}

describe('the executable', () => {
  let prefix: readonly string[] = [];

  beforeAll(async () => {
    if (!process.env.TEST_EXECUTABLE) {
      const build = Bun.spawnSync([process.execPath, join(root, 'build.ts'), '--outfile', built]);
      if (!build.success) throw new Error(build.stderr.toString());
    }
    copyFileSync(built, executable);
    chmodSync(executable, 0o755);
    mkdirSync(home);
    mkdirSync(join(folder, 'tmp'));
    // The executable ignores the files of the working directory.
    await Bun.write(join(folder, '.env'), 'OBVERSE_NONSENSE=1\n');
    await Bun.write(join(folder, 'bunfig.toml'), 'preload = ["./nothing.ts"]\n');
    prefix = withoutSources();
    if (prefix.length === 0) console.warn('the sources cannot be hidden here: the executable runs with them in reach');
  });

  test('prints its version', async () => {
    const { status, stdout, stderr } = await run('--version');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toStartWith(`obverse ${version} (`);
    // The executable uses the same library as the sources.
    const { source, engine } = signatureLibrary();
    expect(stdout).toEndWith(`\nsignature library: ${source} (${engine.name})\n`);
  });

  test('prints help, with modules that are loaded when needed', async () => {
    expect(await run('help')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringContaining('import') });
    expect(await run('help', 'config')).toMatchObject({
      status: 0,
      stderr: '',
      stdout: expect.stringContaining('http.listen'),
    });
  });

  test('reads its own configuration, and no .env', async () => {
    expect(await run('start', '--log.level=loud')).toMatchObject({
      status: 2,
      stdout: '',
      stderr: 'obverse: log.level: "loud" from flag --log.level is not allowed: must be error, warn, info or debug\n',
    });
    expect(readdirSync(home)).toEqual([]);
  });

  test('does not start with variables that load other code into it', async () => {
    const preload = join(tempDir(), 'preload.ts');
    await Bun.write(preload, '');
    for (const [name, value] of [
      ['BUN_OPTIONS', `--preload ${preload}`],
      ['BUN_INSPECT', 'ws://127.0.0.1:0/x'],
    ] as const) {
      const env = { ...surroundings.env, [name]: value };
      const { status, stderr, stdout } = await runProgram(['help'], { ...surroundings, env });
      expect([status, stdout]).toEqual([2, '']);
      expect(stderr).toContain(
        `obverse: ${name} would make this executable run other code; remove it from the environment\n`,
      );
    }
  });

  // The addon is loaded from memory, so that the directory for temporary files does not matter.
  test('loads its addon for signatures wherever TMPDIR points, and leaves no file', async () => {
    const shut = join(folder, 'shut');
    mkdirSync(shut, { mode: 0o500 });
    for (const TMPDIR of [surroundings.env.TMPDIR, shut, join(folder, 'missing')]) {
      const env = { ...surroundings.env, TMPDIR, OBVERSE_SIGNATURE_LIBRARY: 'addon' };
      const node = await startNode({ ...surroundings, env, testKey: false });
      await generate(node, 1);
      expect(node.stderr).toContain('"msg":"signature library","kind":"addon"');
      await node.stop('SIGKILL');
    }
    expect(readdirSync(surroundings.env.TMPDIR)).toEqual([]);
    expect(readdirSync(shut)).toEqual([]);
  });

  test.skipIf(signatureLibrary().engine.name !== 'system')('uses the signature library of the system', async () => {
    const node = await startNode({ ...surroundings, testKey: false });
    await generate(node, 1);
    expect(node.stderr).toContain(`"kind":"system","library":"${signatureLibrary().source}"`);
    await node.stop();
  });

  test('does not start when one byte of its signature library is another', async () => {
    const changed = join(tempDir(), 'obverse');
    const bytes = readFileSync(executable);
    const library = readFileSync(join(root, 'node_modules/secp256k1/prebuilds/linux-x64/secp256k1.glibc.node'));
    const at = bytes.indexOf(library);
    expect(at).toBeGreaterThan(0);
    bytes[at + library.length - 1]! ^= 1;
    writeFileSync(changed, bytes, { mode: 0o755 });
    const args = ['start', '--network', 'regtest', '--datadir', tempDir(), '--http.listen', '127.0.0.1:0'];
    const { status, stderr } = await runProgram(args, { ...surroundings, executable: changed });
    expect([status, stderr]).toEqual([
      1,
      expect.stringMatching(
        /^obverse: the signature library \S+ was changed: its SHA-256 is [0-9a-f]{64} instead of d93a107b/,
      ),
    ]);
  });

  test.skipIf(!hasVectors)('imports blocks, with its verify workers inside', async () => {
    const datadir = tempDir();
    const main = await runProgram(['import', '--network', 'main', '--datadir', datadir, MAINNET_FILE], {
      ...surroundings,
      prefix,
    });
    expect(main.stderr).not.toMatch(/^obverse:/m);
    expect(main).toMatchObject({ status: 0 });
    expect(main.stdout).toContain(
      'tip at height 438, 0000000025c6b644f8add734be7e666fa4afa43ca0204d623a0c0b1fd2104c7a',
    );

    // Some blocks with every kind of input; the slow tests import all of them.
    const blocks = mixedBlocks().slice(0, 112);
    const size = blocks.reduce((sum, raw) => sum + 8 + raw.length, 0);
    const file = join(tempDir(), 'mixed.dat');
    writeFileSync(file, readFileSync(MIXED_FILE).subarray(0, size));
    const mixed = await runProgram(['import', '--network', 'regtest', '--datadir', datadir, file], {
      ...surroundings,
      prefix,
    });
    expect(mixed).toMatchObject({ status: 0 });
    const tip = hashToHex(headerHash(headerFromBytes(blocks.at(-1)!.subarray(0, HEADER_SIZE))));
    expect(mixed.stdout).toContain(`tip at height 112, ${tip}`);
  });

  test.skipIf(process.platform !== 'linux')('reads nothing of the source tree', async () => {
    const trace = join(tempDir(), 'trace');
    const program = new Program(
      ['start', '--dev', '--network', 'regtest', '--datadir', tempDir(), '--http.listen', '127.0.0.1:0'],
      {
        ...surroundings,
        prefix: [requireProgram('strace'), '-D', '-f', '-qq', '-e', 'trace=open,openat', '-o', trace],
      },
    );
    // Some places do not allow tracing; then there is nothing to see.
    const started = await program.output('stdout', /Documentation: .*\n/, 30_000).catch(() => null);
    await program.stop('SIGINT');
    if (!started || !existsSync(trace)) return console.warn('strace does not work here: file access was not checked');
    const opened = readFileSync(trace, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"') && !line.includes('ENOENT'));
    expect(opened.length).toBeGreaterThan(3);
    // The current directory of this process is no part of it.
    expect(opened.filter((line) => line.includes(`"${root}/`))).toEqual([]);
  });

  describe('runs the sandbox', () => {
    let node: NodeProcess;
    const datadir = tempDir();

    beforeAll(async () => {
      node = await startNode({ ...surroundings, prefix, datadir, testKey: false, args: ['--dev', '--dev.interval=1'] });
    });
    afterAll(async () => {
      await node?.stop();
    });

    test('which mines and becomes ready', async () => {
      await node.height(110);
      await node.until('readiness', async () => (await node.api.request<Readiness>('/readyz')).body.status === 'ok');
    });

    test('which serves REST, JSON-RPC and operations', async () => {
      const { api } = node;
      expect((await api.request('/healthz')).text).toBe('{"status":"ok","service":"obverse"}');
      expect(await api.json<object>('/api/health')).toMatchObject({ status: 'ok', version, network: 'regtest' });
      expect(await api.json<object>('/api/block-by-height/110')).toMatchObject({ height: 110 });
      // Big answers are made on reader threads, which must be inside as well.
      const { items } = await api.json<{ items: object[] }>('/api/blocks?limit=100');
      expect(items).toHaveLength(100);
      const { txouts } = await api.rpc<{ txouts: number }>('gettxoutsetinfo');
      expect(txouts).toBeGreaterThan(100);
      expect(await api.rpc<object>('getblockchaininfo')).toMatchObject({ chain: 'regtest' });
      const metrics = (await api.request<string>('/metrics')).text;
      for (const name of [
        'http_requests_total',
        'http_request_duration_seconds_bucket',
        'process_apcu_available',
        'process_start_seconds',
      ])
        expect(metrics).toMatch(new RegExp(`^${name}\\{.*service="obverse"`, 'm'));
      expect(metrics).toMatch(/^obverse_chain_height(\{[^}]*\})? 1[1-9]\d$/m);
    });

    test('which serves its documents and pages', async () => {
      const { openapi, paths } = await node.api.json<{ openapi: string; paths: object }>('/docs/json');
      expect(openapi).toStartWith('3.');
      expect(Object.keys(paths).length).toBeGreaterThan(15);
      const page = await node.api.request<string>('/docs');
      expect(page.status).toBe(200);
      // Nothing of it comes from elsewhere.
      expect(page.text).not.toMatch(/(?:src|href)="https?:/);
    });

    test('which delivers events of blocks', async () => {
      const socket = await node.api.socket();
      const { data } = await socket.until('a block', ({ type }) => type === 'newBlock');
      expect((await node.api.json<Info>('/api/info')).height).toBeGreaterThanOrEqual(data.height as number);
      socket.close();
    });

    test('which the probe command reaches', async () => {
      const listen = `--http.listen=${new URL(node.api.url).host}`;
      expect(await run('probe', 'live', listen)).toMatchObject({ status: 0, stdout: 'live\n' });
      expect(await run('probe', 'ready', listen)).toMatchObject({ status: 0, stdout: 'ready\n' });
    });

    test('which stops', async () => {
      const { status, ms } = await node.stop('SIGINT');
      expect(status).toBe(0);
      expect(ms).toBeLessThan(3000);
      expect(readdirSync(home)).toEqual([]);
    });
  });
});
