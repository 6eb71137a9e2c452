import { describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { rpcError } from '../lib/peer-node.ts';
import { PAID, wideChain } from '../lib/wide-blocks.ts';

cleanUpAfterTests({ each: true });

const TIP = 560;
const PRUNE = ['--storage.prune=1', '--storage.fastPrune'];
/** That of `storage.fastPrune`. */
const FILE_LIMIT = 64 * 1024;
/** Recent, so that the blocks are not older than the wallets. */
const SPACING = 5;
const chain = wideChain(TIP, { startTime: Math.floor(Date.now() / 1000) - TIP * SPACING, spacing: SPACING });
const hashAt = (height: number) => hashToHex(chain.at(height).hash);

async function submitAll({ api }: NodeProcess): Promise<void> {
  for (const { raw } of chain.blocks.slice(1))
    await api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'submitblock', params: [raw.toHex()] });
}

test('replies made while files are removed are whole or 410, never another error', async () => {
  const datadir = await directoryWith(chain, { fileLimit: FILE_LIMIT });
  const node = await startNode({ datadir, args: ['--wallet.enabled=false', ...PRUNE] });
  const counts = new Map<number, number>();
  let pruning = true;
  const client = async (seed: number) => {
    for (let n = seed; pruning; n++) {
      const height = 1 + ((n * 37) % 300);
      // Some replies are made on the main thread, others by the reader workers.
      const path = ['/raw', '/txs', '', '/hex'][n % 4]!;
      const { status, text } = await node.api.request(`/api/block/${hashAt(height)}${path}`);
      if (status !== 200 && status !== 410) throw new Error(`${path} of height ${height}: ${status} ${text}`);
      counts.set(status, (counts.get(status) ?? 0) + 1);
    }
  };
  const clients = [1, 1000, 2000, 3000, 4000, 5000].map(client);
  for (let height = 110; height <= 280; height += 10) {
    // Replies are made between two removals, too.
    const before = counts.get(200)!;
    await node.until('replies', () => (counts.get(200) ?? 0) > (before ?? 0) + 20);
    await node.api.rpc('pruneblockchain', [height]);
  }
  pruning = false;
  await Promise.all(clients);
  expect(counts.get(200)).toBeGreaterThan(100);
  expect(counts.get(410)).toBeGreaterThan(20);
  const info = await node.api.json<{ pruneHeight: number }>('/api/info');
  expect(info.pruneHeight).toBeGreaterThan(150);
});

describe('wallets of a pruned node', () => {
  const RESCAN = "Can't rescan beyond pruned data. Use RPC call getblockchaininfo to determine your pruned height.";

  test("have Core's errors where they need pruned blocks", async () => {
    const node = await startNode({ args: ['--wallet.autocreate=false', ...PRUNE] });
    const { api } = node;
    await api.rpc('createwallet', ['left']);
    await api.rpc('unloadwallet', ['left']);
    await api.rpc('createwallet', ['watch', true, true]);
    await submitAll(node);
    const last = await api.rpc<number>('pruneblockchain', [TIP]);
    expect(last).toBeGreaterThan(200);
    expect(await rpcError(node, 'loadwallet', ['left'])).toEqual({
      code: -4,
      message:
        'Wallet loading failed. Prune: last wallet synchronisation goes beyond pruned data. You need to -reindex (download the whole blockchain again in case of a pruned node)',
    });
    expect(await rpcError(node, 'rescanblockchain')).toEqual({ code: -1, message: RESCAN });
    expect(await rpcError(node, 'rescanblockchain', [last])).toEqual({ code: -1, message: RESCAN });
    expect(await api.rpc('rescanblockchain', [last + 1])).toEqual({ start_height: last + 1, stop_height: TIP });
    const { descriptor } = await api.rpc<{ descriptor: string }>('getdescriptorinfo', [
      `raw(${PAID.scriptPubKey.toHex()})`,
    ]);
    const time = chain.at(last).time;
    const message =
      `Rescan failed for descriptor with timestamp 0. There was an error reading a block from time ${time}, which is ` +
      'after or within 7200 seconds of key creation, and could contain transactions pertaining to the desc. As a result, ' +
      'transactions and coins using this desc may not appear in the wallet. This error could be caused by pruning or data ' +
      'corruption (see bitcoind log for details) and could be dealt with by downloading and rescanning the relevant ' +
      'blocks (see -reindex option and rescanblockchain RPC).';
    expect(await api.rpc('importdescriptors', [[{ desc: descriptor, timestamp: 0 }]])).toEqual([
      { success: false, error: { code: -1, message } },
    ]);
    // The payments in the blocks that are stored are found.
    const { txcount } = await api.rpc<{ txcount: number }>('getwalletinfo');
    expect(txcount).toBe(TIP - last);
    const late = [{ desc: descriptor, timestamp: time + 7201 }];
    expect(await api.rpc('importdescriptors', [late])).toMatchObject([{ success: true }]);
  });
});
