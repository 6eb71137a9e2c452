import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const CI = resolve(import.meta.dir, '../../.ci/run');

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-ci-'));
  mkdirSync(join(dir, '.ci'));
  cpSync(CI, join(dir, '.ci/run'));
  cpSync('/bin/true', join(dir, '.ci/install-programs'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** Shell scripts in the place of `npm`, by the arguments they are called with. */
type Steps = Readonly<Record<string, string>>;

const PASSING: Steps = {
  ci: 'echo installed',
  'run check': 'echo "ok     types"',
  'run test:all': 'echo " 10 pass"; echo " 0 fail"',
  'exec -- bun': 'echo " 20 pass"; echo " 0 fail"',
};

function start(changed: Steps = {}, more: Readonly<Record<string, string>> = {}) {
  const cases = Object.entries({ ...PASSING, ...changed }).map(([args, script]) => `"${args}"*) ${script} ;;`);
  writeFileSync(join(dir, 'npm'), `#!/usr/bin/env bash\ncase "$*" in\n${cases.join('\n')}\nesac\n`);
  chmodSync(join(dir, 'npm'), 0o755);
  const env = { ...process.env, PATH: `${dir}:${process.env.PATH}`, TMPDIR: dir, ...more };
  return Bun.spawn([join(dir, '.ci/run')], { env, stdout: 'pipe', stderr: 'pipe' });
}

async function outcome(changed: Steps = {}, more: Readonly<Record<string, string>> = {}) {
  const child = start(changed, more);
  const [stdout, status] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  return { stdout, last: stdout.trimEnd().split('\n').at(-1), status };
}

const isAlive = (pid: number) => {
  try {
    // A zombie, which its parent has not reaped yet, is not alive.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

/** Ends by itself when it should have been ended long ago. */
const LINGER = 'sleep 60 & echo $! >"$TMPDIR/left"';

async function gone(name = 'left'): Promise<boolean> {
  const pid = Number(readFileSync(join(dir, name), 'utf8'));
  for (let tries = 0; tries < 100 && isAlive(pid); tries++) await Bun.sleep(20);
  return !isAlive(pid);
}

describe.skipIf(!Bun.which('bash') || process.platform !== 'linux')('.ci/run', () => {
  test('prints the processor time of each step', async () => {
    const busy = 'for ((i = 0; i < 100000; i++)); do :; done; sleep 1; echo " 10 pass"';
    const { stdout } = await outcome({ 'run test:all': busy });
    const lines = stdout.matchAll(/^(\w+): took (\d+) s, and (\d+) s of processor time: (\d+) % of (\d+) cores$/gm);
    const steps = new Map(Array.from(lines, ([, name, ...figures]) => [name!, figures.map(Number)]));
    expect([...steps.keys()].sort()).toEqual(['all', 'alone', 'check', 'install', 'programs']);
    const [seconds, processor, share, cores] = steps.get('all')!;
    expect(seconds).toBeGreaterThanOrEqual(1);
    expect(processor).toBeLessThan(seconds! * cores! + 1);
    expect(share).toBeGreaterThan(0);
  });

  test('counts failed tests and runs the steps after them', async () => {
    const { last, status } = await outcome({ 'run test:all': 'echo " 8 pass"; echo " 2 fail"; exit 1' });
    expect([last, status]).toEqual(['28 passed, 2 failed', 1]);
  });

  test('runs the check beside the tests, and counts a check that fails after them', async () => {
    const finished = 'until grep -qx 0 "$TMPDIR"/tmp.*/all.status; do sleep 0.1; done 2>/dev/null';
    const { stdout, last, status } = await outcome({
      'run check': `touch "$TMPDIR/checking"; ${finished}; echo late; exit 1`,
      'run test:all': 'until [ -e "$TMPDIR/checking" ]; do sleep 0.1; done; echo " 10 pass"; echo " 0 fail"',
    });
    expect([last, status]).toEqual(['30 passed, 1 failed', 1]);
    expect(stdout).toContain('\ncheck: late\n');
  });

  test('ends where the installation fails', async () => {
    const { last, status } = await outcome({ ci: 'exit 1' });
    expect([last, status]).toEqual(['0 passed, 1 failed', 1]);
  });

  test.each([
    ['fail without output or are killed', 'exit 3', 'kill -9 $$'],
    ['do not report how many tests passed, or report that none did,', 'echo done', 'echo " 0 pass"; echo " 0 fail"'],
  ])('counts steps whose tests %s as one failure each', async (_, first, second) => {
    const { stdout, last, status } = await outcome({ 'run test:all': first, 'exec -- bun': second });
    expect([last, status]).toEqual(['0 passed, 2 failed', 1]);
    expect(stdout).toMatch(/\nall: failed .*\nalone: failed /);
  });

  test('counts a step whose shell is killed as one failure and ends its command', async () => {
    // The parent of the command bounds its time; the parent of that is the shell of the step.
    const parentOf = (pid: string) => `$(awk '{ print $4 }' "/proc/${pid}/stat")`;
    const shell = parentOf(parentOf('$PPID'));
    const { last, status } = await outcome({ 'run test:all': `${LINGER}; kill -9 ${shell}; sleep 60` });
    expect([last, status]).toEqual(['20 passed, 1 failed', 1]);
    expect(await gone()).toBe(true);
  });

  test('ends steps that hang and names them, also one that ignores SIGTERM', async () => {
    const { stdout, last, status } = await outcome(
      { 'run test:all': `${LINGER}; sleep 60`, 'exec -- bun': 'trap "" TERM; while :; do sleep 1; done' },
      { CI_STEP_SECONDS: '1' },
    );
    expect([last, status]).toEqual(['0 passed, 2 failed', 1]);
    expect(stdout).toContain('\nall: failed (hung: ended after 1 s)\nalone: failed (hung: ended after 1 s)\n');
    expect(await gone()).toBe(true);
  });

  test('adds up the tests that passed in all steps, and ends processes that a step leaves running instead of waiting for them', async () => {
    const { stdout, last, status } = await outcome({ 'run test:all': `${LINGER}; echo " 10 pass"` });
    expect([last, status]).toEqual(['30 passed, 0 failed', 0]);
    expect(stdout).toContain('\nall:  10 pass\n');
    expect(await gone()).toBe(true);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('on %s ends all its processes and leaves no files', async (signal) => {
    const child = start({ 'run test:all': `${LINGER}; echo $$ >"$TMPDIR/step"; sleep 60` });
    const read = new Response(child.stdout).text();
    for (let tries = 0; tries < 500 && !existsSync(join(dir, 'step')); tries++) await Bun.sleep(10);
    child.kill(signal);
    expect(await child.exited).toBe(signal === 'SIGTERM' ? 143 : 130);
    await read;
    expect([await gone('left'), await gone('step')]).toEqual([true, true]);
    expect([...new Bun.Glob('tmp.*').scanSync({ cwd: dir, onlyFiles: false })]).toEqual([]);
  });
});
