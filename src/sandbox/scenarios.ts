import type { NetworkParams } from '../params/network-params.ts';
import { type Amount, COIN } from '../primitives/amount.ts';
import { parseTransaction, weightOf } from '../primitives/block.ts';
import { type BlockHash, hashToHex } from '../primitives/hash.ts';
import { HEADER_SIZE, headerFromBytes, headerHash } from '../primitives/header.ts';
import { type Transaction, type TxOutput, transactionBytes, txidOf } from '../primitives/transaction.ts';
import { equalBytes } from '../util/bytes.ts';
import { type Clock, unixSeconds } from '../util/clock.ts';
import { signTransaction } from '../wallet/signing/sign-transaction.ts';
import { sandboxAccounts } from './accounts.ts';
import { liveBlockTime } from './block-times.ts';
import type { OwnCoin } from './payments.ts';
import { blockOn, matureCoins } from './sandbox.ts';
import type { SandboxTip, ScenarioChain } from './sandbox-chain.ts';

/** A scenario could not be run; the message is meant for the caller. */
export class ScenarioRefused extends Error {
  override readonly name = 'ScenarioRefused';
}

/** Deep enough for tests of reorg handling, and mined quickly. */
const MAX_REORG_DEPTH = 100;
const MAX_FLOOD = 5000;
const MAX_INPUTS = 100;
/** Satoshis per virtual byte. */
const FEERATE = 5n;
/** Fee rate of a replacement: it covers the replaced fee and its own relay (BIP-125). */
const HIGHER_FEERATE = 20n;
const FLOOD_VALUE = 50_000n;
const DUST = 1000n;
const SEQUENCE_RBF = 0xffff_fffd;

export interface Reorg {
  readonly forkHeight: number;
  /** Hashes in display order, lowest block first. */
  readonly disconnected: readonly string[];
  readonly connected: readonly string[];
}

export interface DoubleSpend {
  readonly txid: string;
  /** The transaction that spends the same coin. */
  readonly conflict: string;
  /** Hash of the block that confirmed the first payment for a while. */
  readonly blockHash: string | null;
  readonly reorg: Reorg | null;
}

/** Produces rare network events at once and on request. */
export class Scenarios {
  readonly #chain: ScenarioChain;
  readonly #params: NetworkParams;
  readonly #clock: Clock;

  constructor({ chain, params, clock }: { chain: ScenarioChain; params: NetworkParams; clock: Clock }) {
    this.#chain = chain;
    this.#params = params;
    this.#clock = clock;
  }

  /** Sends coins of the sandbox. Returns the txid. Throws ScenarioRefused. */
  async pay(to: Uint8Array, amount: Amount): Promise<string> {
    const tx = this.#payment(this.#coinsFor(amount), { value: amount, scriptPubKey: to }, FEERATE);
    await this.#offer(tx);
    return idOf(tx);
  }

  /**
   * Replaces the last `depth` blocks by a branch that is one block longer. Their transactions return to the mempool, or
   * with `reconfirm` are confirmed in the new blocks at the same heights. Throws ScenarioRefused.
   */
  async reorg(depth: number, { reconfirm = false } = {}): Promise<Reorg> {
    const fork = this.#chain.at(this.#chain.tip().height - depth);
    if (depth < 1 || depth > MAX_REORG_DEPTH || fork === null)
      throw new ScenarioRefused(`a reorg must be 1 to ${MAX_REORG_DEPTH} blocks deep, and no deeper than the chain`);
    const replaced = this.#blocksAbove(fork);
    return this.#overtake(fork, (i) => (reconfirm && replaced[i] ? this.#chain.transactionsOf(replaced[i]) : []));
  }

