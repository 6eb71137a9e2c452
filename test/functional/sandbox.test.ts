import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BlockBody, Info, Readiness, TxBody } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, runProgram, startNode, tempDir } from '../lib/node-process.ts';
import { requireProgram } from '../lib/programs.ts';

cleanUpAfterTests();

const SEED_BLOCKS = 110;
const datadir = tempDir();
const keyFile = join(datadir, 'regtest/initial.key');
const start = () => startNode({ datadir, testKey: false, args: ['--dev', '--dev.interval=1'] });

/** The lines of `Try:` as they were printed. */
const printedCommands = ({ stdout }: NodeProcess) =>
  stdout
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('curl '));

/** Runs a printed line in a shell, as a user who pastes it would. */
async function paste(line: string, env: Record<string, string> = {}): Promise<Record<string, unknown>> {
  const child = Bun.spawn(['sh', '-c', line], { stdout: 'pipe', stderr: 'ignore', env: { ...process.env, ...env } });
  const text = await new Response(child.stdout).text();
  expect(await child.exited).toBe(0);
  return JSON.parse(text) as Record<string, unknown>;
}

/** Every line brings what it is printed for, and no error. */
async function allWork(commands: readonly string[]): Promise<void> {
  const answers = await Promise.all(commands.map((line) => paste(line)));
  for (const answer of answers) expect(answer).not.toHaveProperty('error');
  expect(answers).toContainEqual(expect.objectContaining({ height: 1, inActiveChain: true }));
  expect(answers).toContainEqual(
    expect.objectContaining({ jsonrpc: '2.0', id: 1, result: expect.objectContaining({ chain: 'regtest' }) }),
  );
  // A list that is shown as an example has something in it.
  for (const { items } of answers as { items?: unknown[] }[]) expect(items?.length).not.toBe(0);
}

describe('the sandbox', () => {
  let first: NodeProcess;
  beforeAll(async () => {
    first = await start();
    await first.output('stdout', /Documentation: .*\n/);
  });

  test('prints a key once, with lines that work', async () => {
    const key = /^ {4}(obv1_\S+)$/m.exec(first.stdout)?.[1];
    expect(key).toBe(readFileSync(keyFile, 'utf8').trim());
    expect(first.stdout).toContain(keyFile);
    expect(first.stdout).toContain(first.api.url);
    const commands = printedCommands(first);
    expect(commands.length).toBeGreaterThanOrEqual(3);
    requireProgram('curl');
    await first.height(SEED_BLOCKS);
    expect(await paste(commands[0]!)).toMatchObject({ network: 'regtest', service: 'obverse' });
    await allWork(commands);
  });

  test('mines 110 blocks and is ready', async () => {
    await first.height(SEED_BLOCKS, 20_000);
    await first.until('readiness', async () => (await first.api.request<Readiness>('/readyz')).status === 200);
    expect(await first.api.json<Readiness>('/readyz')).toMatchObject({
      status: 'ok',
      checks: { chain: { status: 'ok' } },
    });
    expect(await first.api.json<Info>('/api/info')).toMatchObject({ synced: true, initialBlockDownload: false });
    const { headers } = await first.api.request('/api/block-by-height/1');
    expect(headers.get('x-node-syncing')).toBeNull();
  });

  test('continues with blocks that hold payments, and delivers their events', async () => {
    const socket = await first.api.socket();
    const blocks = () => socket.of('newBlock').map(({ data }) => data);
    await socket.until('three blocks', () => blocks().length >= 3, 30_000);
    for (const [index, block] of blocks().entries()) {
      expect(block).toMatchObject({ confirmations: 1, reorg: false, initialSync: false });
      expect(block.height as number).toBeGreaterThan(SEED_BLOCKS);
      // The block of the event can be read.
      const body = await first.api.json<BlockBody>(`/api/block/${block.hash}`);
      expect(body).toMatchObject({
        height: block.height as number,
        txCount: block.txCount as number,
        inActiveChain: true,
      });
      const before = blocks()[index - 1];
      if (before) expect([block.previousHash, block.height]).toEqual([before.hash, (before.height as number) + 1]);
    }
    const { height } = await first.api.json<Info>('/api/info');
    const bodies = await Promise.all(
      Array.from({ length: height - SEED_BLOCKS }, (_, i) =>
        first.api.json<BlockBody>(`/api/block-by-height/${SEED_BLOCKS + 1 + i}`),
      ),
    );
    const payments = bodies.flatMap(({ txids }) => txids.slice(1));
    expect(payments.length).toBeGreaterThan(0);
    for (const txid of payments.slice(0, 5)) {
      const tx = await first.api.json<TxBody>(`/api/tx/${txid}`);
      expect(tx.fee).toBeGreaterThan(0);
      expect(tx.valueIn - tx.valueOut).toBe(tx.fee!);
    }
    socket.close();
  });

  test('stops at once on Ctrl-C, continues where it was, and keeps the key to itself', async () => {
    const socket = await first.api.socket();
    const key = readFileSync(keyFile, 'utf8');
    const { height, bestBlockHash } = await first.api.json<Info>('/api/info');
    const { status, ms } = await first.stop('SIGINT');
    console.info(`the sandbox stopped in ${ms.toFixed(0)} ms`);
    expect(status).toBe(0);
    expect(ms).toBeLessThan(3000);
    expect(await socket.closed).toMatchObject({ code: 1001 });
    expect(existsSync(join(datadir, 'regtest/.cookie'))).toBe(false);

    const second = await start();
    await second.output('stdout', /Documentation: .*\n/);
    expect(second.stdout + second.stderr).not.toContain(key.trim());
    expect(readFileSync(keyFile, 'utf8')).toBe(key);
    const info = await second.api.json<Info>('/api/info');
    expect(info.height).toBeGreaterThanOrEqual(height);
    expect(await second.api.json<BlockBody>(`/api/block/${bestBlockHash}`)).toMatchObject({
      height,
      inActiveChain: true,
    });
    await second.height(info.height + 1);
    await second.until('readiness', async () => (await second.api.request<Readiness>('/readyz')).status === 200);
    // The printed line that reads the key from its file, and those that use it.
    const setKey = /^ {4}(KEY=\$\(cat .*\))$/m.exec(second.stdout)![1]!;
    const commands = printedCommands(second);
    expect(commands).toHaveLength(printedCommands(first).length);
    await allWork(commands.map((line) => `${setKey}; ${line}`));
    await second.stop('SIGINT');
  });
});

test('developer mode is refused outside of regtest', async () => {
  const { status, stderr } = await runProgram(['start', '--dev', '--network', 'signet', '--datadir', tempDir()], {
    timeoutMs: 20_000,
  });
  expect(status).toBe(2);
  expect(stderr).toContain('dev');
});
