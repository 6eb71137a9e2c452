import { describe, expect, test } from 'bun:test';
import type { BroadcastResult } from '../../src/mempool/client-submissions.ts';
import { regtest } from '../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { equalBytes } from '../../src/util/bytes.ts';
import { addChecksum } from '../../src/wallet/descriptor/checksum.ts';
import { importDescriptors } from '../../src/wallet/import-descriptors.ts';
import { ExtendedPrivateKey, formatExtendedPublicKey } from '../../src/wallet/keys/extended-key.ts';
import { WalletError } from '../../src/wallet/wallet-error.ts';
import { writeWatchOnlyCopy } from '../../src/wallet/watch-only-copy.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { parsed, TIME_0, WalletFixture } from './wallet-fixture.ts';

const SCANNING = 'Wallet is currently rescanning. Abort existing rescan or wait.';

function outside(seed: number): Outpoint {
  return { txid: new Uint8Array(32).fill(0xee) as Txid, vout: seed };
}

function pay(prevout: Outpoint, script: Uint8Array, value: number): ParsedTransaction {
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  return parsed({
    version: 2,
    locktime: 0,
    inputs: [input],
    outputs: [{ value: BigInt(value), scriptPubKey: script }],
  });
}

class Fixture extends WalletFixture {
  /** A block that pays what is being imported. */
  later = () => {};

  constructor(options: ConstructorParameters<typeof WalletFixture>[0], keypool?: number) {
    super(options, keypool);
    const index = new PlainChainReads(this.chain);
    this.deps.chain.reads = () => index.reads;
    this.deps.mempool.broadcast = async () => ({ status: 'accepted' }) as BroadcastResult;
  }

  /** Connects a block and passes it to the wallet. */
  connect(...txs: ParsedTransaction[]): void {
    const entry = this.chain.make(this.chain.tip, txs);
    this.chain.tip = entry;
    const bodies = [this.chain.bodies.get(entry)!];
    this.wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies, tip: entry });
  }

  /** Value of all unspent coins, also those of transactions that only the wallet knows. */
  get worth(): number {
    const { reads, txs } = this.wallet.store;
    const coins = reads.allTransactions().flatMap(({ id }) => txs.coinsOf(id));
    return coins.reduce((sum, { spent, value }) => sum + (spent === 0 ? value : 0), 0);
  }

  /** The script at an index of the only, or the first, descriptor, derived or not. */
  scriptAt(index: number): Uint8Array {
    const { scripts, vault } = this.wallet;
    return scripts.descriptors()[0]!.expand(index, vault.available())!.scripts[0]!;
  }

  /** Restarts the wallet and runs its background work. */
  async restart(): Promise<void> {
    this.reopen();
    await this.wallet.start();
    while (this.wallet.filler.fillSome());
    await this.wallet.filler.lookUpFilled();
  }
}

describe('addresses that are derived during a scan', () => {
  test('the next start looks up derived addresses if the node ended before that', async () => {
    using it = new Fixture({}, 40);
    // Another program knows the address from a copy of the wallet.
    it.connect(pay(outside(1), it.scriptAt(20), 700), pay(outside(2), it.scriptAt(3), 60));
    while (it.wallet.filler.fillSome());
    expect(it.worth).toBe(0);
    it.reopen();
    await it.wallet.start();
    await it.wallet.filler.lookUpFilled();
    expect(it.worth).toBe(760);
  });

  test('the next start looks up derived addresses if the node ended in the middle of that', async () => {
    using it = new Fixture({}, 40);
    it.connect(pay(outside(1), it.scriptAt(20), 700));
    while (it.wallet.filler.fillSome());
    const lookingUp = it.wallet.filler.lookUpFilled();
    it.reopen();
    expect(await lookingUp.catch(({ message }) => message)).toBe('the wallet is unloaded');
    await it.wallet.start();
    await it.wallet.filler.lookUpFilled();
    expect(it.worth).toBe(700);
    // Once is enough.
    const { scripts, sync } = it.wallet;
    const looked: number[] = [];
    sync.lookUpScripts = async (among) => void looked.push(among.length);
    await it.wallet.filler.lookUpFilled();
    expect(looked).toEqual([]);
    expect(scripts.unfilled()).toEqual([]);
  });

  test('addresses that are derived during a lookup are looked up as well', async () => {
    using it = new Fixture({}, 40);
    const { wallet } = it;
    it.connect(pay(outside(1), it.scriptAt(30), 700));
    wallet.filler.fillSome();
    const lookingUp = wallet.filler.lookUpFilled();
    while (wallet.filler.fillSome());
    await lookingUp;
    expect(it.worth).toBe(700);
  });

  test('derived addresses are looked up in the mempool too, once for all of them', async () => {
    using it = new Fixture({}, 40);
    const waiting = [pay(outside(1), it.scriptAt(20), 700), pay(outside(2), it.scriptAt(38), 60)];
    let looks = 0;
    it.deps.mempool.txids = () => {
      looks++;
      return waiting.map(({ txid }) => txid);
    };
    it.deps.mempool.get = (txid) => waiting.find((each) => equalBytes(each.txid, txid)) ?? null;
    await it.wallet.scanner.scanMempool();
    expect(it.worth).toBe(0);
    while (it.wallet.filler.fillSome());
    await it.wallet.filler.lookUpFilled();
    expect(it.worth).toBe(760);
    // Where nothing was derived there is nothing to look for.
    await it.wallet.filler.lookUpFilled();
    expect(looks).toBe(2);
  });

  test('addresses that a watch-only copy derives are recorded for a lookup', async () => {
    using it = new Fixture({}, 40);
    it.connect(pay(outside(1), it.scriptAt(20), 700));
    await writeWatchOnlyCopy(it.wallet, `${it.dir}/copy`);
    await it.restart();
    expect(it.worth).toBe(700);
  });
});

