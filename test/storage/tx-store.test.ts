import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openWriter } from '../../src/storage/chain-database.ts';
import { RunBatch } from '../../src/storage/runs/run-batch.ts';
import { TX_INDEX } from '../../src/storage/runs/run-family.ts';
import { indexTx, TxStore, TxWriter } from '../../src/storage/tx-store.ts';
import { MemoryRuns } from '../lib/run-entries.ts';

/** Txids of which several share the first six bytes, which the index holds. */
function txidOf(n: number): Uint8Array {
  const txid = new Uint8Array(32).fill(0xff);
  txid[5] = n % 3;
  txid[31] = n;
  return txid;
}

test('a transaction is found by its txid over several runs, after reorgs and among txids with equal prefixes', () => {
  const block = fc.array(fc.nat(8), { minLength: 1, maxLength: 4 });
  const commit = fc.record({ disconnect: fc.nat(3), blocks: fc.array(block, { maxLength: 4 }) });
  fc.assert(
    fc.property(fc.array(commit, { minLength: 1, maxLength: 8, size: 'max' }), (commits) => {
      const dir = mkdtempSync(join(tmpdir(), 'obverse-txs-'));
      const db = openWriter(join(dir, 'chain.db'), { network: 'regtest', genesisHash: '00' }, 1);
      try {
        const runs = new MemoryRuns();
        const store = new TxStore(db, runs);
        const writer = new TxWriter(db);
        const chain: number[][] = [];
        for (const { disconnect, blocks } of commits) {
          const batch = new RunBatch(TX_INDEX);
          for (let i = 0; i < disconnect && chain.length > 0; i++) {
            const height = chain.length - 1;
            for (const { txid, position } of store.ofBlock(height)) indexTx(batch, txid, position, true);
            chain.pop();
          }
          writer.removeFrom(chain.length);
          for (const txs of blocks) {
            for (const [i, n] of txs.entries()) {
              const position = chain.length * 2 ** 20 + i;
              writer.insertTx(position, txidOf(n), 81 + i, i);
              indexTx(batch, txidOf(n), position, false);
            }
            chain.push(txs);
          }
          writer.finish();
          runs.commit([batch]);
          // The latest of several, as of the coinbases before BIP-30.
          const latest = new Map<number, number>();
          for (const [height, txs] of chain.entries())
            for (const [i, n] of txs.entries()) latest.set(n, height * 2 ** 20 + i);
          for (let n = 0; n <= 9; n++) expect(store.byTxid(txidOf(n))?.position ?? null).toBe(latest.get(n) ?? null);
        }
      } finally {
        db.close();
        rmSync(dir, { recursive: true });
      }
    }),
    { numRuns: 15 },
  );
});
