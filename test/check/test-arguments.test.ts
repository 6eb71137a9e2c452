import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { testArguments } from '../lib/test-arguments.ts';

const root = resolve(import.meta.dir, '../..');
const SLOW = ['--path-ignore-patterns', 'test/slow/**'];
const of = (...args: string[]) => testArguments(args, root, root);

test('without a path all tests are run but the slow ones', () => {
  expect(of()).toEqual({ paths: ['./test/'], options: SLOW });
  expect(of('--all')).toEqual({ paths: ['./test/'], options: [] });
  expect(of('--all', '--path-ignore-patterns', 'test/slow/a.test.ts')).toEqual({
    paths: ['./test/'],
    options: ['--path-ignore-patterns', 'test/slow/a.test.ts'],
  });
});

test('only the given paths are run, and the value of an option is no path', () => {
  expect(of('test/util')).toEqual({ paths: ['./test/util'], options: SLOW });
  expect(of('./test/util/', 'test/check/names.test.ts', '-t', 'test/util')).toEqual({
    paths: ['./test/util', './test/check/names.test.ts'],
    options: [...SLOW, '-t', 'test/util'],
  });
  expect(of('--bail=1', 'wallet')).toEqual({ paths: ['wallet'], options: [...SLOW, '--bail=1'] });
  expect(testArguments(['names.test.ts'], root, join(root, 'test/check'))).toEqual({
    paths: ['./test/check/names.test.ts'],
    options: SLOW,
  });
});

test('a path among the slow tests includes them', () => {
  expect(of('test/slow')).toEqual({ paths: ['./test/slow'], options: [] });
  expect(of('test/slow/event-fanout.test.ts')).toEqual({ paths: ['./test/slow/event-fanout.test.ts'], options: [] });
});

test('npm test runs the tests of a path and no others', async () => {
  const folder = mkdtempSync(join(root, 'test/check/only-'));
  try {
    writeFileSync(join(folder, 'one.test.ts'), "import { test } from 'bun:test';\ntest('runs', () => {});\n");
    writeFileSync(join(folder, 'two.test.ts'), "import { test } from 'bun:test';\ntest('does not run', () => {});\n");
    const child = Bun.spawn([process.execPath, 'test/run.ts', join(folder, 'one.test.ts')], {
      cwd: root,
      // No executable is built for a test that starts no node.
      env: { ...process.env, TEST_EXECUTABLE: process.execPath },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [status, output] = await Promise.all([child.exited, new Response(child.stderr).text()]);
    const text = Bun.stripANSI(output);
    expect([status, text]).toEqual([0, expect.stringContaining('(pass) runs')]);
    expect(text).toMatch(/\n 1 pass\n 0 fail\n/);
    expect(text).not.toContain('does not run');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, 120_000);
