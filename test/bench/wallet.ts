import { statSync } from 'node:fs';
import { regtest } from '../../src/params/regtest.ts';
import type { ParsedTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { runSteps } from '../../src/util/slices.ts';
import { WalletTxViews } from '../../src/views/core/wallet-tx.ts';
import { availableCoins } from '../../src/wallet/read/available-coins.ts';
import { balancesOf } from '../../src/wallet/read/balances.ts';
import { WalletView } from '../../src/wallet/read/wallet-view.ts';
import { createTransactionSteps } from '../../src/wallet/spend/create-transaction.ts';
import { ORDINARY_SPEND } from '../../src/wallet/spend/spend-request.ts';
import { WalletReads } from '../../src/wallet/store/wallet-reads.ts';
import { parsed, WalletFixture } from '../wallet/wallet-fixture.ts';
import { grouped, percentile, printTable } from './report.ts';

const BLOCK_TXS = 500;
const ADDRESSES = 2000;
const ROUNDS = 200;
const PAYING_COINS = 20_000;
const FOREIGN = Uint8Array.of(0x51);

/**
 * Measures the choice of coins for a payment and the building of the transaction, in a wallet with this number of
 * coins.
 */
function benchSend(coins: number): string {
  using fixture = new WalletFixture({}, 1000);
  const { chain, wallet } = fixture;
  const scripts = Array.from({ length: ADDRESSES }, () => fixture.script());
  const txs = Array.from({ length: coins / BLOCK_TXS }, (_, tx) =>
    parsed({
      version: 2,
      locktime: tx,
      inputs: [{ prevout: { txid: madeUpTxid(tx), vout: 0 }, scriptSig: new Uint8Array(0), sequence: 0, witness: [] }],
      outputs: Array.from({ length: BLOCK_TXS }, (_, vout) => {
        const n = tx * BLOCK_TXS + vout;
        return { value: 10_000n + BigInt((n * 7919) % 1_000_000), scriptPubKey: scripts[n % ADDRESSES]! };
      }),
    }),
  );
  for (const body of [txs, ...Array.from({ length: 6 }, () => [])]) {
    const entry = chain.make(chain.tip, body);
    chain.tip = entry;
    const bodies = [chain.bodies.get(entry)!];
    wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies, tip: entry });
  }
  const recipient = { scriptPubKey: fixture.script(), value: 5_000_000n, subtractFee: false };
  const fee = { feerate: 1000n, overrideLimits: false, target: null, mode: 'unset' as const };
  const times = Array.from({ length: 20 }, () => {
    const from = performance.now();
    const built = runSteps(createTransactionSteps(wallet, { ...ORDINARY_SPEND, recipients: [recipient], fee }));
    if (!built.ok) throw new Error(built.error);
    return performance.now() - from;
  }).sort((a, b) => a - b);
  return `${percentile(times, 0.5).toFixed(0)} / ${percentile(times, 0.99).toFixed(0)} ms`;
}

/** Measures the loading and unlocking of an encrypted wallet with eight descriptors and a keypool of 1,000. */
async function benchLoad(): Promise<void> {
  const passphrase = Buffer.from('a passphrase');
  using fixture = new WalletFixture({}, 1000);
  await fixture.wallet.encrypt(passphrase);
  while (fixture.wallet.filler.fillSome());
  const rounds: { readonly open: number; readonly check: number; readonly unlock: number; readonly longest: number }[] =
    [];
  for (let i = 0; i < 10; i++) {
    const from = performance.now();
    const checked = fixture.reopen();
    const opened = performance.now();
    await checked;
    const wasChecked = performance.now();
    await fixture.wallet.unlock(passphrase, 60);
    const unlocked = performance.now();
    rounds.push({
      open: opened - from,
      check: wasChecked - opened,
      unlock: unlocked - wasChecked,
      longest: Math.max(...(await longestHold(() => fixture.reopen()))),
    });
  }
  const median = (of: keyof (typeof rounds)[number]) =>
    `${percentile(
      rounds.map((round) => round[of]).sort((a, b) => a - b),
      0.5,
    ).toFixed(1)} ms`;
  printTable('an encrypted wallet of 8 × 1,000 addresses, median of 10', [
    ['opened', median('open')],
    ['rows compared with their MAC, in slices', median('check')],
    ['unlocked, with the derivation of its key', median('unlock')],
    ['longest hold of the thread while it is loaded', median('longest')],
  ]);
}

