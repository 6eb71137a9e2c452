import { afterEach, describe, expect, spyOn, test } from 'bun:test';
import { join } from 'node:path';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import type { Outpoint } from '../../src/primitives/outpoint.ts';
import { balancesOf } from '../../src/wallet/read/balances.ts';
import { WalletView } from '../../src/wallet/read/wallet-view.ts';
import { copyWallet } from '../../src/wallet/store/wallet-copy.ts';
import { Wallet } from '../../src/wallet/wallet.ts';
import { PlainChainReads } from './plain-chain-reads.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

/** A page of history has so many. */
const PAGE = 1000;
const PAYMENTS = PAGE + 200;
/** A foreign script with the same length of history. */
const BUSY = Uint8Array.of(0x51);

// State codes of a wallet's transaction.
const [INACTIVE, , CONFIRMED, CONTRADICTED] = [0, 1, 2, 3];

function outside(seed: number): Outpoint {
  const txid = new Uint8Array(32).fill(0xee) as Txid;
  return { txid, vout: seed };
}

function pay(prevout: Outpoint, scripts: readonly Uint8Array[], value = 1000): ParsedTransaction {
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  const outputs = scripts.map((scriptPubKey) => ({ value: BigInt(value), scriptPubKey }));
  return parsed({ version: 2, locktime: 0, inputs: [input], outputs });
}

/**
 * A wallet that has not heard of the last blocks: they have thousands of payments to one of its scripts and to a foreign
 * one, and what spends the same coin of that as a transaction the wallet waits for.
 */
class Behind implements Disposable {
  readonly it = new WalletFixture({}, 5);
  readonly index = new PlainChainReads(this.it.chain);
  readonly waiting: ParsedTransaction;
  readonly spender: ParsedTransaction;
  readonly stillWaiting: ParsedTransaction;

  constructor(count = PAYMENTS) {
    const { it, index } = this;
    it.deps.chain.reads = () => index.reads;
    const own = it.script();
    const payments = Array.from({ length: count }, (_, i) => pay(outside(i), [own, BUSY]));
    const coin = (at: number) => ({ txid: payments[at]!.txid, vout: 1 });
    this.waiting = pay(coin(count - 3), [it.script()], 400);
    this.stillWaiting = pay(outside(count), [it.script()], 300);
    this.spender = pay(coin(count - 3), [Uint8Array.of(0x52)], 900);
    it.wallet.store.write(() => {
      for (const tx of [this.waiting, this.stillWaiting]) it.wallet.ledger.addTransaction(tx, { in: 'nothing' });
    });
    const { chain } = it;
    for (let i = 0; i < payments.length; i += 500) chain.tip = chain.make(chain.tip, payments.slice(i, i + 500));
    chain.tip = chain.make(chain.tip, [this.spender]);
  }

  /** The list of transactions and what there is of money and addresses. */
  get found() {
    const { store, scripts } = this.it.wallet;
    const options = { minDepth: 0, avoidReuse: false, includeNonMempool: true };
    return {
      height: this.it.wallet.sync.height,
      balances: balancesOf(new WalletView(store.reads), options),
      txs: store.reads
        .allTransactions()
        .map(({ txid, state, height }) => ({ txid: txid.toHex(), state, height }))
        .sort((a, b) => (a.txid < b.txid ? -1 : 1)),
      sources: scripts.descriptors().map(({ record: { nextIndex, filled } }) => ({ nextIndex, filled })),
    };
  }

  stateOf({ txid }: ParsedTransaction): number | undefined {
    return this.it.wallet.store.txs.byTxid(txid)?.state;
  }

  [Symbol.dispose](): void {
    this.it[Symbol.dispose]();
  }
}