describe('interrupted imports', () => {
  const RANGE = 60;
  const xpub = formatExtendedPublicKey(ExtendedPrivateKey.fromSeed(new Uint8Array(32).fill(3)).neuter(), regtest.bip32);
  const desc = addChecksum(`wpkh(${xpub}/*)`);

  /** Payments to a script that is imported next: in a block, in one long before, and one that only the wallet knows. */
  async function paidBefore(): Promise<Fixture> {
    using other = new Fixture({ blank: true, disablePrivateKeys: true });
    await importDescriptors(other.wallet, [{ timestamp: 'now', desc, range: RANGE }]);
    const [first, middle, last, later] = [2, 30, RANGE, 50].map((index) => other.scriptAt(index));
    const it = new Fixture({ blank: true, disablePrivateKeys: true });
    const { store, ledger } = it.wallet;
    const old = pay(outside(1), first!, 1);
    it.connect(old);
    store.write(() => {
      ledger.addTransaction(old, {
        in: 'block',
        block: { height: 1, hash: it.chain.tip.hash, index: 0, time: it.chain.tip.time },
      });
      ledger.addTransaction(pay(outside(2), middle!, 20), { in: 'nothing' });
    });
    for (let i = 0; i < 30; i++) it.connect();
    it.connect(pay(outside(3), last!, 300));
    it.later = () => it.connect(pay(outside(4), later!, 4000));
    return it;
  }

  /** Resolves when the descriptor is in the wallet. */
  async function added({ wallet }: Fixture): Promise<void> {
    while (wallet.scripts.descriptors().length === 0) await new Promise(setImmediate);
  }

  test.each([0, 1, 2, 3, 4, 5, 6])(
    'the next start completes an import that ends after %p iterations',
    async (turns) => {
      using it = await paidBefore();
      const importing = importDescriptors(it.wallet, [{ timestamp: TIME_0 + 25 * 600, desc, range: RANGE }]);
      importing.catch(() => {});
      await added(it);
      for (let i = 0; i < turns; i++) await new Promise((resolve) => setTimeout(resolve, 0));
      await it.restart();
      expect(it.worth).toBe(321);
    },
  );

  test('an import finds payments of a block that connects while it derives', async () => {
    using it = await paidBefore();
    const importing = importDescriptors(it.wallet, [{ timestamp: TIME_0 + 25 * 600, desc, range: RANGE }]);
    await added(it);
    expect(it.wallet.scripts.unfilled()).not.toEqual([]);
    it.later();
    await importing;
    expect(it.worth).toBe(4321);
  });

  test('the next start looks up the scripts of an import that met another scan', async () => {
    using it = await paidBefore();
    const { wallet } = it;
    const importing = importDescriptors(wallet, [{ timestamp: TIME_0 + 25 * 600, desc, range: RANGE }]);
    const rescan = wallet.sync.rescan.bind(wallet.sync);
    const { promise, resolve } = Promise.withResolvers<void>();
    wallet.sync.rescan = () => promise;
    const scanning = wallet.scanner.scan(0, 0);
    const error = await importing.catch((refused) => refused);
    expect(error).toBeInstanceOf(WalletError);
    expect(error.message).toBe(SCANNING);
    resolve();
    await scanning;
    wallet.sync.rescan = rescan;
    await it.restart();
    expect(it.worth).toBe(321);
  });
});

test('a transaction that is removed while others are resubmitted is not submitted', async () => {
  using it = new Fixture({});
  const txs = [1, 2].map((seed) => pay(outside(seed), it.script(), 1000));
  const { store, ledger } = it.wallet;
  store.write(() => {
    for (const tx of txs) ledger.addTransaction(tx, { in: 'nothing' });
  });
  const handedIn: Uint8Array[] = [];
  it.deps.mempool.broadcast = async (raw) => {
    handedIn.push(raw);
    store.write(() => store.txs.removeTransaction(store.txs.byTxid(txs[1]!.txid)!.id));
    return { status: 'accepted' } as BroadcastResult;
  };
  await it.wallet.resubmission.submitMissing();
  expect(handedIn).toEqual([txs[0]!.raw]);
});
