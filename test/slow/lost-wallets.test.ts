import { describe, expect, test } from 'bun:test';
import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, type NodeProcess, runProgram, startNode } from '../lib/node-process.ts';

cleanUpAfterTests();

const ARGS = ['--wallet.keypool=5'];

interface Readiness {
  readonly checks: { readonly wallet?: { readonly status: string; readonly message?: string } };
}

const startArgs = (datadir: string) => [
  ...['start', '--network', 'regtest', '--datadir', datadir],
  ...['--http.listen', '127.0.0.1:0', '--p2p.enabled=false', ...ARGS],
];
const forget = (datadir: string, ...names: string[]) =>
  runProgram(['forget-wallet', '--network', 'regtest', '--datadir', datadir, ...names]);

/** The one line with which the start is refused. */
async function refusal(datadir: string): Promise<string> {
  const { status, stderr } = await runProgram(startArgs(datadir), { timeoutMs: 30_000 });
  expect(status).toBe(1);
  const lines = stderr.split('\n').filter((line) => line.startsWith('obverse:'));
  expect(lines).toHaveLength(1);
  expect(stderr).not.toMatch(/^\s+at /m);
  return lines[0]!;
}

const readiness = async (node: NodeProcess) => (await node.api.request<Readiness>('/readyz')).body.checks.wallet;

describe('a missing folder of wallets', () => {
  test('stops the start and creates no wallet, until it is back or its loss is accepted', async () => {
    let node = await startNode({ args: ARGS });
    const { datadir, networkDir } = node;
    const address = await node.api.rpc<string>('getnewaddress');
    await node.api.rpc('createwallet', ['hot']);
    await node.stop();
    const folder = join(networkDir, 'wallets');
    const away = join(datadir, 'away');

    renameSync(folder, away);
    const line = await refusal(datadir);
    expect(line).toBe(
      `obverse: ${folder} is gone, but this node had wallets (default, hot): put the folder back; to restore backups, make an empty folder and start again; to do without them, run "obverse forget-wallet NAME…" with these names`,
    );
    expect(existsSync(folder)).toBe(false);
    // An empty one is there to restore backups into.
    mkdirSync(folder);
    node = await startNode({ datadir, args: ARGS });
    expect(await node.api.rpc<string[]>('listwallets')).toEqual([]);
    expect(readdirSync(folder)).toEqual([]);
    expect(await readiness(node)).toMatchObject({ status: 'fail', message: 'the file of a wallet is missing' });
    await node.stop();

    // Without wallets nothing is lost.
    node = await startNode({ datadir, args: ['--wallet.enabled=false'] });
    await node.stop();
    rmSync(folder, { recursive: true });
    cpSync(away, folder, { recursive: true });
    node = await startNode({ datadir, args: ARGS });
    expect(await node.api.rpc<string>('getaddressinfo', [address])).toMatchObject({ ismine: true });
    expect(await readiness(node)).toMatchObject({ status: 'ok' });
    await node.stop();

    rmSync(folder, { recursive: true });
    expect(await forget(datadir, 'default', 'cold')).toMatchObject({
      status: 1,
      stderr: 'obverse: this node has no wallet cold; it knows default, hot\n',
    });
    expect(await forget(datadir, 'default', 'hot')).toMatchObject({ status: 0, stdout: 'forgotten: default, hot\n' });
    node = await startNode({ datadir, args: ARGS });
    expect(await node.api.rpc<string>('getaddressinfo', [address])).toMatchObject({ ismine: false });
    await node.stop();
  }, 180_000);
});

test('the missing file of one wallet is reported, and no wallet is created in its place', async () => {
  let node = await startNode({ args: ARGS });
  const { datadir, networkDir } = node;
  await node.api.rpc('createwallet', { wallet_name: 'hot', load_on_startup: true });
  await node.stop();
  const file = join(networkDir, 'wallets/default.db');
  renameSync(file, join(datadir, 'away.db'));

  node = await startNode({ datadir, args: ARGS });
  expect(await node.api.rpc<string[]>('listwallets')).toEqual(['hot']);
  expect(await readiness(node)).toMatchObject({ status: 'fail', message: 'the file of a wallet is missing' });
  expect(node.stderr).toContain('the file of a wallet is missing');
  expect(existsSync(file)).toBe(false);
  await node.stop();
  expect(await forget(datadir, 'hot')).toMatchObject({ status: 1 });

  // It is loaded again when it is back.
  renameSync(join(datadir, 'away.db'), file);
  node = await startNode({ datadir, args: ARGS });
  expect((await node.api.rpc<string[]>('listwallets')).toSorted()).toEqual(['default', 'hot']);
  expect(await readiness(node)).toMatchObject({ status: 'ok' });
  await node.stop();

  rmSync(file);
  expect(await forget(datadir, 'default')).toMatchObject({ status: 0 });
  node = await startNode({ datadir, args: ARGS });
  expect(await readiness(node)).toMatchObject({ status: 'ok' });
  await node.stop();
}, 180_000);

test('a wallet that was unloaded may be moved away', async () => {
  let node = await startNode({ args: ARGS });
  const { datadir, networkDir } = node;
  await node.api.rpc('createwallet', { wallet_name: 'hot', load_on_startup: true });
  await node.api.rpc('unloadwallet', ['hot']);
  await node.stop();
  rmSync(join(networkDir, 'wallets/hot.db'));
  node = await startNode({ datadir, args: ARGS });
  expect(await node.api.rpc<string[]>('listwallets')).toEqual(['default']);
  expect(await readiness(node)).toMatchObject({ status: 'ok' });
  await node.stop();
}, 180_000);
