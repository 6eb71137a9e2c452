import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import type { Txid } from '../../src/primitives/hash.ts';
import { runSteps } from '../../src/util/slices.ts';
import { createTransactionSteps } from '../../src/wallet/spend/create-transaction.ts';
import { ORDINARY_SPEND } from '../../src/wallet/spend/spend-request.ts';
import type { MempoolStanding } from '../../src/wallet/wallet-chain.ts';
import { WalletError } from '../../src/wallet/wallet-error.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const FEE = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' } as const;

/** A wallet with one coin: change of its own that waits in the mempool, and stands there so. */
function withLooseCoin(standing: MempoolStanding): WalletFixture {
  const it = new WalletFixture();
  const { wallet } = it;
  const pay = (txid: Uint8Array, value: bigint) =>
    parsed({
      version: 2,
      inputs: [
        { prevout: { txid: txid as Txid, vout: 0 }, scriptSig: new Uint8Array(0), sequence: 0xffff_fffd, witness: [] },
      ],
      outputs: [{ value, scriptPubKey: it.script() }],
      locktime: 0,
    });
  const first = pay(new Uint8Array(32).fill(1), 100_000_000n);
  const block = { height: 1, hash: new Uint8Array(32).fill(2), index: 1, time: 0 };
  wallet.store.write(() => wallet.ledger.syncTransaction(first, { in: 'block', block }));
  wallet.store.write(() => wallet.ledger.syncTransaction(pay(first.txid, 99_000_000n), { in: 'mempool' }));
  Object.assign(it.deps.mempool, { standing: () => standing });
  return it;
}

// Nodes that know no clusters relay no more than 25 transactions one behind the other, or beside it.
test.each([
  [24, 24, null],
  [25, 24, 'chain'],
  [24, 25, 'chain'],
])(
  'an unconfirmed coin with %d ancestors in a cluster of %d is spent unless its chain exceeds 25',
  (ancestors, clusterCount, refused) => {
    using it = withLooseCoin({ ancestors, clusterCount, hasDescendants: false });
    const recipients = [{ scriptPubKey: it.script(), value: 1_000_000n, subtractFee: false }];
    const built = runSteps(createTransactionSteps(it.wallet, { ...ORDINARY_SPEND, recipients, fee: FEE }));
    expect(built.ok ? null : built.error).toEqual(
      refused && expect.stringContaining('creates a chain of transactions that will be rejected by the mempool'),
    );
  },
);

test('a send from a file whose scripts name a descriptor that it does not have fails with a wallet error', () => {
  using it = withLooseCoin({ ancestors: 1, clusterCount: 1, hasDescendants: false });
  const file = new Database(it.path);
  file.run('UPDATE scripts SET descriptor = 4711');
  file.close();
  const recipients = [{ scriptPubKey: Uint8Array.of(0x51), value: 1_000_000n, subtractFee: false }];
  const request = { ...ORDINARY_SPEND, recipients, fee: FEE, includeUnsafe: true };
  const send = () => runSteps(createTransactionSteps(it.wallet, request));
  expect(send).toThrow(WalletError);
  expect(send).toThrow('Error: the wallet file has scripts of a descriptor that it does not contain (4711)');
});
