import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backup, figuresOf, fillNode, type OwnData, restore } from '../lib/backup-commands.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, tempDir, WITH_WALLET } from '../lib/node-process.ts';

const isRoot = process.getuid?.() === 0;
const ARGS = [WITH_WALLET, '--wallet.autocreate=true', '--webhooks.allowedNetworks=127.0.0.0/8'];
/** Two disks: a small one for backups, and a larger one that a node shares with its backups. */
const disks = [tempDir('small-disk'), tempDir('shared-disk')] as const;
const [small, shared] = disks;

function mount(disk: string, size: string, ...more: string[]): boolean {
  const options = ['-o', [...more, `size=${size}`].join(',')];
  return isRoot && Bun.spawnSync(['mount', '-t', 'tmpfs', ...options, 'tmpfs', disk], { stderr: 'ignore' }).success;
}

const mounted = mount(small, '200k') && mount(shared, '64m');
if (!mounted) console.warn('small disks cannot be mounted: the tests of backups on full disks are skipped');
afterAll(() => {
  for (const disk of disks) Bun.spawnSync(['umount', '-l', disk], { stderr: 'ignore' });
});
cleanUpAfterTests();

let node: NodeProcess;
let data: OwnData;

/** The node answers, mines and sends. */
async function expectUnharmed(): Promise<void> {
  const { api } = node;
  const height = await api.rpc<number>('getblockcount');
  await api.rpc('sendtoaddress', [data.address, 0.1]);
  await api.rpc('generatetoaddress', [1, data.address]);
  expect(await api.rpc<number>('getblockcount')).toBe(height + 1);
}

beforeAll(async () => {
  if (!mounted) return;
  node = await startNode({ datadir: shared, args: [...ARGS, '--ready.disk.degraded=20', '--ready.disk.fail=16'] });
  data = await fillNode(node);
});

test.skipIf(!mounted)('a full disk ends a backup with one sentence, and the same command continues it', async () => {
  const target = join(small, 'backup');
  const { status, stderr } = await backup(node, target, '--chain');
  expect([status, stderr]).toEqual([
    1,
    `obverse: the backup ${target} stopped: no space left on the device; run the same command again to continue it\n`,
  ]);
  expect(existsSync(target)).toBe(false);
  await expectUnharmed();
  const figures = await figuresOf(node, data);
  expect(Bun.spawnSync(['mount', '-o', 'remount,size=32m', small]).success).toBe(true);
  expect(await backup(node, target, '--chain')).toMatchObject({ status: 0, stderr: '' });
  const datadir = tempDir('restored');
  expect(await restore(target, datadir)).toMatchObject({ status: 0 });
  const restored = await startNode({ datadir, args: ARGS });
  expect(await figuresOf(restored, data)).toEqual(figures);
  await restored.stop();
});

test.skipIf(!mounted)('a full disk ends a restore with one sentence, and the same command continues it', async () => {
  const target = join(tempDir('backup'), 'backup');
  expect((await backup(node, target)).status).toBe(0);
  const disk = tempDir('target-disk');
  expect(mount(disk, '100k')).toBe(true);
  try {
    const { status, stderr } = await restore(target, disk);
    expect([status, stderr]).toEqual([
      1,
      `obverse: the restore into ${join(disk, 'regtest')} stopped: no space left on the device; run the same command again to continue it\n`,
    ]);
    expect(Bun.spawnSync(['mount', '-o', 'remount,size=32m', disk]).success).toBe(true);
    expect(await restore(target, disk)).toMatchObject({ status: 0, stderr: '' });
  } finally {
    Bun.spawnSync(['umount', '-l', disk]);
  }
});

test.skipIf(!mounted)('a backup on the disk of the node leaves it the space of ready.disk.fail', async () => {
  const filler = join(shared, 'filler');
  writeFileSync(filler, Buffer.alloc(40 << 20));
  const target = join(shared, 'backup');
  const { status, stderr } = await backup(node, target, '--chain');
  expect(status).toBe(1);
  expect(stderr).toMatch(
    /^obverse: the backup \S+ stopped: \d+ MiB are free, and the node needs 16 MiB \(ready\.disk\.fail\) of the same file system: free some space and run the same command again, or name a directory on another disk\n$/,
  );
  await expectUnharmed();
  rmSync(filler);
  expect(await backup(node, target, '--chain')).toMatchObject({ status: 0, stderr: '' });
});
