import { describe, expect, spyOn, test } from 'bun:test';
import type { ChainEntry } from '../../src/chain/chain-entry.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { addressOf } from '../../src/script/address.ts';
import { runSteps } from '../../src/util/slices.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { balancesOf } from '../../src/wallet/read/balances.ts';
import { WalletView } from '../../src/wallet/read/wallet-view.ts';
import { poll } from '../lib/node-process.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const FOREIGN = Uint8Array.of(0x51);

function outside(seed: number): Outpoint {
  const txid = new Uint8Array(32).fill(seed) as Txid;
  return { txid, vout: 0 };
}

function pay(prevout: Outpoint, script: Uint8Array, value = 1000, locktime = 0, version = 2): ParsedTransaction {
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  return parsed({ version, locktime, inputs: [input], outputs: [{ value: BigInt(value), scriptPubKey: script }] });
}

/** Connects a block and passes it to the wallet. */
function connect({ chain, wallet }: WalletFixture, txs: readonly ParsedTransaction[]): ChainEntry {
  const entry = chain.make(chain.tip, txs);
  chain.tip = entry;
  const bodies = [chain.bodies.get(entry)!];
  wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies, tip: entry });
  return entry;
}

function trusted({ wallet }: WalletFixture): number {
  const options = { minDepth: 0, avoidReuse: false, includeNonMempool: false };
  return balancesOf(new WalletView(wallet.store.reads), options).trusted;
}