/** Returns the longest time for which the work blocks the thread. */
async function longestHold(work: () => Promise<unknown>): Promise<number[]> {
  const holds: number[] = [];
  let last = performance.now();
  let done = false;
  const tick = () => {
    const now = performance.now();
    holds.push(now - last);
    last = now;
    if (!done) setImmediate(tick);
  };
  setImmediate(tick);
  await work();
  done = true;
  await new Promise((resolve) => setImmediate(resolve));
  return holds;
}

/** Measures a wallet with many transactions: following the chain, and replies. */
export async function benchWallet(count = 100_000): Promise<void> {
  using fixture = new WalletFixture({}, 1000);
  const { chain, wallet } = fixture;
  const scripts = Array.from({ length: ADDRESSES }, () => fixture.script());
  const startedAt = performance.now();
  let last: ParsedTransaction | null = null;
  for (let made = 0; made < count; ) {
    const txs: ParsedTransaction[] = [];
    for (; txs.length < BLOCK_TXS && made < count; made++) {
      // Every tenth transaction is an own payment with change.
      const own = made % 10 === 9 && last;
      const txid = own ? own.txid : madeUpTxid(made);
      const script = scripts[made % ADDRESSES]!;
      const outputs = [{ value: 100_000n, scriptPubKey: script }];
      if (own) outputs.unshift({ value: 40_000n, scriptPubKey: FOREIGN });
      const input = {
        prevout: { txid, vout: 0 },
        scriptSig: new Uint8Array(0),
        sequence: 0,
        witness: [new Uint8Array(72)],
      };
      last = parsed({ version: 2, locktime: made, inputs: [input], outputs });
      txs.push(last);
    }
    const entry = chain.make(chain.tip, txs);
    chain.tip = entry;
    const bodies = [chain.bodies.get(entry)!];
    wallet.sync.onChainMoved({ disconnected: [], connected: [entry], bodies, tip: entry });
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const reads = WalletReads.open(fixture.path);
  const view = () => new WalletView(reads);
  const timed = (work: (on: WalletView) => unknown) => {
    const times = Array.from({ length: ROUNDS }, () => {
      const from = performance.now();
      reads.snapshot(() => JSON.stringify(work(view())));
      return performance.now() - from;
    }).sort((a, b) => a - b);
    return `${percentile(times, 0.5).toFixed(2)} / ${percentile(times, 0.99).toFixed(2)} ms`;
  };
  const balance = (minDepth: number) => (on: WalletView) =>
    balancesOf(on, { minDepth, avoidReuse: false, includeNonMempool: true });
  const list = (skip: number) => (on: WalletView) => new WalletTxViews(on, regtest).latest(null, 10, skip);
  const first = reads.allTransactions()[0]!.txid;
  const coins = {
    minDepth: 1,
    maxDepth: 9_999_999,
    includeUnsafe: true,
    includeImmature: false,
    minValue: 0,
    maxValue: null,
    minSum: null,
    maxCount: 0,
  };
  printTable(`a wallet of ${grouped(count)} transactions, median / 99 %`, [
    ['followed, transactions a second', grouped(count / seconds)],
    ['file', `${grouped(statSync(fixture.path).size / 1024 ** 2, 1)} MiB`],
    ['getbalance', timed(balance(0))],
    ['getbalance, 6 confirmations', timed(balance(6))],
    ['listtransactions, 10', timed(list(0))],
    ['listtransactions, 10 behind 1,000', timed(list(1000))],
    ['gettransaction, the oldest', timed((on) => new WalletTxViews(on, regtest).about(on.reads.txs.byTxid(first)!))],
    ['coins to choose from', timed((on) => availableCoins(on, coins).length)],
    [`a payment from ${grouped(PAYING_COINS)} coins, not signed`, benchSend(PAYING_COINS)],
  ]);
  reads.close();
  await benchLoad();
}

function madeUpTxid(seed: number): Txid {
  const txid = new Uint8Array(32) as Txid;
  new DataView(txid.buffer).setUint32(0, seed + 1);
  return txid;
}
