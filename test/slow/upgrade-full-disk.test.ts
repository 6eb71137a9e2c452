import { Database } from 'bun:sqlite';
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { cpSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, runProgram, tempDir } from '../lib/node-process.ts';
import { startUpgraded, untilSettled } from '../lib/upgrade-answers.ts';
import { extractUpgradeFixture } from '../lib/upgrade-fixtures.ts';

setDefaultTimeout(300_000);

const disk = tempDir();
const mounted =
  process.getuid?.() === 0 &&
  Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk], { stderr: 'ignore' }).success;
if (!mounted) console.warn('a small disk cannot be mounted: the test of a conversion on a full disk is skipped');
afterAll(() => {
  if (mounted) Bun.spawnSync(['umount', '-l', disk]);
});

// It follows the unmounting, since a mounted directory cannot be removed.
cleanUpAfterTests();

const FIXTURE = '417c60a-stopped';
const LEFT = 100_000;

test.skipIf(!mounted)('a conversion begins only with enough space, and until then changes nothing', async () => {
  const datadir = join(disk, 'data');
  cpSync(extractUpgradeFixture(FIXTURE), datadir, { recursive: true });
  const { bavail, bsize } = statfsSync(disk);
  const filler = join(disk, 'filler');
  writeFileSync(filler, new Uint8Array(bavail * bsize - LEFT));
  const args = ['start', '--network', 'regtest', '--datadir', datadir, '--http.listen', '127.0.0.1:0'];
  const { status, stderr } = await runProgram([...args, '--p2p.enabled=false'], { timeoutMs: 60_000 });
  expect(status).toBe(1);
  expect(stderr).toContain('its conversion needs 1 MiB of disk space, of which 0 MiB are free: free some space');
  const db = new Database(join(datadir, 'regtest/chain/chain.db'), { readonly: true });
  expect(db.query("SELECT value FROM meta WHERE key = 'schema'").get()).toEqual({ value: 1 });
  db.close();

  rmSync(filler);
  const node = await startUpgraded(undefined, datadir);
  await untilSettled(node.api);
  expect((await node.stop()).status).toBe(0);
});