describe('an unconfirmed TRUC transaction', () => {
  // BIP-431: it has one child, so the mempool replaces a child by one that spends another output.
  test('its child in the mempool conflicts with each other child, until it is removed', () => {
    using it = new WalletFixture();
    const { txs } = it.wallet.store;
    const input = { prevout: outside(1), scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
    const outputs = [it.script(), FOREIGN].map((scriptPubKey) => ({ value: 1000n, scriptPubKey }));
    const parent = parsed({ version: 3, locktime: 0, inputs: [input], outputs });
    const [own, sibling] = [0, 1].map((vout) => pay({ txid: parent.txid, vout }, FOREIGN, 900, 0, 3));
    it.wallet.sync.mempoolAdded(parent);
    it.wallet.sync.mempoolAdded(own!);
    const { id } = txs.byTxid(own!.txid)!;
    it.wallet.sync.mempoolRemoved(own!.txid);
    it.wallet.sync.mempoolAdded(sibling!);
    expect(txs.mempoolConflicts(id)).toEqual([sibling!.txid]);
    it.wallet.sync.mempoolRemoved(sibling!.txid);
    expect(txs.mempoolConflicts(id)).toEqual([]);
  });

  test('the spender of another output of a confirmed one is no conflict', () => {
    using it = new WalletFixture();
    const { txs } = it.wallet.store;
    const input = { prevout: outside(1), scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
    const outputs = [it.script(), FOREIGN].map((scriptPubKey) => ({ value: 1000n, scriptPubKey }));
    const parent = parsed({ version: 3, locktime: 0, inputs: [input], outputs });
    const [own, sibling] = [0, 1].map((vout) => pay({ txid: parent.txid, vout }, FOREIGN, 900, 0, 3));
    connect(it, [parent]);
    it.wallet.sync.mempoolAdded(own!);
    it.wallet.sync.mempoolAdded(sibling!);
    expect(txs.mempoolConflicts(txs.byTxid(own!.txid)!.id)).toEqual([]);
  });
});

describe('a wallet on the chain', () => {
  test('a payment moves the lookahead on, and labels the addresses it passes', () => {
    using it = new WalletFixture({}, 5);
    const { wallet } = it;
    while (wallet.scripts.fillSome());
    const source = wallet.scripts.activeDescriptor('bech32', false)!;
    const scriptAt = (index: number) => source.expand(index, wallet.vault.available())!.scripts[0]!;
    expect(wallet.scripts.owns(scriptAt(4))).toBe(true);
    expect(wallet.scripts.owns(scriptAt(5))).toBe(false);
    // The second one is only known because of the first.
    connect(it, [pay(outside(1), scriptAt(4)), pay(outside(2), scriptAt(9))]);
    expect(trusted(it)).toBe(2000);
    expect(source.record).toMatchObject({ nextIndex: 10, rangeEnd: 15, filled: 15 });
    for (let index = 0; index < 10; index++)
      expect(wallet.store.reads.bookEntry(scriptAt(index))?.purpose).toBe('receive');
    expect(wallet.store.reads.bookEntry(scriptAt(10))).toBeNull();
  });

  test('a payment to a far address labels and derives a bounded number of addresses at once, and the rest later', () => {
    using it = new WalletFixture({}, 600);
    const { wallet } = it;
    while (wallet.filler.fillSome());
    const source = wallet.scripts.activeDescriptor('bech32', false)!;
    const scriptAt = (index: number) => source.expand(index, wallet.vault.available())!.scripts[0]!;
    const isNamed = (index: number) => wallet.store.reads.bookEntry(scriptAt(index)) !== null;
    connect(it, [pay(outside(1), scriptAt(599))]);
    expect(trusted(it)).toBe(1000);
    expect(source.record).toMatchObject({ nextIndex: 600, rangeEnd: 1200, filled: 800 });
    expect([99, 100, 598, 599].map(isNamed)).toEqual([true, false, false, true]);
    // A second payment meanwhile, beyond what is derived by now, is left to the search for what is derived later.
    connect(it, [pay(outside(2), scriptAt(700))]);
    expect(source.record).toMatchObject({ nextIndex: 701, rangeEnd: 1301, filled: 800 });
    wallet.store.writeRelaxed(() => runSteps(wallet.scripts.fillSteps(() => {})));
    expect(source.record).toMatchObject({ rangeEnd: 1301, filled: 1301 });
    for (let index = 0; index <= 700; index++) expect(isNamed(index)).toBe(true);
    expect(isNamed(701)).toBe(false);
    expect(wallet.store.meta('unnamed')).toEqual({});
  });

  test('a wallet whose far addresses are yet to be derived scans until the payments to them are found', async () => {
    using it = new WalletFixture({}, 600);
    const index = new PlainChainReads(it.chain);
    it.deps.chain.reads = () => index.reads;
    const { wallet } = it;
    // The first addresses of a new wallet need no search.
    expect(wallet.scanning).toBeNull();
    while (wallet.filler.fillSome());
    await wallet.filler.lookUpFilled();
    const source = wallet.scripts.activeDescriptor('bech32', false)!;
    const scriptAt = (at: number) => source.expand(at, wallet.vault.available())!.scripts[0]!;
    connect(it, [pay(outside(1), scriptAt(20))]);
    // Few addresses are derived with the block that pays.
    expect([wallet.scanning, trusted(it)]).toEqual([null, 1000]);
    connect(it, [pay(outside(2), scriptAt(610))]);
    connect(it, [pay(outside(3), scriptAt(1000))]);
    expect([wallet.scanning, trusted(it)]).toEqual([{ duration: 0, progress: 0 }, 2000]);
    await poll('the end of the search', () => wallet.scanning === null);
    expect(trusted(it)).toBe(3000);
  });

  test('a wallet that is opened with addresses left to be derived scans until they are looked up', async () => {
    using it = new WalletFixture({}, 600);
    const index = new PlainChainReads(it.chain);
    it.deps.chain.reads = () => index.reads;
    while (it.wallet.filler.fillSome());
    const source = it.wallet.scripts.activeDescriptor('bech32', false)!;
    connect(it, [pay(outside(1), source.expand(599, it.wallet.vault.available())!.scripts[0]!)]);
    await it.reopen();
    await it.wallet.start();
    expect(it.wallet.scanning).not.toBeNull();
    await poll('the end of the search', () => it.wallet.scanning === null);
    expect(it.wallet.scripts.unfilled()).toEqual([]);
  });

  test('a payment to a descriptor with hundreds of keys derives and names nothing at once but what it pays', async () => {
    using it = new WalletFixture({ blank: true, disablePrivateKeys: true }, 6);
    const index = new PlainChainReads(it.chain);
    it.deps.chain.reads = () => index.reads;
    const { wallet } = it;
    const xpub = (seed: number) =>
      formatExtendedPublicKey(
        ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(seed)).neuter(),
        it.deps.params.bip32,
      );
    const keys = Array.from({ length: 250 }, (_, i) => `${xpub(i % 5)}/${i}/*`).join(',');
    const internal = 'a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd';
    const desc = addChecksum(`tr(${internal},multi_a(1,${keys}))`);
    const [outcome] = await importDescriptors(wallet, [{ timestamp: 'now', desc, active: true, range: 5 }]);
    expect(outcome!.error).toBeNull();
    const source = wallet.scripts.activeDescriptor('bech32m', false)!;
    const scriptAt = (at: number) => source.expand(at, wallet.vault.available())!.scripts[0]!;
    const isNamed = (at: number) => wallet.store.reads.bookEntry(scriptAt(at)) !== null;
    const [paid, next] = [scriptAt(3), scriptAt(4)];

    const expand = spyOn(source, 'expand');
    connect(it, [pay(outside(1), paid)]);
    // Only the descriptor of the paid script itself is made at once.
    expect(expand.mock.calls.map(([at]) => at)).toEqual([3]);
    expand.mockRestore();
    expect(trusted(it)).toBe(1000);
    expect(source.record).toMatchObject({ nextIndex: 4, rangeEnd: 10, filled: 6 });
    expect([0, 1, 2, 3, 4].map(isNamed)).toEqual([false, false, false, true, false]);

    // The keys of the next address are derived in steps, and found in memory then.
    let steps = 0;
    runSteps(wallet.scripts.deriveNextSteps('bech32m', false), () => steps++);
    expect(steps).toBeGreaterThan(10);
    expect(wallet.scripts.peekNextScript('bech32m', false)).toEqual(next);
    expect(wallet.newAddress('bech32m', '')).toBe(addressOf(next, it.deps.params.address)!);

    wallet.store.writeRelaxed(() => runSteps(wallet.scripts.fillSteps(() => {})));
    expect(source.record).toMatchObject({ nextIndex: 5, rangeEnd: 10, filled: 10 });
    expect([0, 1, 2, 3, 4, 5].map(isNamed)).toEqual([true, true, true, true, true, false]);
    expect(wallet.store.meta('unnamed')).toEqual({});
  });

  test('confirmed transactions are kept when the chain has lost its last blocks', async () => {
    using it = new WalletFixture();
    const paid = connect(it, [pay(outside(1), it.script(), 5000)]);
    connect(it, []);
    connect(it, [pay(outside(2), it.script(), 300)]);
    expect(trusted(it)).toBe(5300);
    // As after a power cut: the chain knows nothing of the blocks behind.
    for (const entry of [it.chain.tip, it.chain.tip.parent!]) it.chain.entries.delete(entry.hash.toHex());
    it.chain.tip = paid;
    it.reopen();
    await it.wallet.sync.catchUp();
    expect(it.wallet.sync.height).toBe(paid.height);
    expect(trusted(it)).toBe(5000);
    expect(it.wallet.store.reads.txCount()).toBe(2);
  });

  test('a payment that is first seen through its child is counted once', () => {
    using it = new WalletFixture();
    const own = it.script();
    const parent = pay(outside(1), own, 9000);
    const child = pay({ txid: parent.txid, vout: 0 }, FOREIGN, 8000);
    // The wallet makes the child itself before it has heard of the parent.
    it.wallet.store.write(() => it.wallet.ledger.addTransaction(child, { in: 'nothing' }));
    it.wallet.sync.watchTransaction(child);
    connect(it, [parent, child]);
    const record = it.wallet.store.txs.byTxid(child.txid)!;
    expect(record.debit).toBe(9000);
    expect(trusted(it)).toBe(0);
  });

  test('a payment with another witness is one transaction with two wtxids', () => {
    using it = new WalletFixture();
    const script = it.script();
    const withWitness = (size: number) =>
      parsed({
        version: 2,
        locktime: 0,
        inputs: [{ prevout: outside(1), scriptSig: new Uint8Array(0), sequence: 0, witness: [new Uint8Array(size)] }],
        outputs: [{ value: 700n, scriptPubKey: script }],
      });
    const [light, heavy] = [withWitness(10), withWitness(90)];
    it.wallet.sync.mempoolAdded(heavy);
    it.wallet.sync.mempoolAdded(light);
    const { txs } = it.wallet.store;
    const { id } = txs.byTxid(light.txid)!;
    expect(txs.byTxid(light.txid)!.wtxid).toEqual(light.wtxid);
    // The witness in a block counts.
    connect(it, [heavy]);
    expect(txs.byTxid(light.txid)!.wtxid).toEqual(heavy.wtxid);
    expect(
      it.wallet.store.reads
        .variants(id)
        .map((wtxid) => wtxid.toHex())
        .sort(),
    ).toEqual([light.wtxid.toHex(), heavy.wtxid.toHex()].sort());
    expect(trusted(it)).toBe(700);
    // The lighter one counts again while none is confirmed.
    it.wallet.store.write(() => it.wallet.ledger.disconnectAbove(txs.byTxid(light.txid)!.height! - 1));
    expect(txs.byTxid(light.txid)!.wtxid).toEqual(light.wtxid);
    expect(txs.raw(id)).toEqual(light.raw);
  });

  test('abandoning frees the spent coins, and a block reverts the abandonment', () => {
    using it = new WalletFixture();
    const funding = pay(outside(1), it.script(), 4000);
    connect(it, [funding]);
    const spend = pay({ txid: funding.txid, vout: 0 }, FOREIGN, 3000);
    const { ledger, store } = it.wallet;
    store.write(() => ledger.addTransaction(spend, { in: 'nothing' }));
    it.wallet.sync.watchTransaction(spend);
    expect(trusted(it)).toBe(0);
    expect(store.write(() => runSteps(ledger.abandonSteps(spend.txid)))).toEqual([spend.txid]);
    expect(trusted(it)).toBe(4000);
    connect(it, [spend]);
    expect(trusted(it)).toBe(0);
    expect(store.write(() => runSteps(ledger.abandonSteps(spend.txid)))).toBeNull();
  });
});
