import { expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog } from '../../src/util/log.ts';
import { fillCommand, ShellCommands } from '../../src/util/shell-commands.ts';
import { poll } from '../lib/node-process.ts';

class Fixture implements Disposable {
  readonly dir = mkdtempSync(join(tmpdir(), 'obverse-shell-'));
  readonly lines: { msg: string; setting: string; code?: number }[] = [];
  readonly commands: ShellCommands;

  constructor({ maxRunning = 2, limitMs = 60_000 } = {}) {
    const write = (bytes: Uint8Array) => {
      for (const line of new TextDecoder().decode(bytes).trim().split('\n')) this.lines.push(JSON.parse(line));
      return bytes.length;
    };
    const log = createLog({ level: 'info', format: 'json', isImmediate: true, write });
    this.commands = new ShellCommands({ log, maxRunning, limitMs });
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  exists(name: string): Promise<true> {
    return poll(name, () => existsSync(this.path(name)) || null);
  }

  [Symbol.dispose](): void {
    this.commands.end();
    rmSync(this.dir, { recursive: true });
  }
}

test('values are put in once, and text that a shell could execute is a variable', () => {
  const values = { inText: { s: 'ab12' }, asVariables: { w: ['NAME', '%s $(x)'] } } as const;
  expect(fillCommand('echo %s %w %x %%', values)).toEqual({
    text: 'echo ab12 "$NAME" %x %%',
    variables: { NAME: '%s $(x)' },
  });
  expect(() => fillCommand('echo %s', { inText: { s: 'a;b' } })).toThrow('the value of %s is not plain text');
});

test('a command beyond the limit waits until another one has exited', async () => {
  using it = new Fixture({ maxRunning: 1 });
  const gate = it.path('gate');
  await it.commands.startCommand(
    'notify.block',
    `while [ ! -e '${gate}' ]; do sleep 0.01; done; touch '${it.path('first')}'`,
  );
  const second = it.commands.startCommand(
    'notify.block',
    `test -e '${it.path('first')}' && touch '${it.path('second')}'`,
  );
  writeFileSync(gate, '');
  await second;
  await it.exists('second');
});

test('the end ends running commands with their children, and starts no waiting ones', async () => {
  using it = new Fixture({ maxRunning: 1 });
  const pidFile = it.path('pid');
  await it.commands.startCommand(
    'notify.block',
    `sleep 600 & echo $! > '${pidFile}.new'; mv '${pidFile}.new' '${pidFile}'; wait`,
  );
  const waiting = it.commands.startCommand('notify.block', `touch '${it.path('late')}'`);
  await it.exists('pid');
  it.commands.end();
  await waiting;
  const pid = Number(readFileSync(pidFile, 'utf8'));
  await poll('the end of the child', () => isGone(pid) || null);
  expect(existsSync(it.path('late'))).toBe(false);
});

test('a command is ended at its time limit, and a failed one is logged', async () => {
  using it = new Fixture({ limitMs: 50 });
  await it.commands.startCommand('notify.wallet', 'exit 3');
  await it.commands.startCommand('notify.alert', 'sleep 600');
  await poll('the lines', () => it.lines.length >= 3 || null);
  expect(it.lines.map(({ msg, setting, code }) => [msg, setting, code])).toEqual([
    ['command failed', 'notify.wallet', 3],
    ['command ended at its time limit', 'notify.alert', undefined],
    ['command failed', 'notify.alert', 137],
  ]);
});

function isGone(pid: number): boolean {
  try {
    // A zombie counts as gone: in a container no process may reap it.
    return /^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return true;
  }
}
