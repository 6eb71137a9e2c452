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
});
afterEach(() => rmSync(dir, { recursive: true }));

/** What stands for `npm` with these arguments: `ci`, `run check`, `test -- …`. */
type Steps = Readonly<Record<string, string>>;

const PASSING: Steps = {
  ci: 'echo installed',
  'run check': 'echo "ok     types"',
  'test --': 'echo " 10 pass"; echo " 0 fail"',
  'run test:slow': 'echo " 20 pass"; echo " 0 fail"',
  'run test:functional': 'echo " 30 pass"; echo " 0 fail"',
  'exec -- bun': 'echo " 40 pass"; echo " 0 fail"',
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
    // One that has ended, and of which nobody has taken notice yet, is not alive.
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

describe.skipIf(!Bun.which('bash') || process.platform !== 'linux')('the checks before a change is taken', () => {
  test('add up what all steps have passed', async () => {
    const { stdout, last, status } = await outcome();
    expect([last, status]).toEqual(['100 passed, 0 failed', 0]);
    expect(stdout).toContain('\nunits:  10 pass\n');
  });

  test('fail with tests that fail, and go on with the others', async () => {
    const { last, status } = await outcome({ 'test --': 'echo " 8 pass"; echo " 2 fail"; exit 1' });
    expect([last, status]).toEqual(['98 passed, 2 failed', 1]);
  });

  test('end where nothing can be installed', async () => {
    const { last, status } = await outcome({ ci: 'exit 1' });
    expect([last, status]).toEqual(['0 passed, 1 failed', 1]);
  });

  test.each([
    ['that fails without a word', 'exit 3'],
    ['that is killed', 'kill -9 $$'],
    ['that says nothing of what it has passed', 'echo done'],
    ['in which nothing has passed', 'echo " 0 pass"; echo " 0 fail"'],
  ])('count a step of tests %s as a failure', async (_, script) => {
    const { last, status } = await outcome({ 'run test:functional': script });
    expect([last, status]).toEqual(['70 passed, 1 failed', 1]);
  });

  test('count the steps of a lane that dies as failures', async () => {
    // Its parent bounds its time, that one's is the step's, and that one's the lane.
    const parentOf = (pid: string) => `$(awk '{ print $4 }' "/proc/${pid}/stat")`;
    const lane = parentOf(parentOf('$PPID'));
    const { last, status } = await outcome({ 'test --': `kill -9 ${lane}; ${LINGER}; sleep 60` });
    expect([last, status]).toEqual(['70 passed, 2 failed', 1]);
    expect(await gone()).toBe(true);
  });

  test.each(['sleep 60', 'trap "" TERM; while :; do sleep 1; done'])(
    'end a step that hangs, and name it: %s',
    async (wait) => {
      const { stdout, last, status } = await outcome(
        { 'run test:functional': `${LINGER}; ${wait}` },
        { CI_STEP_SECONDS: '1' },
      );
      expect([last, status]).toEqual(['70 passed, 1 failed', 1]);
      expect(stdout).toContain('\nfunctional: failed (hung: ended after 1 s)\n');
      expect(await gone()).toBe(true);
    },
  );

  test('do not wait for what a step leaves running, and end it', async () => {
    const { last, status } = await outcome({ 'test --': `${LINGER}; echo " 10 pass"` });
    expect([last, status]).toEqual(['100 passed, 0 failed', 0]);
    expect(await gone()).toBe(true);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('end with all that runs at %s, and leave no files', async (signal) => {
    const wait = 'echo $$ >"$TMPDIR/NAME"; sleep 60';
    const child = start({
      'test --': wait.replace('NAME', 'units'),
      'run test:functional': wait.replace('NAME', 'functional'),
    });
    const read = new Response(child.stdout).text();
    const both = () => ['units', 'functional'].every((name) => existsSync(join(dir, name)));
    for (let tries = 0; tries < 500 && !both(); tries++) await Bun.sleep(10);
    child.kill(signal);
    expect(await child.exited).toBe(signal === 'SIGTERM' ? 143 : 130);
    await read;
    expect([await gone('units'), await gone('functional')]).toEqual([true, true]);
    expect([...new Bun.Glob('tmp.*').scanSync({ cwd: dir, onlyFiles: false })]).toEqual([]);
  });
});
