import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { runCli } from '../cli/run-cli.ts';
import {
  cleanUpAfterTests,
  freePort,
  NodeProcess as Node,
  type NodeProcess,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';

cleanUpAfterTests();

let node: NodeProcess;
let settings: string[];

beforeAll(async () => {
  const port = await freePort();
  node = new Node({ port, testKey: false, args: ['--dev', WITH_WALLET, '--wallet.autocreate=true'] });
  settings = ['--network', 'regtest', '--datadir', node.datadir, '--http.listen', `127.0.0.1:${port}`];
  await node.ready();
});

/** Runs a command that finds the node by its settings and its key by the data directory. */
function run(command: string, args: readonly string[] = [], stdin = '') {
  return runCli([command, ...settings, ...args], {}, stdin);
}

describe('obverse call', () => {
  test('prints a text as it is, and other results as JSON with the digits of the node', async () => {
    const hash = (await node.api.rpc<string>('getblockhash', [0])).trim();
    expect(await run('call', ['getblockhash', '0'])).toEqual({ status: 0, stdout: `${hash}\n`, stderr: '' });
    const balance = await run('call', ['getbalances']);
    expect(balance.stdout).toContain('"trusted": 0.00000000');
    expect(await run('call', ['--json', 'getblockhash', '0'])).toMatchObject({ stdout: `${JSON.stringify(hash)}\n` });
  });

  test('the parameters of the method decide which arguments are texts and which are JSON', async () => {
    expect(JSON.parse((await run('call', ['echo', '1', '{'])).stdout)).toEqual(['1', '{']);
    expect((await run('call', ['echojson', '1.10000000', '{"a":[true]}'])).stdout).toContain('1.10000000');
    const hash = await node.api.rpc<string>('getblockhash', [1]);
    const named = await run('call', ['-named', 'getblock', `blockhash=${hash}`, 'verbosity=1']);
    expect(JSON.parse(named.stdout)).toMatchObject({ hash, height: 1 });
    expect(JSON.parse((await run('call', ['-named', 'getblock', hash, 'verbosity=1'])).stdout)).toMatchObject({ hash });
    const wrong = await run('call', ['getblockhash', 'zero']);
    expect([wrong.status, wrong.stderr.split('\n')[0]]).toEqual([
      2,
      'obverse: height must be JSON, such as 6, true or ["a"], not zero',
    ]);
  });

  test('names the setting by which it finds the node where nothing listens', async () => {
    const other = `127.0.0.1:${await freePort()}`;
    expect(await runCli(['call', ...settings.slice(0, -1), other, 'getblockcount'])).toEqual({
      status: 1,
      stdout: '',
      stderr: `obverse: nothing listens on http://${other}: start the node, or give the http.listen that it has (--http.listen HOST:PORT)\n`,
    });
  });

  test('the exit status is that of bitcoin-cli: the code without its sign', async () => {
    const failed = await run('call', ['getblockhash', '-1']);
    expect(failed).toEqual({
      status: 8,
      stdout: '',
      stderr: 'error code: -8\nerror message:\nBlock height out of range\n',
    });
    const unknown = await run('call', ['getblokcount']);
    expect([unknown.status, unknown.stderr]).toEqual([
      32601 % 256,
      'error code: -32601\nerror message:\nMethod not found\n(did you mean getblockcount?)\n',
    ]);
    expect((await run('call', ['--wallet', 'none', 'getbalance'])).status).toBe(18);
  });

  test('arguments and passphrases come from standard input', async () => {
    expect(JSON.parse((await run('call', ['-stdin', 'echo', 'a'], 'b\nc d\n')).stdout)).toEqual(['a', 'b', 'c d']);
    const created = await run('call', ['-stdin', '-named', 'createwallet', 'wallet_name=locked'], 'passphrase=right\n');
    expect(created.status).toBe(0);
    const unlock = ['-rpcwallet=locked', '-stdinwalletpassphrase', 'walletpassphrase', '60'];
    expect((await run('call', unlock, 'wrong\n')).status).toBe(14);
    expect(await run('call', unlock, 'right\n')).toEqual({ status: 0, stdout: '', stderr: '' });
  });
});

test('obverse status shows the chain, the mempool, the wallets and readiness', async () => {
  const { status, stdout, stderr } = await run('status');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^obverse \S+, regtest, running for \d+s$/m);
  expect(stdout).toMatch(/^tip {8}height \d+ of \d+, /m);
  expect(stdout).toMatch(/^wallets {4}default: 0\.00000000 \(not encrypted\)$/m);
  expect(stdout).toMatch(/^ {11}locked: 0\.00000000 \(unlocked\)$/m);
  expect(stdout).toMatch(/^ready {6}(ok|degraded)$/m);
  const facts = JSON.parse((await run('status', ['--json'])).stdout);
  expect(facts).toMatchObject({ network: 'regtest', wallets: { count: 2 } });
});

test('obverse stop returns when the process has ended, and the commands then say that no node runs', async () => {
  expect(await run('stop')).toEqual({ status: 0, stdout: 'stopped\n', stderr: '' });
  // An ended process is a zombie until this one, its parent, has noticed.
  const status = `/proc/${node.pid}/status`;
  expect(existsSync(status) ? readFileSync(status, 'utf8') : 'State:\tZ').toMatch(/^State:\s+Z/m);
  expect((await node.exited).status).toBe(0);
  for (const command of ['stop', 'status']) {
    const { status, stderr } = await run(command);
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^obverse: no node runs on .*no cookie file/)]);
  }
});

test('call without a node ends with status 1 and one sentence', async () => {
  const empty = ['--datadir', tempDir(), 'getblockcount'];
  settings = ['--network', 'regtest'];
  const { status, stderr } = await run('call', empty);
  expect([status, stderr.split('\n').length]).toEqual([1, 2]);
});
