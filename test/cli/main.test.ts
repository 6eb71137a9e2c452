import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runCli } from './run-cli.ts';

const { version } = JSON.parse(readFileSync(join(import.meta.dir, '../../package.json'), 'utf8'));

test.each(['--version', '-v', 'version'])('%s', async (arg) => {
  const { status, stdout, stderr } = await runCli([arg]);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toStartWith(`obverse ${version} (`);
  expect(stdout).toMatch(/^signature library: .+ \((system|addon|noble)\)$/m);
});

describe('help', () => {
  test.each([[[]], [['help']], [['--help']], [['-h']]])('%j shows all commands', async (args) => {
    const { status, stdout, stderr } = await runCli(args);
    expect([status, stderr]).toEqual([0, '']);
    for (const name of ['start', 'import', 'probe', 'help', 'version'])
      expect(stdout).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  test.each(['start', 'import', 'probe'])('help shows the usage of %s in both forms', async (name) => {
    const { status, stdout } = await runCli(['help', name]);
    expect(status).toBe(0);
    expect(stdout).toStartWith(`Usage: obverse ${name}`);
    expect(await runCli([name, '--network', 'regtest', '--help'])).toMatchObject({ status: 0, stdout });
  });

  test('help config fits a terminal and is aligned', async () => {
    for (const args of [['help'], ['help', 'start'], ['help', 'import'], ['help', 'probe'], ['help', 'config']]) {
      const { stdout } = await runCli(args);
      for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(140);
    }
    const { stdout } = await runCli(['help', 'start']);
    const columns = stdout.split('\n').flatMap((line) => /^ {2}--[^ ]+(?: [A-Z]+)? +/.exec(line)?.[0].length ?? []);
    expect(new Set(columns).size).toBe(1);
  });

  test('help config names every kind of default', async () => {
    const { stdout } = await runCli(['help', 'config']);
    expect(stdout).toContain('  http.listen\n');
    expect(stdout).toContain(
      'host:port, or a list of them; default 127.0.0.1:8332 (testnet4 48332, signet 38332, regtest 18443)\n',
    );
    expect(stdout).toContain('an integer from 4 to 4096, in MiB; default a sixteenth of the memory, from 32 to 512\n');
    expect(stdout).toContain('default read,broadcast,wallet\n');
  });

  test('help for an unknown command suggests a similar one', async () => {
    const { status, stderr } = await runCli(['help', 'strat']);
    expect([status, stderr.split('\n')[0]]).toEqual([2, 'obverse: there is no help for strat (did you mean start?)']);
  });
});

describe('each mistake in the arguments gives exit status 2 and one line', () => {
  test.each([
    [['strat'], 'obverse: unknown command strat (did you mean start?)'],
    [['toString'], 'obverse: unknown command toString'],
    [['--network', 'regtest'], 'obverse: a command comes before its flags: obverse start --network'],
    [['start', '--bad'], 'obverse: unknown flag --bad'],
    [['start', '--netwrok=regtest'], 'obverse: unknown flag --netwrok (did you mean network?)'],
    [['start', 'regtest'], 'obverse: start takes no argument: regtest'],
    [['start', '--config', '/nonexistent/x.toml'], 'obverse: config: cannot read /nonexistent/x.toml: no such file'],
    [['import'], 'obverse: import needs at least one file'],
  ])('%j', async (args, line) => {
    const { status, stdout, stderr } = await runCli(args);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr.split('\n')[0]).toBe(line);
  });

  test('a mistake in the environment gives exit status 2', async () => {
    const { status, stderr } = await runCli(['start'], { OBVERSE_NETWROK: 'main' });
    expect([status, stderr]).toEqual([
      2,
      'obverse: unknown environment variable OBVERSE_NETWROK (did you mean OBVERSE_NETWORK?)\n',
    ]);
  });
});

test('an import file that cannot be read is reported before any database opens', async () => {
  expect(await runCli(['import', '/nonexistent/blk.dat', '--network', 'regtest'])).toEqual({
    status: 1,
    stdout: '',
    stderr: 'obverse: cannot read /nonexistent/blk.dat: no such file\n',
  });
  const { status, stderr } = await runCli(['import', '/', '--network', 'regtest']);
  expect([status, stderr]).toEqual([1, 'obverse: cannot read /: not a file\n']);
});