  /**
   * Pays a script and double-spends the payment: its coin is sent elsewhere for a higher fee, or where `depth` is not
   * 0, by a reorg after `depth` confirmations. Throws ScenarioRefused.
   */
  async doubleSpend(to: Uint8Array, amount: Amount, depth: number): Promise<DoubleSpend> {
    if (depth > MAX_REORG_DEPTH) throw new ScenarioRefused(`0 to ${MAX_REORG_DEPTH} confirmations are allowed`);
    const coins = this.#coinsFor(amount);
    const first = this.#payment(coins, { value: amount, scriptPubKey: to }, FEERATE);
    const own = { value: amount, scriptPubKey: sandboxAccounts().accounts[0]!.scriptPubKey };
    const second = this.#payment(coins, own, HIGHER_FEERATE);
    const ids = { txid: idOf(first), conflict: idOf(second) };
    await this.#offer(first);
    if (depth === 0) {
      await this.#offer(second);
      return { ...ids, blockHash: null, reorg: null };
    }
    const fork = this.#chain.tip();
    const holding = await this.#mine(fork, [first], 0);
    await this.#extend(
      holding,
      (blocks) => blocks >= depth,
      () => [],
      0,
    );
    const reorg = await this.#overtake(fork, (i) => (i === 0 ? [second] : []));
    return { ...ids, blockHash: hashToHex(holding.hash), reorg };
  }

  /**
   * Submits many transactions at once: a block splits a coin, then each part is spent, half of it to the script.
   * Returns the txids of the accepted ones. Throws ScenarioRefused.
   */
  async flood(count: number, to: Uint8Array): Promise<string[]> {
    if (count < 1 || count > MAX_FLOOD) throw new ScenarioRefused(`1 to ${MAX_FLOOD} transactions are allowed`);
    const { accounts } = sandboxAccounts();
    const { scriptPubKey } = accounts[0]!;
    const part = { value: FLOOD_VALUE, scriptPubKey };
    const divided = this.#transaction(
      this.#coinsFor(FLOOD_VALUE * BigInt(count)),
      Array.from({ length: count }, () => part),
      FEERATE,
    );
    // The transaction exceeds the standard size, but a block may contain it.
    await this.#mine(this.#chain.tip(), [divided], 0);
    const txid = txidOf(divided);
    const txids: string[] = [];
    for (let vout = 0; vout < count; vout++) {
      const coin = { outpoint: { txid, vout }, output: part };
      // Fee rates vary, as on a live network.
      const tx = this.#payment([coin], { value: FLOOD_VALUE / 2n, scriptPubKey: to }, 1n + BigInt(vout % 20));
      await this.#offer(tx);
      txids.push(idOf(tx));
    }
    return txids;
  }

  /** Returns the largest coins of the sandbox that together cover an amount and its fee. */
  #coinsFor(amount: Amount): OwnCoin[] {
    const height = this.#chain.tip().height + 1;
    const coins = sandboxAccounts()
      .accounts.flatMap(({ scriptPubKey }) => matureCoins(this.#chain, scriptPubKey, height))
      .sort((a, b) => Number(b.output.value - a.output.value));
    const taken: OwnCoin[] = [];
    let total = 0n;
    // The margin covers the fee.
    const wanted = amount + amount / 100n + COIN / 1000n;
    for (const coin of coins.slice(0, MAX_INPUTS)) {
      if (total >= wanted) break;
      taken.push(coin);
      total += coin.output.value;
    }
    if (total < wanted)
      throw new ScenarioRefused(`the sandbox has ${total} spendable satoshis and needs ${wanted}; mine some blocks`);
    return taken;
  }

  /** Returns a payment with one output and change. */
  #payment(coins: readonly OwnCoin[], output: TxOutput, feerate: bigint): Transaction {
    return this.#transaction(coins, [output], feerate);
  }

  #transaction(coins: readonly OwnCoin[], outputs: readonly TxOutput[], feerate: bigint): Transaction {
    const total = coins.reduce((sum, { output }) => sum + output.value, 0n);
    const change = total - outputs.reduce((sum, { value }) => sum + value, 0n);
    const { scriptPubKey } = sandboxAccounts().accounts[1]!;
    const withFee = (fee: Amount) =>
      this.#signed(coins, change - fee < DUST ? outputs : [...outputs, { value: change - fee, scriptPubKey }]);
    const size = Math.ceil(weightOf(parseTransaction(transactionBytes(withFee(0n)))) / 4);
    const fee = BigInt(size) * feerate;
    if (fee > change) throw new ScenarioRefused('the coins of the sandbox do not cover the fee');
    return withFee(fee);
  }

  #signed(coins: readonly OwnCoin[], outputs: readonly TxOutput[]): Transaction {
    const unsigned = {
      version: 2,
      inputs: coins.map(({ outpoint }) => ({
        prevout: outpoint,
        scriptSig: new Uint8Array(0),
        sequence: SEQUENCE_RBF,
        witness: [],
      })),
      outputs,
      locktime: this.#chain.tip().height,
    };
    const spent = coins.map(({ output }) => output);
    return signTransaction(unsigned, spent, sandboxAccounts().signing).tx;
  }

  async #offer(tx: Transaction): Promise<void> {
    const { ok, reason } = await this.#chain.offer(transactionBytes(tx));
    if (!ok) throw new ScenarioRefused(`the mempool rejected the transaction: ${reason}`);
  }

  /**
   * Mines a block with these transactions on `parent`; `turn` distinguishes it from other blocks with the same parent.
   */
  async #mine(parent: SandboxTip, transactions: readonly Transaction[], turn: number): Promise<SandboxTip> {
    const time = liveBlockTime(parent, unixSeconds(this.#clock));
    if (time === null) throw new ScenarioRefused('the chain is too far ahead of the clock');
    // The coinbase claims no fees, since the fees of a branch are not known before it is connected.
    const raw = blockOn(parent, { transactions, fees: 0n, time, params: this.#params, turn });
    const { ok, reason } = await this.#chain.submit(raw);
    if (!ok) throw new ScenarioRefused(`the block was rejected: ${reason}`);
    return this.#chain.facts(headerHash(headerFromBytes(raw.subarray(0, HEADER_SIZE))))!;
  }

  /** Mines on `fork`, below the tip, until that branch is active. */
  async #overtake(fork: SandboxTip, content: (index: number) => readonly Transaction[]): Promise<Reorg> {
    const first = await this.#mine(fork, content(0), 1);
    let disconnected = this.#blocksAbove(fork);
    const connected = await this.#extend(
      first,
      () => {
        // Other blocks may be mined in between.
        if (!this.#isActive(first)) disconnected = this.#blocksAbove(fork);
        return true;
      },
      content,
      1,
    );
    return { forkHeight: fork.height, disconnected: disconnected.map(hashToHex), connected: connected.map(hashToHex) };
  }

  /** Mines on `first` until the branch has enough blocks and is active; returns all of its blocks. */
  async #extend(
    first: SandboxTip,
    enough: (blocks: number) => boolean,
    content: (index: number) => readonly Transaction[],
    turn: number,
  ): Promise<BlockHash[]> {
    const hashes = [first.hash];
    let tip = first;
    while (!enough(hashes.length) || !this.#isActive(tip)) {
      if (hashes.length > 2 * MAX_REORG_DEPTH)
        throw new ScenarioRefused('the active chain grows faster than the new branch');
      tip = await this.#mine(tip, content(hashes.length), turn);
      hashes.push(tip.hash);
    }
    return hashes;
  }

  #isActive({ hash, height }: SandboxTip): boolean {
    const there = this.#chain.at(height);
    return there !== null && equalBytes(there.hash, hash);
  }

  #blocksAbove({ height }: SandboxTip): BlockHash[] {
    const count = this.#chain.tip().height - height;
    return Array.from({ length: count }, (_, i) => this.#chain.at(height + 1 + i)!.hash);
  }
}

function idOf(tx: Transaction): string {
  return hashToHex(txidOf(tx));
}
