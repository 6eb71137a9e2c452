import { expect, test } from 'bun:test';
import { readdirSync } from 'node:fs';
import { ConnectionFlood, type FloodTarget } from '../lib/connection-flood.ts';
import { cleanUpAfterTests, freePort, type NodeProcess, runProgram, startNode, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

const ADDRESS = 'bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080';
const RECOVERY_MS = 10_000;

/** The program under a limit of open files, as the shell's `ulimit -n` sets it. */
const limited = (files: number) => ['sh', '-c', `ulimit -n ${files} && exec "$@"`, 'sh'];

/** A client with a key is answered within a bounded time, and the node validates and writes a block for it. */
async function serves(node: NodeProcess): Promise<void> {
  const before = await node.until('an answer', () => node.api.rpc<number>('getblockcount'), RECOVERY_MS);
  await node.until('a block', () => node.api.rpc<string[]>('generatetoaddress', [1, ADDRESS]), RECOVERY_MS);
  const after = await node.until('an answer', () => node.api.rpc<number>('getblockcount'), RECOVERY_MS);
  expect(after).toBeGreaterThan(before);
}

test('connections that use up the descriptors never end the node', async () => {
  const [p2p, ops] = await Promise.all([freePort(), freePort()]);
  const args = [`--p2p.listen=127.0.0.1:${p2p}`, '--p2p.dnsSeeds=false', `--ops.listen=127.0.0.1:${ops}`];
  const node = await startNode({ prefix: limited(400), args });
  const http = Number(new URL(node.api.url).port);
  await serves(node);
  const waves: Record<string, FloodTarget> = {
    'keep-alive': { port: http, text: 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n' },
    silent: { port: http },
    'half a header': { port: http, text: 'GET /healthz HTTP/1.1\r\nhost: loc' },
    peers: { port: p2p },
    ops: { port: ops, text: 'GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n' },
  };
  for (const [name, target] of Object.entries(waves)) {
    const flood = await ConnectionFlood.start({ ...target, persistent: true }, 500);
    // The node serves during the flood, for longer than the timers of both threads need to find no free descriptor.
    const until = performance.now() + 1200;
    do await serves(node);
    while (performance.now() < until);
    if (node.exit) throw new Error(`${name}: ${node.describe()}`);
    flood.stop();
    await serves(node);
    await node.until('room again', () => readdirSync(`/proc/${node.pid}/fd`).length < 150);
  }
  await node.stop();
});

test('a limit of open files that is too low for a node stops the start with one line', async () => {
  const args = ['start', '--network', 'regtest', '--datadir', tempDir(), '--http.listen=127.0.0.1:0'];
  const { status, stderr } = await runProgram(args, { prefix: limited(200) });
  expect(status).toBe(1);
  expect(stderr.trim()).toBe(
    'obverse: the limit of open files is 200, and the node needs at least 256: raise it (ulimit -n, or LimitNOFILE= of the service)',
  );
});
