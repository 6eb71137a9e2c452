import { beforeAll, describe, expect, test } from 'bun:test';
import { chmodSync, closeSync, existsSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openLogFile } from '../../src/util/process-log.ts';
import { cleanUpAfterTests, freePort, NodeProcess, Program, poll, runProgram, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const folder = tempDir();
const file = join(folder, 'node.log');
const settings = join(folder, 'obverse.toml');
let node: NodeProcess;
let args: string[];

interface Line {
  readonly level: string;
  readonly category: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const writeSettings = (...more: string[]) =>
  writeFileSync(settings, `[log]\nfile = ${JSON.stringify(file)}\n${more.join('\n')}\n`);
const linesOf = (path: string): Line[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    : [];
const line = (msg: string, path = file) =>
  node.until(`the line ${msg}`, () => linesOf(path).find((each) => each.msg === msg) ?? null);

beforeAll(async () => {
  writeSettings();
  const port = await freePort();
  args = ['--config', settings];
  node = new NodeProcess({ port, args });
  await line('ready');
});

test('getrpcinfo has the path of log.file', async () => {
  expect(await node.api.rpc<object>('getrpcinfo')).toMatchObject({ logpath: file });
});

test('log.file gets the lines of all threads, is private in a private directory, and stderr stays empty', () => {
  expect(node.stderr).toBe('');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const categories = new Set(linesOf(file).map(({ category }) => category));
  expect(categories.has('node')).toBe(true);
});

test.each([
  ['750', '640'],
  ['700', '600'],
])('in a directory of mode %s the file has mode %s', (directory, mode) => {
  const path = join(tempDir(), 'node.log');
  chmodSync(dirname(path), Number.parseInt(directory, 8));
  closeSync(openLogFile(path));
  expect((statSync(path).mode & 0o777).toString(8)).toBe(mode);
});

describe('the chain', () => {
  test('each new tip is one line with height, hash, transactions, age, cache and peers', async () => {
    const [hash] = await node.api.rpc<string[]>('generatetodescriptor', [1, 'raw(51)']);
    const { msg, level, category, time, ...facts } = await line('new tip');
    expect([level, category]).toEqual(['info', 'chain']);
    expect(facts).toEqual({
      height: 1,
      hash,
      transactions: 1,
      age: expect.any(String),
      cacheMiB: expect.any(Number),
      peers: 0,
    });
  });

  test('each reorg is one line with its depth and both tips', async () => {
    const before = await node.api.rpc<string[]>('generatetodescriptor', [3, 'raw(51)']);
    await node.api.rpc('invalidateblock', [before[1]!]);
    const { level, msg, category, time, ...facts } = await line('reorg');
    expect([level, category]).toEqual(['warn', 'chain']);
    expect(facts).toEqual({
      depth: 2,
      forkHeight: 2,
      from: before[2],
      fromHeight: 4,
      to: before[0],
      toHeight: 2,
    });
  });
});

describe('SIGHUP', () => {
  test('opens log.file again after a rotation, and no line is lost between the two files', async () => {
    const started = await node.api.rpc<number>('getblockcount');
    const rotated = `${file}.1`;
    const mined = node.api.rpc('generatetodescriptor', [200, 'raw(52)']);
    await node.height(started + 20);
    renameSync(file, rotated);
    node.kill('SIGHUP');
    await mined;
    await line('settings were read again');
    // All blocks may have been mined before the rotation.
    const both = () => [...linesOf(rotated), ...linesOf(file)];
    await node.until('the last tip', () => both().some(({ height }) => height === started + 200));
    const tips = both().filter(({ msg }) => msg === 'new tip');
    const heights = tips.map(({ height }) => height).slice(-200);
    expect(heights).toEqual(Array.from({ length: 200 }, (_, i) => started + 1 + i));
    expect(linesOf(file).some(({ msg }) => msg === 'settings were read again')).toBe(true);
  });

  test('applies changed levels on all threads, and names the settings that need a restart', async () => {
    writeSettings('levels = ["p2p=debug", "mempool=error"]', '[cache]', 'enabled = false');
    renameSync(file, `${file}.2`);
    node.kill('SIGHUP');
    expect(await line('settings were read again')).toMatchObject({
      levels: 'p2p=debug,mempool=error',
      needRestart: ['cache.enabled'],
    });
    expect(await node.api.rpc<object>('logging')).toMatchObject({ p2p: true, mempool: false, chain: false });
    // A configured level applies again once its category is excluded.
    await node.api.rpc('logging', [['mempool', 'chain']]);
    expect(await node.api.rpc<object>('logging', [[], ['all']])).toMatchObject({ p2p: false, mempool: false });
  });

  test('a mistake in the settings changes nothing and is one line', async () => {
    writeSettings('level = "loud"');
    node.kill('SIGHUP');
    const { level, problems } = await line('the settings cannot be read again, and none has changed');
    expect([level, problems]).toEqual(['error', [expect.stringContaining('log.level: "loud" from file')]]);
    writeSettings();
  });
});

test('obverse logs shows the lines of log.file by level and category', async () => {
  const all = await runProgram(['logs', '--config', settings, '--lines', '1000']);
  expect(all).toMatchObject({ status: 0, stderr: '' });
  expect(all.stdout).toMatch(/^\d{4}-\d\d-\d\d [\d:.]{12} INFO {2}node {5}settings were read again/m);
  const errors = await runProgram(['logs', '--config', settings, '--level', 'error']);
  expect(errors.stdout.trimEnd().split('\n')).toHaveLength(1);
  const none = await runProgram(['logs', '--config', settings, '--category', 'webhooks']);
  expect(none).toMatchObject({ status: 0, stdout: '' });
  const wrong = await runProgram(['logs', '--config', settings, '--category', 'net']);
  expect([wrong.status, wrong.stderr.split('\n')[0]]).toEqual([2, expect.stringContaining('--category is one of')]);
});

test('a start after a kill says so, and the journal gets priorities', async () => {
  const { datadir } = node;
  await node.stop('SIGKILL');
  const out = join(folder, 'journal');
  writeFileSync(out, '');
  writeFileSync(settings, '');
  const { dev, ino } = statSync(out);
  const start = ['start', '--network', 'regtest', '--datadir', datadir, '--p2p.enabled=false', ...args];
  const again = new Program([...start, '--http.listen', '127.0.0.1:0'], {
    prefix: ['sh', '-c', `exec "$0" "$@" 2>>${out}`],
    env: { JOURNAL_STREAM: `${dev}:${ino}` },
  });
  const text = await poll('the ready line', () => {
    const written = readFileSync(out, 'utf8');
    return written.includes('"msg":"ready"') && written;
  });
  const unclean = text.split('\n').find((each) => each.includes('the last run did not end cleanly'));
  expect(unclean).toMatch(new RegExp(`^<4>\\{"level":"warn",.*"pid":"${node.pid}"\\}$`));
  expect(text).toMatch(/^<6>\{"level":"info"/m);
  expect((await again.stop()).status).toBe(0);
  // An orderly end leaves no trace.
  expect(readFileSync(join(datadir, 'regtest/lock'), 'utf8')).toBe('');
});

test('a log file that cannot be opened ends the start with status 2 and one sentence', async () => {
  const wrong = join(folder, 'missing/node.log');
  const { status, stderr } = await runProgram([
    'start',
    '--network',
    'regtest',
    '--datadir',
    tempDir(),
    '--log.file',
    wrong,
  ]);
  expect([status, stderr]).toEqual([2, `obverse: log.file: ${wrong} cannot be opened for writing: ENOENT\n`]);
});

test('obverse logs says what to do where neither log.file nor a journal has a line', async () => {
  // A folder without journalctl, and one in which the journal has no line of this service.
  const none = tempDir('programs');
  for (const [path, reason] of [
    [none, 'set log.file, or run it as a service with a journal'],
    [
      process.env.PATH!,
      'set log.file, or run it as a service with a journal|the journal has no line of the service no-such-unit',
    ],
  ] as const) {
    const { status, stdout, stderr } = await runProgram(['logs', '--unit', 'no-such-unit'], { env: { PATH: path } });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(new RegExp(reason));
    expect(stderr).toContain('log.file');
  }
});
