import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../lib/programs.ts';

const unit = readFileSync(join(import.meta.dir, '../../systemd/obverse.service'), 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'unit-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The unit with a command that exists on this machine, which is all that verify may miss. */
function installed(text = unit): string {
  const file = join(folder, 'obverse.service');
  writeFileSync(file, text.replace('/usr/local/bin/obverse', process.execPath));
  return file;
}

test('the unit allows memory that is writable and executable, which the engine needs for compiled code', () => {
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
});

test.each([
  'Type=notify',
  'NotifyAccess=main',
  'WatchdogSec=60',
  'TimeoutStopSec=600',
  'StateDirectory=obverse',
  'UMask=0077',
  'LimitCORE=0',
  'PrivateMounts=yes',
  'ProcSubset=pid',
])('%s', (line) => expect(unit.split('\n')).toContain(line));

// The executable cannot refuse BUN_BE_BUN by itself: with it the runtime starts instead of the program.
test('the unit removes variables of the runtime', () => {
  const removed = /^UnsetEnvironment=(.*)$/m.exec(unit)![1]!.split(' ');
  for (const name of ['BUN_OPTIONS', 'BUN_BE_BUN', 'BUN_INSPECT', 'BUN_INSPECT_CONNECT_TO', 'BUN_INSPECT_NOTIFY'])
    expect(removed).toContain(name);
});

// setpriority and setrlimit are calls of @resources.
test('the unit allows the calls with which threads set their priorities', () => {
  const denied = /^SystemCallFilter=~(.*)$/m.exec(unit)![1]!.split(' ');
  expect(denied).toEqual(['@privileged', '@setuid', '@keyring']);
});

describe.skipIf(process.platform !== 'linux')('systemd', () => {
  const analyze = () => requireProgram('systemd-analyze');

  // verify exits with 0 on values it cannot read and only warns of them.
  test('systemd-analyze verify reports nothing for the unit', () => {
    const { stderr, exitCode } = Bun.spawnSync([analyze(), 'verify', installed()]);
    expect(stderr.toString()).toBe('');
    expect(exitCode).toBe(0);
  });

  test('systemd-analyze verify reports a misspelt directive', () => {
    const file = installed(unit.replace('ProtectSystem=strict', 'ProtectSystem=very'));
    expect(Bun.spawnSync([analyze(), 'verify', file]).stderr.toString()).toContain(
      'Failed to parse protect system value',
    );
  });

  test('the exposure level of the unit stays low', () => {
    const { stdout } = Bun.spawnSync([analyze(), 'security', '--offline=true', '--no-pager', installed()]);
    const level = /exposure level for obverse\.service: ([0-9.]+)/.exec(stdout.toString());
    expect(Number(level?.[1])).toBeLessThan(1.5);
  });
});
