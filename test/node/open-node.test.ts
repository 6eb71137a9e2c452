import { expect, spyOn, test } from 'bun:test';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { Node } from '../../src/node/node.ts';
import { EventMark } from '../../src/storage/event-mark.ts';
import { threads } from '../../src/util/worker.ts';
import { silentLog } from '../lib/chain-fixture.ts';
import { cleanUpAfterTests, poll, tempDir } from '../lib/node-process.ts';

cleanUpAfterTests();

test('a node that cannot open its wallets is closed before the error is reported, and leaves no thread', async () => {
  const datadir = tempDir('open-node');
  const args = ['--network', 'regtest', '--datadir', datadir, '--p2p.enabled=false', '--workers.verify=1'];
  const { config } = loadConfig(args);
  const wallets = join(config.networkDir, 'wallets');
  mkdirSync(config.networkDir, { recursive: true });
  writeFileSync(wallets, 'this is no folder');
  const ended = spyOn(EventMark.prototype, 'end');
  await expect(Node.open(config, { log: silentLog })).rejects.toThrow();
  // The last step before the database is closed.
  expect(ended).toHaveBeenCalledTimes(1);
  ended.mockRestore();
  await poll('the end of the threads', () => threads.views().length === 0);
  rmSync(wallets);
  const node = await Node.open(config, { log: silentLog });
  await node.close();
});
