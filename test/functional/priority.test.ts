import { expect, test } from 'bun:test';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, importFiles, type NodeProcess, startNode, tempDir } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const onLinux = process.platform === 'linux';

/** Nice values of the threads of a process above that of the main thread, ascending. */
function niceValues({ pid }: NodeProcess): number[] {
  const niceOf = (thread: number | string) =>
    // The name before the nice value may contain spaces.
    Number(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[16]);
  const own = niceOf(pid);
  return readdirSync(`/proc/${pid}/task`)
    .map((thread) => niceOf(thread) - own)
    .filter((nice) => nice > 0)
    .sort((a, b) => a - b);
}

test.skipIf(!onLinux)('the node thread yields to replies from the first request of a client on', async () => {
  const node = await startNode();
  expect((await node.api.json<{ status: string }>('/healthz')).status).toBe('ok');
  expect((await node.api.request('/metrics')).status).toBe(200);
  expect((await node.api.request('/readyz')).status).toBeGreaterThanOrEqual(200);
  expect(niceValues(node)).toEqual([]);

  await node.api.json('/api/info');
  await node.until('the priority of the node thread is lower', () => niceValues(node).includes(10));
  await node.stop();
});

test.skipIf(!onLinux)('a node that is in sync yields from the start on', async () => {
  const datadir = tempDir();
  const file = join(datadir, 'blocks.dat');
  recentChain(3).writeBootstrap(file);
  expect((await importFiles('regtest', datadir, [file])).status).toBe(0);
  const node = await startNode({ datadir });
  expect(niceValues(node)).toContain(10);
  await node.stop();
});
