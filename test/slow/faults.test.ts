import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, startNode, tempDir } from '../lib/node-process.ts';
import { MINER } from '../proof/faults/load.ts';
import { SmallDisk } from '../proof/faults/small-disk.ts';
import { faults } from '../proof/faults.ts';

setDefaultTimeout(120_000);

// Both tests need root and loop devices, and fail without them.
const disk = SmallDisk.create(tempDir('small-disk'));
afterAll(() => disk.close());
// It follows the unmounting, since a mounted directory cannot be removed.
cleanUpAfterTests();

test('a full disk is left without a restart: the process serves reads and opens its databases again', async () => {
  const node = await startNode({ datadir: join(disk.directory, 'node') });
  const mine = () => node.api.rpc<string[]>('generatetoaddress', [1, MINER]);
  const descriptors = () => readdirSync(`/proc/${node.pid}/fd`).length;
  const [first] = await mine();
  const linesWith = (text: string) => node.stderr.split(text).length - 1;
  let before = 0;
  for (const time of [1, 2]) {
    disk.fill();
    let refusal = '';
    await node.until('a block that finds no space', async () => {
      await mine().catch(({ message }: Error) => (refusal = message));
      return linesWith('the disk is full: blocks are processed again when there is space') === time;
    });
    expect(refusal).toContain('ProcessNewBlock, block not accepted: no space left on the device');
    expect(await node.api.rpc('getblockheader', [first])).toMatchObject({ height: 1 });
    disk.free();
    await node.until('a block that is accepted', () => mine().catch(() => null));
    // A later start opens more files than the first.
    before ||= descriptors();
  }
  expect(linesWith('the node starts again within its process')).toBe(2);
  // The threads of the earlier runs have left the table of the watchdog, which would find that they hang.
  const { text } = await node.api.request('/metrics');
  expect(text).toMatch(/thread_idle_seconds\{thread="verify-1"\}/);
  expect(text).not.toMatch(/thread_idle_seconds\{thread="verify-2"\}/);
  await node.until('as many descriptors as before', () => descriptors() < before + 8);
  await node.stop();
});

test('a node under load loses nothing that it acknowledged to six faults of the host', async () => {
  const { violations, figures } = await faults.run(6, 3, new AbortController().signal);
  expect(violations).toEqual([]);
  const found = new Map(figures);
  expect(found.get('acknowledged blocks')).toBeGreaterThan(6);
  expect(found.get('acknowledged withdrawals')).toBeGreaterThan(0);
});
