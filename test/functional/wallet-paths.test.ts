import { expect, test } from 'bun:test';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backup, directoryOf, restore } from '../lib/backup-commands.ts';
import { cleanUpAfterTests, runProgram, startNode, tempDir, WITH_WALLET } from '../lib/node-process.ts';
import { runCommand } from '../lib/run-command.ts';

cleanUpAfterTests();

interface RpcReply {
  readonly result: { readonly walletname: string };
}

test('wallets by path are used, backed up, verified, restored and forgotten', async () => {
  const root = tempDir('wallet-paths');
  const directory = join(root, 'wallets');
  mkdirSync(directory);
  const flags = [`--wallet.pathRoot=${root}`, `--wallet.directory=${directory}`];
  const args = [WITH_WALLET, ...flags, '--wallet.autocreate=false'];
  let node = await startNode({ args });
  const elsewhere = join(root, 'extern/w6');
  const names = ['plain', 'sub/w5', elsewhere];
  for (const name of names) await node.api.rpc('createwallet', [name, false, false, null, false, true, true]);
  expect(await node.api.rpc<string[]>('listwallets')).toEqual(names);

  // As Core's clients write the path, and with the slashes escaped.
  const infoOf = async (path: string) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getwalletinfo', params: [] });
    const reply = await node.api.request<RpcReply>(path, { method: 'POST', body });
    return reply.body.result?.walletname;
  };
  for (const name of names) {
    expect(await infoOf(`/wallet/${encodeURI(name)}`)).toBe(name);
    expect(await infoOf(`/wallet/${encodeURIComponent(name)}`)).toBe(name);
  }
  await node.api.rpc('unloadwallet', ['plain']);
  await node.api.rpc('loadwallet', ['plain']);

  const target = join(root, 'backup');
  expect(await backup(node, target)).toMatchObject({ status: 0 });
  const inBackup = (readdirSync(target, { recursive: true }) as string[]).filter((path) => path.endsWith('wallet.dat'));
  expect(inBackup.toSorted()).toEqual(
    ['wallets/plain/wallet.dat', 'wallets/sub/w5/wallet.dat', `wallets-elsewhere${elsewhere}/wallet.dat`].toSorted(),
  );
  const checked = await runCommand(['verify', '--backup', target, '--json']);
  expect(JSON.parse(checked.stdout)).toMatchObject({ stores: { wallets: 3 }, total: 0 });
  await node.stop();

  // The other data directory has the same settings; no wallet of the original one is replaced.
  const other = tempDir('wallet-paths-restored');
  const refused = await restore(target, other, ...flags);
  expect(refused).toMatchObject({ status: 1 });
  expect(refused.stderr).toContain(`${join(directory, 'plain/wallet.dat')} already exists`);
  rmSync(directory, { recursive: true });
  rmSync(dirname(elsewhere), { recursive: true });
  mkdirSync(directory);
  const restored = await restore(target, other, ...flags);
  expect(restored).toMatchObject({ status: 0 });
  const waiting = join(other, 'regtest', `wallets-elsewhere${elsewhere}`, 'wallet.dat');
  expect(restored.stdout).toContain(`move ${waiting} to ${elsewhere}/wallet.dat before the start`);
  mkdirSync(elsewhere, { recursive: true });
  renameSync(waiting, join(elsewhere, 'wallet.dat'));
  node = await startNode({ datadir: other, args });
  expect((await node.api.rpc<string[]>('listwallets')).toSorted()).toEqual(names.toSorted());
  await node.stop();

  // A wallet that is gone is known by its path.
  const forget = () => runCommand(['forget-wallet', ...directoryOf(other), ...flags, elsewhere]);
  expect((await forget()).stderr).toContain(`${elsewhere}/wallet.dat exists`);
  rmSync(elsewhere, { recursive: true });
  expect(await forget()).toMatchObject({ status: 0, stdout: `forgotten: ${elsewhere}\n` });
  expect(readFileSync(join(directory, 'startup.json'), 'utf8')).toBe(JSON.stringify(['default', 'plain', 'sub/w5']));
}, 180_000);

test('a directory of the settings that does not exist stops the start', async () => {
  const root = tempDir('wallet-no-directory');
  const file = join(root, 'file');
  writeFileSync(file, '');
  for (const [key, path, problem] of [
    ['pathRoot', join(root, 'none'), 'does not exist'],
    ['directory', file, 'is not a directory'],
  ]) {
    const { status, stderr } = await runProgram(['start', ...directoryOf(root), `--wallet.${key}=${path}`]);
    expect(status).toBe(2);
    expect(stderr).toContain(`obverse: wallet.${key}: ${path} ${problem}`);
  }
  expect(existsSync(join(root, 'none'))).toBe(false);
}, 60_000);
