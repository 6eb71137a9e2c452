import { expect, test } from 'bun:test';
import type { ChainCommit } from '../../src/chain/events.ts';
import type { BroadcastResult } from '../../src/mempool/client-submissions.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { createLog } from '../../src/util/log.ts';
import { WalletFollower } from '../../src/wallet/wallet-follower.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const HOUR_MS = 3_600_000;
const SILENT = createLog({ level: 'error', format: 'json', write: (bytes) => bytes.length });

function pay(spent: Uint8Array, script: Uint8Array): ParsedTransaction {
  const prevout = { txid: spent as Txid, vout: 0 };
  const input = { prevout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] };
  return parsed({ version: 2, locktime: 0, inputs: [input], outputs: [{ value: 1000n, scriptPubKey: script }] });
}

/** A wallet whose transactions are counted where it submits them, and its follower. */
class Resubmitting extends WalletFixture {
  readonly submitted: Uint8Array[] = [];
  readonly follower = new WalletFollower(() => [this.wallet], { clock: this.clock, log: SILENT });

  constructor() {
    super();
    this.deps.mempool.broadcast = async (raw) => {
      this.submitted.push(raw);
      return { status: 'in-mempool' } as BroadcastResult;
    };
  }

  add(tx: ParsedTransaction, state: 'mempool' | 'nothing'): ParsedTransaction {
    this.wallet.store.write(() => this.wallet.ledger.addTransaction(tx, { in: state }));
    return tx;
  }

  connectBlock(): void {
    const tip = this.chain.make(this.chain.tip, []);
    this.chain.tip = tip;
    this.follower.afterChainCommit({ connected: [tip], disconnected: [], tip, lastSeq: 0 } as unknown as ChainCommit);
  }

  /** Returns the transactions that a check of the timer submits. */
  async check(): Promise<Uint8Array[]> {
    this.submitted.length = 0;
    await this.follower.advanceTimer(60_000);
    return [...this.submitted];
  }
}

const of = (...txs: ParsedTransaction[]) => txs.map(({ raw }) => raw);

test('unconfirmed transactions are announced again between 12 and 36 hours later, parents first', async () => {
  using it = new Resubmitting();
  const parent = it.add(pay(new Uint8Array(32).fill(1), it.script()), 'mempool');
  const child = it.add(pay(parent.txid, it.script()), 'nothing');
  it.clock.advance(301_000);
  it.connectBlock();
  it.clock.advance(12 * HOUR_MS - 302_000);
  expect(await it.check()).toEqual([]);
  it.clock.advance(24 * HOUR_MS + 2000);
  expect(await it.check()).toEqual(of(parent, child));
  // The next time is later.
  expect(await it.check()).toEqual([]);
  it.clock.advance(36 * HOUR_MS);
  expect(await it.check()).toEqual(of(parent, child));
});

test('a transaction that came less than five minutes before the last block is not announced yet', async () => {
  using it = new Resubmitting();
  const early = it.add(pay(new Uint8Array(32).fill(1), it.script()), 'mempool');
  it.clock.advance(1000);
  const late = it.add(pay(new Uint8Array(32).fill(2), it.script()), 'mempool');
  it.clock.advance(299_000);
  it.connectBlock();
  it.clock.advance(36 * HOUR_MS);
  expect(await it.check()).toEqual(of(early));
  it.connectBlock();
  it.clock.advance(36 * HOUR_MS);
  expect(await it.check()).toEqual(of(early, late));
});

test('nothing is announced before the first block, or during the initial sync', async () => {
  using it = new Resubmitting();
  const tx = it.add(pay(new Uint8Array(32).fill(1), it.script()), 'mempool');
  it.clock.advance(40 * HOUR_MS);
  expect(await it.check()).toEqual([]);
  Object.assign(it.deps.chain, { initialSync: true });
  it.connectBlock();
  expect(await it.check()).toEqual([]);
  Object.assign(it.deps.chain, { initialSync: false });
  expect(await it.check()).toEqual(of(tx));
});

test('an abandoned transaction is not announced', async () => {
  using it = new Resubmitting();
  const tx = it.add(pay(new Uint8Array(32).fill(1), it.script()), 'nothing');
  await it.wallet.abandonTransaction(tx.txid);
  it.clock.advance(301_000);
  it.connectBlock();
  it.clock.advance(36 * HOUR_MS);
  expect(await it.check()).toEqual([]);
});

test('the timer is checked when it was moved by a minute', async () => {
  using it = new Resubmitting();
  const tx = it.add(pay(new Uint8Array(32).fill(1), it.script()), 'mempool');
  it.clock.advance(301_000);
  it.connectBlock();
  it.clock.advance(36 * HOUR_MS);
  await it.follower.advanceTimer(59_000);
  expect(it.submitted).toEqual([]);
  await it.follower.advanceTimer(1000);
  expect(it.submitted).toEqual(of(tx));
});
