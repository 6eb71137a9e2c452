import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { Node } from '../../src/node/node.ts';
import { VerifyPool } from '../../src/node/verify/verify-pool.ts';
import { type Transaction, transactionBytes, txidOf, wtxidOf } from '../../src/primitives/transaction.ts';
import { createLog } from '../../src/util/log.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { spend, withBadSignature } from '../lib/tx-builder.ts';

/** Consensus flags of a block: P2SH, DERSIG, CLTV, CSV, WITNESS, NULLDUMMY and TAPROOT. */
const BLOCK_FLAGS = (1 << 0) | (1 << 2) | (1 << 4) | (1 << 9) | (1 << 10) | (1 << 11) | (1 << 17);

describe('scripts of a block whose transactions the mempool has verified', () => {
  const dir = mkdtempSync(join(tmpdir(), 'obverse-test-'));
  const { config } = loadConfig([
    ...['--network', 'regtest', '--datadir', dir],
    ...['--p2p.enabled=false', '--wallet.enabled=false', '--workers.verify=1'],
  ]);
  let node: Node;
  const chain = chainWithCoins(4, 'p2wpkh');
  const pay = (coin: number) => spend(chain.coin(coin), [{ to: 'p2wpkh', value: 49_0000_0000n }]);
  const sent = spyOn(VerifyPool.prototype, 'sendBatch');

  beforeAll(async () => {
    const log = createLog({ level: 'error', format: 'text', write: (bytes) => bytes.length });
    node = await Node.open(config, { log });
    for (const { raw } of chain.blocks.slice(1)) await node.chain.submitBlock(raw);
    await node.loadMempool(new AbortController().signal);
  });
  afterAll(async () => {
    sent.mockRestore();
    await node.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const broadcast = async (tx: Transaction) => {
    const { status } = await node.mempool.submissions.broadcast(transactionBytes(tx), { maxFeerate: null, maxBurn: 0 });
    expect(status).toBe('accepted');
  };
  const knows = (tx: Transaction, flags = BLOCK_FLAGS) => node.mempool.hasChecked(wtxidOf(tx), flags);

  test('are not verified again', async () => {
    const [tx, unseen] = [pay(1), pay(2)];
    expect(knows(tx)).toBe(false);
    await broadcast(tx);
    expect(knows(tx)).toBe(true);
    sent.mockClear();
    expect((await node.chain.submitBlock(chain.mine(1, { txs: [tx] }).raw)).status).toBe('accepted');
    expect(sent).toHaveBeenCalledTimes(0);
    expect((await node.chain.submitBlock(chain.mine(1, { txs: [unseen] }).raw)).status).toBe('accepted');
    expect(sent).toHaveBeenCalledTimes(1);
    // The transaction left the mempool with the block.
    expect(knows(tx)).toBe(false);
  });

  test('are verified again with another witness, or under a rule that the mempool does not apply', async () => {
    const tx = pay(3);
    await broadcast(tx);
    const spoilt = withBadSignature(tx);
    expect([txidOf(spoilt), knows(spoilt)]).toEqual([txidOf(tx), false]);
    expect(knows(tx, BLOCK_FLAGS | (1 << 30))).toBe(false);
    const outcome = await node.chain.submitBlock(chain.build({ txs: [spoilt] }).raw);
    expect(outcome.status === 'rejected' && outcome.rejection.reason).toStartWith('block-script-verify-flag-failed');
    expect(knows(tx)).toBe(true);
    expect((await node.chain.submitBlock(chain.mine(1, { txs: [tx] }).raw)).status).toBe('accepted');
  });

  test('report a failure with the index of the transaction when others were known', async () => {
    const known = pay(4);
    await broadcast(known);
    const made = spend(chain.coin(5), [{ to: 'p2wpkh', value: 49_0000_0000n }]);
    const bad = withBadSignature(made);
    const outcome = await node.chain.submitBlock(chain.build({ txs: [known, bad] }).raw);
    expect(outcome.status === 'rejected' && outcome.rejection.debug).toStartWith(
      `input 0 of ${txidOf(made).toReversed().toHex()} `,
    );
  });
});
