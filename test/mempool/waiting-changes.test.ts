import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signatureEngine } from '../../src/crypto/secp256k1.ts';
import { type MempoolChange, withChanges } from '../../src/mempool/changes.ts';
import { MempoolService } from '../../src/mempool/service.ts';
import { NONE_GIVEN } from '../../src/storage/event-mark.ts';
import { FeeStore } from '../../src/storage/fee-store.ts';
import { MempoolStore } from '../../src/storage/mempool-store.ts';
import { openNodeDatabase } from '../../src/storage/node-database.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { silentLog, TestNode } from '../lib/chain-fixture.ts';
import { DEFAULT_RELAY_OPTIONS } from '../lib/default-options.ts';
import { parsed } from '../lib/mempool-fixture.ts';
import { sweep } from '../lib/tx-builder.ts';

test('the numbers of removals by a block are known before its commit', async () => {
  const chain = chainWithCoins(2, 'p2wpkh');
  const tx = sweep(chain.coin(1), 'p2wpkh', 1000n);
  await using node = new TestNode({ params: chain.params });
  await node.take(chain.blocks.slice(1));
  const dir = mkdtempSync(join(tmpdir(), 'waiting-changes-'));
  const db = openNodeDatabase(join(dir, 'node.db'), { network: 'regtest', genesisHash: '00'.repeat(32) });
  const service = new MempoolService(DEFAULT_RELAY_OPTIONS, {
    chain: node.chain,
    engine: signatureEngine(),
    store: new MempoolStore(db),
    fees: new FeeStore(db),
    anyTip: true,
    clock: node.clock,
    log: silentLog,
    emit: () => {},
  });
  try {
    let atFollow = NONE_GIVEN;
    let committed: readonly MempoolChange[] = [];
    node.chain.setFollower({
      follow(move) {
        service.follow(move);
        atFollow = withChanges(NONE_GIVEN, service.waitingChanges);
      },
      has: (txid) => service.has(txid),
      onCommitted() {
        committed = service.committed();
      },
    });
    expect((await service.relay.acceptTransaction(parsed(tx)))?.status).toBe('accepted');
    chain.mine(1, { txs: [tx] });
    await node.take(chain.blocks.slice(-1));
    const removal = committed.find(({ kind }) => kind === 'removed');
    expect(removal).toMatchObject({ reason: 'block' });
    expect(atFollow.highest).toBe((removal as { seq: number }).seq);
    expect(service.waitingChanges).toEqual([]);
  } finally {
    service.close();
    db.close();
    rmSync(dir, { recursive: true, force: true });
  }
});
