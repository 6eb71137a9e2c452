import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireProgram } from '../lib/programs.ts';

const unitText = (name: string) => readFileSync(join(import.meta.dir, '../../systemd', name), 'utf8');
const unit = unitText('obverse.service');
const template = unitText('obverse@.service');

const folder = mkdtempSync(join(tmpdir(), 'unit-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The unit with a command that exists on this machine, which is all that verify may miss. */
function installed(text = unit, name = 'obverse.service'): string {
  const file = join(folder, name);
  writeFileSync(file, text.replace('/usr/local/bin/obverse', process.execPath));
  return file;
}

test('the unit allows memory that is writable and executable, which the engine needs for compiled code', () => {
  expect(unit).not.toMatch(/^MemoryDenyWriteExecute=/m);
});

test('the template differs from the unit in the network and its files alone', () => {
  const ofTemplate = (text: string) => text.split('\n').filter((line) => !line.startsWith('#'));
  const expected = unit
    .replace('Obverse, a full node for Bitcoin-family chains', 'Obverse on network %i')
    .replace('--config /etc/obverse/obverse.toml', '--config /etc/obverse/%i.toml --network %i')
    .replace('/etc/obverse/environment', '/etc/obverse/%i.environment');
  expect(ofTemplate(template)).toEqual(ofTemplate(expected));
});

test.each([
  'RestartPreventExitStatus=2',
  'Type=notify',
  'NotifyAccess=main',
  'WatchdogSec=60',
  'TimeoutStopSec=600',
  'StateDirectory=obverse',
  'LogsDirectory=obverse',
  'LogsDirectoryMode=0750',
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
  test.each([
    ['unit', 'obverse.service', unit],
    ['template', 'obverse@signet.service', template],
  ])('systemd-analyze verify reports nothing for the %s', (_, name, text) => {
    const { stderr, exitCode } = Bun.spawnSync([analyze(), 'verify', installed(text, name)]);
    expect(stderr.toString()).toBe('');
    expect(exitCode).toBe(0);
  });

  test('systemd-analyze verify reports a misspelt directive', () => {
    const file = installed(unit.replace('ProtectSystem=strict', 'ProtectSystem=very'));
    expect(Bun.spawnSync([analyze(), 'verify', file]).stderr.toString()).toContain(
      'Failed to parse protect system value',
    );
  });

  // The rest is what the node needs: the network and its sockets, priorities, compiled code.
  test('the exposure level of the unit is at most 1.2', () => {
    const { stdout } = Bun.spawnSync([analyze(), 'security', '--offline=true', '--no-pager', installed()]);
    const level = /exposure level for obverse\.service: ([0-9.]+)/.exec(stdout.toString());
    expect(Number(level?.[1])).toBeLessThanOrEqual(1.2);
  });
});
