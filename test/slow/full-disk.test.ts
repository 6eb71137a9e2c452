import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { appendFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, MIXED_FILE, runProgram, startNode, tempDir } from '../lib/node-process.ts';
import { hasVectors } from '../lib/vectors.ts';

setDefaultTimeout(600_000);

const MUHASH = 'a8d43fc202db8887ac8b1a741bc158c4222bc394ce8cff05bbf3a6fb63b87554';

const isRoot = process.getuid?.() === 0;
const disk = tempDir();
const mounted =
  isRoot && Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk], { stderr: 'ignore' }).success;
if (!mounted) console.warn('a small disk cannot be mounted: the test of a full disk is skipped');
afterAll(() => {
  if (mounted) Bun.spawnSync(['umount', '-l', disk]);
});

// It follows the unmounting, since a mounted directory cannot be removed.
cleanUpAfterTests();

/** Returns the only line of the error output, which must not show a stack. */
function onlyComplaint(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.startsWith('obverse:'));
  expect(stderr).not.toMatch(/^\s+at /m);
  expect(lines).toHaveLength(1);
  return lines[0]!;
}

const place = ['--network', 'regtest', '--datadir', disk];

test.skipIf(!mounted || !hasVectors)('a full disk ends an import with one line', async () => {
  const { status, stderr } = await runProgram(['import', ...place, MIXED_FILE]);
  expect(status).toBe(1);
  expect(onlyComplaint(stderr)).toContain('no space left on the device');
});

test.skipIf(!mounted)('a start without room for its lock ends with one line', async () => {
  const filler = join(disk, 'filler');
  try {
    for (;;) appendFileSync(filler, new Uint8Array(4096));
  } catch {
    // The disk is full.
  }
  const { status, stderr } = await runProgram(['start', ...place, '--http.listen', '127.0.0.1:0']);
  unlinkSync(filler);
  expect(status).toBe(1);
  expect(onlyComplaint(stderr)).toContain('no space left on the device');
});

test.skipIf(!mounted || !hasVectors)('a full disk ends a node that imports', async () => {
  const args = ['start', ...place, '--http.listen', '127.0.0.1:0', '--import', MIXED_FILE];
  const { status, stderr } = await runProgram(args, { timeoutMs: 60_000 });
  expect(status).toBe(1);
  expect(onlyComplaint(stderr)).toContain('no space left on the device');
});

test.skipIf(!mounted || !hasVectors)('with more room the node continues from the committed blocks', async () => {
  expect(Bun.spawnSync(['mount', '-o', 'remount,size=64m', disk]).success).toBe(true);
  const result = await runProgram(['import', ...place, MIXED_FILE]);
  expect(result).toMatchObject({ status: 0 });
  expect(result.stdout).toContain(
    'tip at height 160, 395aca57cd18ec91737f277e9582545256d9e61c644b387372ba6f41c18d8067',
  );
  const node = await startNode({ datadir: disk });
  expect(await node.api.rpc<object>('gettxoutsetinfo', ['muhash'])).toMatchObject({ muhash: MUHASH });
  await node.stop();
});
