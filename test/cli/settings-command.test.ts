import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KEYS } from '../../src/config/settings.ts';
import { runCli } from './run-cli.ts';

const folder = mkdtempSync(join(tmpdir(), 'settings-'));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'obverse.toml');
writeFileSync(file, 'network = "signet"\n[http]\nlisten = ["127.0.0.1:8080", "[::1]:8080"]\n[log]\nlevel = "warn"\n');
const SECRET = `operator:00$${'5e'.repeat(32)}`;

describe('obverse settings', () => {
  test('shows what is given, with the place that gives it: a flag overrides a variable, which overrides the file', async () => {
    const datadir = join(folder, 'data');
    const args = [
      'settings',
      '--config',
      file,
      '--p2p.proxy=127.0.0.1:9050',
      `--rpcauth=${SECRET}`,
      '--datadir',
      datadir,
    ];
    expect(await runCli(args, { OBVERSE_LOG_LEVEL: 'debug' })).toEqual({
      status: 0,
      stdout: [
        `network signet  # file ${file}`,
        `datadir ${datadir}  # flag --datadir`,
        `config ${file}  # flag --config`,
        `http.listen 127.0.0.1:8080,[::1]:8080  # file ${file}`,
        'rpcauth (not printed)  # flag --rpcauth',
        'p2p.proxy {"address":{"host":"127.0.0.1","port":9050},"network":null}  # flag --p2p.proxy',
        'log.level debug  # environment OBVERSE_LOG_LEVEL',
        '',
      ].join('\n'),
      stderr: '',
    });
    expect(readdirSync(folder)).toEqual(['obverse.toml']);
  });

  test('shows all settings, also as JSON', async () => {
    const { status, stdout } = await runCli([
      'settings',
      '--all',
      '--json',
      '--network=regtest',
      `--rpcauth=${SECRET}`,
    ]);
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([status, rows.map(({ key }) => key)]).toEqual([0, [...KEYS]]);
    expect(rows.find(({ key }) => key === 'http.listen')).toEqual({
      key: 'http.listen',
      value: ['127.0.0.1:18443'],
      source: 'default',
    });
    expect(rows.find(({ key }) => key === 'rpcauth')).toEqual({
      key: 'rpcauth',
      value: null,
      source: 'flag --rpcauth',
    });
    expect(stdout).not.toContain('5e5e');
  });

  test.each([
    [['--log.level', 'loud'], {}, 'log.level: "loud" from flag --log.level is not allowed'],
    [[], { OBVERSE_HTTP_LISTN: 'x' }, 'unknown environment variable OBVERSE_HTTP_LISTN'],
    [['--config', join(folder, 'none.toml')], {}, `config: cannot read ${join(folder, 'none.toml')}: no such file`],
    [['--network=main', '--dev'], {}, 'dev.enabled: only allowed with network regtest, not main'],
    [['now'], {}, 'settings takes no argument: now'],
  ] as const)('exit status 2 for %j with %j', async (args, env, error) => {
    const { status, stdout, stderr } = await runCli(['settings', ...args], env);
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toStartWith(`obverse: ${error}`);
  });
});
