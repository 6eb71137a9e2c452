import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ChainReads } from '../../src/storage/chain-reads.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { differences, dumpState } from '../lib/chain-state.ts';
import type { Info, Readiness } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  copyDatadir,
  NodeProcess,
  Program,
  runProgram,
  startNode,
  tempDir,
} from '../lib/node-process.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests({ each: true });

const chain = recentChain(600, { payments: 20 });
const file = join(tempDir(), 'blocks.dat');
chain.writeBootstrap(file);

let undisturbed: string;
beforeAll(async () => {
  undisturbed = await directoryWith(chain);
});

const dump = (datadir: string) => dumpState(join(datadir, 'regtest/chain'));

describe('a stop signal', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s during an import stops it between two blocks, and the next import continues',
    async (signal) => {
      const datadir = tempDir();
      const args = ['import', '--network', 'regtest', '--datadir', datadir, file];
      const first = new Program(args);
      // Blocks of today are committed one by one: the database grows with them.
      await first.until(
        'some progress',
        () =>
          existsSync(join(datadir, 'regtest/chain/blocks/blk00000.dat')) &&
          Bun.file(join(datadir, 'regtest/chain/blocks/blk00000.dat')).size > 10_000,
        30_000,
        2,
      );
      const { status, signal: by, ms } = await first.stop(signal);
      expect([status, by]).toEqual([1, null]);
      expect(first.stderr).toContain('obverse: import interrupted; run it again to continue\n');
      const height = Number(/tip at height (\d+)/.exec(first.stdout)![1]);
      expect(height).toBeLessThan(chain.height);
      expect(ms).toBeLessThan(5000);

      const second = await runProgram(args);
      expect(second).toMatchObject({ status: 0 });
      // Every block that the first run reported is there.
      expect(second.stdout).toStartWith(`${chain.height - height} blocks connected, ${height + 1} known before; `);
      expect(second.stdout).toEndWith(`tip at height ${chain.height}, ${tipHash(chain)}\n`);
      expect(differences(dump(datadir), dump(undisturbed))).toEqual([]);
    },
  );

  test('SIGTERM ends start --import', async () => {
    const datadir = tempDir();
    const node = await startNode({ datadir, args: ['--import', file] });
    const reached = await node.height(20);
    const socket = await node.api.socket();
    const { status, ms } = await node.stop('SIGTERM');
    expect(status).toBe(0);
    expect(ms).toBeLessThan(5000);
    expect(await socket.closed).toMatchObject({ code: 1001 });

    const again = await startNode({ datadir, args: ['--import', file] });
    expect((await again.api.json<Info>('/api/info')).height).toBeGreaterThanOrEqual(reached);
    await again.height(chain.height);
    await again.until('readiness', async () => (await again.api.request<Readiness>('/readyz')).body.status === 'ok');
    await again.stop();
    expect(differences(dump(datadir), dump(undisturbed))).toEqual([]);
  });

  test('SIGTERM right after the start ends the node', async () => {
    const datadir = copyDatadir(undisturbed);
    // From before the program has set up anything to after it is ready.
    for (const after of ['spawn', 'lock', 'ready'] as const) {
      const node = new NodeProcess({ datadir });
      if (after === 'lock') await node.until('the lock', () => existsSync(join(datadir, 'regtest/auth.db')), 20_000, 1);
      if (after === 'ready') await node.ready();
      const { status, signal, ms } = await node.stop('SIGTERM');
      // Before the handler stands, the signal itself ends it.
      if (after === 'ready') expect(status).toBe(0);
      else expect(status === 0 || signal === 'SIGTERM').toBe(true);
      expect(ms).toBeLessThan(5000);
    }
    const node = await startNode({ datadir });
    expect(await node.api.json<Info>('/api/info')).toMatchObject({
      height: chain.height,
      bestBlockHash: tipHash(chain),
    });
    await node.stop();
  });

  test('two SIGTERMs end the node within little more than five seconds', async () => {
    const node = await startNode({ args: ['--import', file] });
    node.kill('SIGTERM');
    const { ms } = await node.stop('SIGTERM');
    expect(ms).toBeLessThan(7000);
  });
});

test('a node stops by itself at the height of chain.stopAtHeight, at each start', async () => {
  const datadir = tempDir();
  const args = [
    'start',
    '--network=regtest',
    `--datadir=${datadir}`,
    '--http.listen=127.0.0.1:0',
    '--p2p.enabled=false',
  ];
  const heightOf = () => {
    const reads = new ChainReads(join(datadir, 'regtest/chain'));
    try {
      return reads.tip().height;
    } finally {
      reads.close();
    }
  };
  for (const more of [[`--import=${file}`], []]) {
    const { status, stderr } = await runProgram([...args, '--chain.stopAtHeight=100', ...more]);
    expect(status).toBe(0);
    expect(stderr).toContain('the node stops, since the chain has the height of chain.stopAtHeight');
    expect(heightOf()).toBe(100);
  }
});
