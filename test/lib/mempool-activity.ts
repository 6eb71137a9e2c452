import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import type { Random } from '../fuzz/random.ts';
import type { RegtestChain } from './chain-builder.ts';
import { broadcast, idOf, submit } from './mempool-node.ts';
import type { ApiClient } from './node-client.ts';
import { lockOf, spend, type TestCoin } from './tx-builder.ts';

const DEEPEST = 3;
/** Blocks whose coinbase no reorg makes immature. */
const SAFE = 100 + 2 * DEEPEST;

/** A payment that can be confirmed, replaced, or followed by its child. */
interface Payment {
  readonly coin: TestCoin;
  readonly tx: Transaction;
  readonly fee: bigint;
  child: Transaction | null;
}

/** Sends random payments, children, replacements, blocks and reorgs to nodes. */
export class MempoolActivity {
  /** All transactions that were accepted, with the coins that they spend, by txid. */
  readonly sent = new Map<string, { readonly tx: Transaction; readonly coin: TestCoin }>();
  readonly #random: Random;
  readonly #nodes: () => readonly ApiClient[];
  #chain: RegtestChain;
  #payments: Payment[] = [];
  #nextCoin = 1;
  reorgs = 0;
  replacements = 0;

  /** `nodes` returns those that receive everything. */
  constructor(random: Random, chain: RegtestChain, nodes: () => readonly ApiClient[]) {
    this.#random = random;
    this.#chain = chain;
    this.#nodes = nodes;
  }

  get chain(): RegtestChain {
    return this.#chain;
  }

  /** Sends a payment, a replacement, or a child. */
  async pay(): Promise<void> {
    const way = this.#random.int(4);
    const at = this.#random.int(this.#payments.length);
    const known = this.#payments[at];
    if (way === 0 && known?.child === null) {
      const output = known.tx.outputs[0]!;
      const made = { outpoint: { txid: txidOf(known.tx), vout: 0 }, output };
      known.child = spend(made, [{ to: lockOf('p2tr'), value: output.value - 3000n }]);
      await this.#broadcast(known.child, made);
    } else if (way === 1 && known) {
      // More than the fees of the payment and its child.
      const payment = paymentOf(known.coin, known.fee + 20_000n);
      this.#payments[at] = payment;
      this.replacements++;
      await this.#broadcast(payment.tx, payment.coin);
    } else if (this.#nextCoin <= this.#chain.height - SAFE) {
      const payment = paymentOf(this.#chain.coin(this.#nextCoin++), 2000n);
      this.#payments.push(payment);
      await this.#broadcast(payment.tx, payment.coin);
    }
  }

  /** Submits a block with some of the payments. */
  async mine(): Promise<void> {
    this.#extend();
    await this.#submit(1);
  }

  /** Submits another branch, which does not confirm the same payments. */
  async reorganize(): Promise<void> {
    const depth = 1 + this.#random.int(DEEPEST);
    this.reorgs++;
    this.#chain = this.#chain.fork(this.#chain.height - depth);
    for (let i = 0; i <= depth; i++) this.#extend();
    await this.#submit(depth + 1);
  }

  #extend(): void {
    const { coins } = this.#chain;
    const unspent = new Set(coins.values().map(({ outpoint }) => hashToHex(outpoint.txid)));
    const chosen = this.#payments.filter(
      ({ coin }) => unspent.has(hashToHex(coin.outpoint.txid)) && this.#random.once(2),
    );
    this.#chain.mine(1, {
      txs: chosen.flatMap(({ tx, child }) => (child && this.#random.once(2) ? [tx, child] : [tx])),
    });
    // A payment that a reorg disconnects is not sent again: it returns to the mempool, or a later block confirms it.
    this.#payments = this.#payments.filter((payment) => !chosen.includes(payment));
  }

  async #submit(count: number): Promise<void> {
    for (const api of this.#nodes()) for (const block of this.#chain.blocks.slice(-count)) await submit(api, block);
  }

  async #broadcast(tx: Transaction, coin: TestCoin): Promise<void> {
    this.sent.set(idOf(tx), { tx, coin });
    for (const api of this.#nodes()) await broadcast(api, tx);
  }
}

function paymentOf(coin: TestCoin, fee: bigint): Payment {
  return { coin, tx: spend(coin, [{ to: lockOf('p2wpkh', 1), value: coin.output.value - fee }]), fee, child: null };
}