/** Advances the clock at each reading. */
function clockRuns(ms: number): void {
  let now = 0;
  spyOn(performance, 'now').mockImplementation(() => (now += ms));
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

afterEach(() => {
  spyOn(performance, 'now').mockRestore();
});

describe('scripts with a very long history', () => {
  test('the chain is scanned in slices, and other work runs in between', async () => {
    using behind = new Behind();
    const { it, index } = behind;
    it.reopen();
    clockRuns(1);
    let turns = 0;
    let done = false;
    const following = it.wallet.sync.catchUp().finally(() => (done = true));
    for (; !done; turns++) await turn();
    await following;
    // Each step takes one of the slice's 6 ms.
    expect(index.mostSteps).toBeLessThanOrEqual(7);
    expect(index.snapshots).toBeGreaterThan(PAYMENTS / 7);
    // The first slice needs no turn.
    expect(turns).toBeGreaterThanOrEqual(index.snapshots - 1);
    expect(behind.stateOf(behind.waiting)).toBe(CONTRADICTED);
    expect(behind.stateOf(behind.stillWaiting)).toBe(INACTIVE);
    expect(behind.found.txs.filter(({ state }) => state === CONFIRMED)).toHaveLength(PAYMENTS);
  });

  test('a scan that is interrupted and resumed finds the same', async () => {
    using behind = new Behind();
    const { it, index } = behind;
    const before = join(it.dir, 'before');
    copyWallet(it.path, before);
    it.reopen();
    clockRuns(1);
    await it.wallet.sync.catchUp();
    const undisturbed = behind.found;
    const slices = index.snapshots;
    expect(undisturbed.balances.trusted).toBe(PAYMENTS * 1000);

    const reopen = () => {
      it.wallet.close();
      it.wallet = Wallet.open(before, 'w', it.deps);
    };
    reopen();
    expect(behind.found).not.toEqual(undisturbed);
    for (const share of [0, 0.01, 0.3]) {
      const begun = index.snapshots;
      const following = it.wallet.sync.catchUp();
      while (index.snapshots - begun < share * slices) await turn();
      reopen();
      expect(await following.catch(({ message }) => message)).toBe('the wallet is unloaded');
      const stopped = index.snapshots;
      await turn();
      expect(index.snapshots).toBe(stopped);
      expect(it.wallet.sync.height).toBe(0);
    }
    await it.wallet.sync.catchUp();
    expect(behind.found).toEqual(undisturbed);
  });

  test('a scan for a transaction ends when the transaction is gone', async () => {
    using behind = new Behind(20);
    const { it, index } = behind;
    it.reopen();
    clockRuns(4);
    const following = it.wallet.sync.catchUp();
    // Only what others may have spent is asked for.
    while (index.coinsAsked === 0) await turn();
    const { txs } = it.wallet.store;
    it.wallet.store.write(() => {
      for (const { id } of txs.unconfirmed()) txs.removeTransaction(id);
    });
    await following;
    expect(behind.found.txs).toHaveLength(20);
  });
});

describe('a wallet whose blocks have left the chain', () => {
  /** A wallet with many payments, a spend and a coinbase in three blocks, and a chain without these blocks. */
  class Abandoned extends Behind {
    readonly before: string;

    constructor() {
      super(300);
      const { it } = this;
      const { chain } = it;
      const scripts = [it.script(), it.script()] as const;
      it.reopen();
      const coinbase = parsed({
        version: 2,
        locktime: 0,
        inputs: [
          {
            prevout: { txid: new Uint8Array(32) as Txid, vout: 0xffff_ffff },
            scriptSig: Uint8Array.of(0x51, 0x51),
            sequence: 0,
            witness: [],
          },
        ],
        outputs: [{ value: 5000n, scriptPubKey: scripts[0] }],
      });
      chain.tip = chain.make(chain.tip, [coinbase]);
      chain.tip = chain.make(chain.tip, [pay({ txid: coinbase.txid, vout: 0 }, [scripts[1]], 4000)]);
      this.before = join(it.dir, 'before');
    }

    /** Follows the chain, and gives it another branch, which has some of the payments. */
    async leaveChain(): Promise<void> {
      const { it } = this;
      const { chain } = it;
      await it.wallet.sync.catchUp();
      const [first] = [chain.tip.ancestor(1)!];
      const some = chain.bodies.get(first)!.txs.slice(0, 50);
      let branch = chain.tip.ancestor(0)!;
      for (let i = 0; i < 8; i++) branch = chain.make(branch, i === 2 ? some : []);
      chain.tip = branch;
      copyWallet(it.path, this.before);
    }

    /** Opens the wallet as it was when its blocks left. */
    openBefore(name: string): void {
      const path = join(this.it.dir, name);
      copyWallet(this.before, path);
      this.it.wallet.close();
      this.it.wallet = Wallet.open(path, 'w', this.it.deps);
    }
  }

  test('disconnects them in slices, with the result of a single step, also after stops in the middle', async () => {
    using gone = new Abandoned();
    const { it } = gone;
    await gone.leaveChain();
    expect(gone.found.txs.filter(({ state }) => state === CONFIRMED).length).toBeGreaterThan(300);

    gone.openBefore('whole');
    it.wallet.store.write(() => it.wallet.ledger.disconnectAbove(0));
    const disconnected = gone.found;
    await it.wallet.sync.catchUp();
    const whole = gone.found;
    expect(disconnected.txs.filter(({ state }) => state === CONFIRMED)).toEqual([]);
    expect(whole.txs.filter(({ state }) => state === CONFIRMED)).toHaveLength(50);

    clockRuns(1);
    gone.openBefore('sliced');
    const { ledger } = it.wallet;
    const steps = spyOn(ledger, 'disconnectSteps');
    let turns = 0;
    let done = false;
    const following = it.wallet.sync.catchUp().finally(() => (done = true));
    for (; !done; turns++) await turn();
    await following;
    expect(steps.mock.calls).toEqual([[0]]);
    // A step takes one of the slice's 6 ms.
    expect(turns).toBeGreaterThan(300 / 7);
    expect(gone.found).toEqual(whole);

    for (const stopAfter of [1, 5, 20, 45, 60]) {
      gone.openBefore(`stopped after ${stopAfter}`);
      const cut = it.wallet.sync.catchUp();
      cut.catch(() => {});
      for (let i = 0; i < stopAfter; i++) await turn();
      const { path } = it.wallet.store;
      it.wallet.close();
      it.wallet = Wallet.open(path, 'w', it.deps);
      await it.wallet.sync.catchUp();
      expect(gone.found).toEqual(whole);
      expect(it.wallet.store.meta('disconnecting')).toBeNull();
    }
  });
});
