import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnv } from './run-cli.ts';

const root = join(import.meta.dir, '../..');
const folder = mkdtempSync(join(tmpdir(), 'executable-'));
const executable = join(folder, 'obverse');

beforeAll(() => {
  const build = Bun.spawnSync([process.execPath, join(root, 'build.ts'), '--outfile', executable]);
  if (!build.success) throw new Error(build.stderr.toString());
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true }));

/** From a folder without the sources, where a .env and a bunfig.toml lie that are none of its business. */
async function run(...args: string[]) {
  await Bun.write(join(folder, '.env'), 'OBVERSE_NONSENSE=1\n');
  await Bun.write(join(folder, 'bunfig.toml'), 'preload = ["./nothing.ts"]\n');
  const { exitCode, stdout, stderr } = Bun.spawnSync([executable, ...args], { cwd: folder, env: cleanEnv() });
  return { status: exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
}

test('shows its version', async () => {
  expect(await run('--version')).toMatchObject({ status: 0, stderr: '', stdout: expect.stringMatching(/^obverse \d/) });
});

test('shows help of a module that is loaded when needed', async () => {
  expect(await run('help', 'config')).toMatchObject({ status: 0, stderr: '' });
});

test('reads its configuration, and no .env', async () => {
  expect(await run('start', '--log.level=loud')).toEqual({
    status: 2,
    stdout: '',
    stderr: 'obverse: log.level: "loud" from flag --log.level is not allowed: must be error, warn, info or debug\n',
  });
});
