import { expect, test } from 'bun:test';
import { regtest } from '../../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../../src/primitives/block.ts';
import type { Txid } from '../../../src/primitives/hash.ts';
import type { Outpoint } from '../../../src/primitives/outpoint.ts';
import { parseAddress } from '../../../src/script/address.ts';
import { WalletTxViews } from '../../../src/views/core/wallet-tx.ts';
import { WalletView } from '../../../src/wallet/read/wallet-view.ts';
import { Random } from '../../fuzz/random.ts';
import { parsed, WalletFixture } from '../../wallet/wallet-fixture.ts';

const FOREIGN = Uint8Array.of(0x51);
const LABELS = ['', 'rent', 'wages'];

/** A wallet with receipts, payments and conflicting transactions, some of them with labelled addresses. */
function fill(it: WalletFixture, random: Random): void {
  const { wallet, chain } = it;
  const addresses = LABELS.flatMap((label) => {
    const found = parseAddress(wallet.newAddress('bech32', label), regtest.address);
    return found.ok ? found.script : [];
  });
  const coins: Outpoint[] = [];
  for (let block = 0; block < 12; block++) {
    const txs: ParsedTransaction[] = [];
    for (let made = 0; made < 4; made++) {
      const own = coins.length > 0 && random.once(2);
      const prevout = own
        ? random.pick(coins)
        : { txid: new Uint8Array(32).fill(1 + random.int(200)) as Txid, vout: 0 };
      const change = random.once(2) ? [wallet.newChangeAddress('bech32').script] : [];
      const scripts = [FOREIGN, random.pick(addresses), ...change].slice(random.int(2));
      const tx = parsed({
        version: 2,
        locktime: block * 4 + made,
        inputs: [{ prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] }],
        outputs: scripts.map((scriptPubKey) => ({ value: 1000n, scriptPubKey })),
      });
      if (random.once(3)) wallet.sync.mempoolAdded(tx);
      else txs.push(tx);
      coins.push({ txid: tx.txid, vout: random.int(scripts.length) });
    }
    const entry = chain.make(chain.tip, txs);
    chain.tip = entry;
    wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies: [chain.bodies.get(entry)!], tip: entry });
  }
}

test('the latest entries are a slice of all entries, for every offset', () => {
  for (const seed of [1, 2]) {
    using it = new WalletFixture();
    fill(it, new Random(seed));
    const { reads } = it.wallet.store;
    const views = new WalletTxViews(new WalletView(reads), regtest);
    for (const label of [null, 'rent', 'wages', 'nothing']) {
      const options = { minDepth: 0, long: true, label, includeChange: false };
      const all = reads
        .allTransactions()
        .reverse()
        .flatMap((tx) => views.entries(tx, options));
      if (label !== 'nothing') expect(all.length).toBeGreaterThan(5);
      for (let skip = 0; skip <= all.length + 1; skip++)
        expect(views.latest(label, 3, skip)).toEqual(all.slice(skip, skip + 3));
      expect(views.latest(label, 0, 0)).toEqual([]);
      expect(views.latest(label, 10_000, 0)).toEqual(all);
    }
  }
});
