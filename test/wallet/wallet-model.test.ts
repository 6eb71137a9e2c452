import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ChainEntry } from '../../src/chain/chain-entry.ts';
import { type ParsedTransaction, parseTransaction } from '../../src/primitives/block.ts';
import type { Txid } from '../../src/primitives/hash.ts';
import { NULL_VOUT } from '../../src/primitives/outpoint.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { runSteps } from '../../src/util/slices.ts';
import { balancesOf } from '../../src/wallet/read/balances.ts';
import { WalletView } from '../../src/wallet/read/wallet-view.ts';
import { Random } from '../fuzz/random.ts';
import { parsed, WalletFixture } from './wallet-fixture.ts';

const FOREIGN = [Uint8Array.of(0x51), Uint8Array.of(0x52, 0x51), Uint8Array.of(0x53, 0x51)];
const MATURITY = 100;

// As the file has them.
const [INACTIVE, IN_MEMPOOL, CONFIRMED, CONTRADICTED, ABANDONED] = [0, 1, 2, 3, 4];

const nameOf = (txid: Uint8Array, vout: number) => `${txid.toHex()}:${vout}`;

/** An output of the chain or of the mempool. */
interface Coin {
  readonly txid: Txid;
  readonly vout: number;
  readonly value: number;
  readonly mine: boolean;
  /** null in the mempool. */
  readonly height: number | null;
  readonly coinbase: boolean;
}

/** A node and its wallet. The expected state is computed from the chain and the mempool for each check. */
class World implements Disposable {
  readonly fixture = new WalletFixture({}, 3);
  readonly #random: Random;
  readonly #mine: Uint8Array[];
  readonly #blocks: ChainEntry[] = [];
  /** In the order of arrival. */
  #mempool: ParsedTransaction[] = [];
  #made = 0;

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#mine = (['legacy', 'p2sh-segwit', 'bech32', 'bech32m'] as const).map((type) => this.fixture.script(type));
    for (let i = 0; i < MATURITY + 8; i++)
      this.#connect([this.#block(this.fixture.chain.tip, [], i % 9 === 0)], [], []);
  }

  step(): void {
    const kind = this.#random.int(14);
    if (kind < 5) this.#send();
    else if (kind < 8) this.#mineBlock();
    else if (kind < 10) this.#reorg();
    else if (kind === 10) this.#evict();
    else if (kind === 11) this.#abandon();
    else if (kind === 12) this.#refused();
    else this.#restart();
  }

  check(): void {
    const { wallet } = this.fixture;
    const view = new WalletView(wallet.store.reads);
    expect(view.tipHeight).toBe(this.fixture.chain.tip.height);
    for (const minDepth of [0, 1, 2, 4, 105]) {
      const actual = balancesOf(view, { minDepth, avoidReuse: false, includeNonMempool: true });
      const { trusted, untrustedPending, immature } = this.#expected(minDepth);
      expect([actual.trusted, actual.untrustedPending, actual.immature]).toEqual([trusted, untrustedPending, immature]);
      // The longer way comes to the same.
      expect(balancesOf(view, { minDepth, avoidReuse: true, includeNonMempool: true })).toEqual(actual);
    }
    const spendable = new Set(
      [...this.#coins().values()].filter(({ mine }) => mine).map((c) => nameOf(c.txid, c.vout)),
    );
    for (const name of this.#spentByPending()) spendable.delete(name);
    const unspent = wallet.store.reads
      .unspent()
      .filter(({ state }) => state === CONFIRMED || state === IN_MEMPOOL)
      .map(({ txid, vout }) => nameOf(txid, vout));
    expect(unspent.sort()).toEqual([...spendable].sort());
    this.#checkStates();
  }

  /**
   * Returns the outpoints of transactions that may still be mined: unconfirmed, not abandoned, and without a conflict
   * in the mempool.
   */
  #spentByPending(): string[] {
    const { store } = this.fixture.wallet;
    const waiting = new Map(
      this.#mempool.flatMap(({ tx, txid }) =>
        tx.inputs.map(({ prevout }) => [nameOf(prevout.txid, prevout.vout), txid.toHex()]),
      ),
    );
    const against = new Set<string>();
    const spent: string[] = [];
    for (const { id, txid, state } of store.reads.allTransactions()) {
      const { tx } = parseTransaction(store.txs.raw(id));
      const rival = tx.inputs.some(({ prevout }) => {
        const other = waiting.get(nameOf(prevout.txid, prevout.vout));
        return (other !== undefined && other !== txid.toHex()) || against.has(prevout.txid.toHex());
      });
      if (rival) against.add(txid.toHex());
      else if (state === INACTIVE) for (const { prevout } of tx.inputs) spent.push(nameOf(prevout.txid, prevout.vout));
    }
    return spent;
  }

  /** The user abandons a transaction outside of the mempool. */
  #abandon(): void {
    const { wallet } = this.fixture;
    const loose = [...wallet.store.txs.unconfirmed()].filter(({ state, coinbase }) => state === INACTIVE && !coinbase);
    if (loose.length === 0) return;
    const { txid } = this.#random.pick(loose);
    wallet.store.write(() => runSteps(wallet.ledger.abandonSteps(txid)));
  }

  /** A payment of ours that the mempool does not take. */
  #refused(): void {
    const usable = [...this.#coins().values()].filter((coin) => coin.mine && this.#isMature(coin));
    if (usable.length === 0) return;
    const tx = this.#pay([this.#random.pick(usable)]);
    const { wallet } = this.fixture;
    wallet.store.write(() => wallet.ledger.addTransaction(tx, { in: 'nothing' }));
    wallet.sync.watchTransaction(tx);
  }

  /** Confirmed where a block has it, contradicted where a block has what spends the same, or what it stands on is. */
  #checkStates(): void {
    const { store } = this.fixture.wallet;
    const heights = new Map<string, number>();
    const spenders = new Map<string, { txid: string; height: number }>();
    for (const entry of this.#blocks)
      for (const { tx, txid } of this.#body(entry)) {
        heights.set(txid.toHex(), entry.height);
        for (const { prevout } of tx.inputs)
          spenders.set(nameOf(prevout.txid, prevout.vout), { txid: txid.toHex(), height: entry.height });
      }
    const waiting = new Set(this.#mempool.map(({ txid }) => txid.toHex()));
    const contradictedAt = new Map<string, number | null>();
    for (const { id, txid, state, height, coinbase } of store.reads.allTransactions()) {
      const name = txid.toHex();
      const { tx } = parseTransaction(store.txs.raw(id));
      let at: number | null = null;
      for (const { prevout } of tx.inputs) {
        const rival = spenders.get(nameOf(prevout.txid, prevout.vout));
        const heightsOfRivals = [
          !coinbase && rival && rival.txid !== name ? rival.height : null,
          contradictedAt.get(prevout.txid.toHex()) ?? null,
        ];
        for (const each of heightsOfRivals) if (each !== null) at = Math.min(at ?? each, each);
      }
      contradictedAt.set(name, at);
      if (heights.has(name)) expect([state, height]).toEqual([CONFIRMED, heights.get(name)!]);
      else if (waiting.has(name)) expect(state).toBe(IN_MEMPOOL);
      else if (coinbase) expect(state).toBe(ABANDONED);
      else if (at !== null && state !== ABANDONED) expect([state, height]).toEqual([CONTRADICTED, at]);
      else expect([INACTIVE, ABANDONED]).toContain(state);
    }
  }

  #expected(minDepth: number) {
    const sums = { trusted: 0, untrustedPending: 0, immature: 0 };
    const tip = this.fixture.chain.tip.height;
    const trusted = this.#trusted();
    for (const { txid, value, mine, height, coinbase } of this.#coins().values()) {
      if (!mine) continue;
      const depth = height === null ? 0 : tip - height + 1;
      if (coinbase && depth < MATURITY + 1) sums.immature += value;
      else if (depth > 0 || trusted.has(txid.toHex())) {
        if (depth >= minDepth) sums.trusted += value;
      } else sums.untrustedPending += value;
    }
    return sums;
  }

  /** Txids in the mempool that spend nothing but our own trusted outputs. */
  #trusted(): Set<string> {
    const trusted = new Set<string>();
    const outputs = this.#outputs();
    for (const { tx, txid } of this.#mempool) {
      const own = tx.inputs.every(({ prevout }) => {
        const coin = outputs.get(nameOf(prevout.txid, prevout.vout))!;
        return coin.mine && (coin.height !== null || trusted.has(prevout.txid.toHex()));
      });
      if (own) trusted.add(txid.toHex());
    }
    return trusted;
  }

  /** Every output of chain and mempool. */
  #outputs(): Map<string, Coin> {
    const outputs = new Map<string, Coin>();
    const add = ({ tx, txid }: ParsedTransaction, height: number | null, coinbase: boolean) => {
      for (const [vout, { value, scriptPubKey }] of tx.outputs.entries()) {
        const mine =
          this.#mine.includes(scriptPubKey) || this.#mine.some((own) => Buffer.compare(own, scriptPubKey) === 0);
        outputs.set(nameOf(txid, vout), { txid, vout, value: Number(value), mine, height, coinbase });
      }
    };
    for (const entry of this.#blocks) for (const [i, tx] of this.#body(entry).entries()) add(tx, entry.height, i === 0);
    for (const tx of this.#mempool) add(tx, null, false);
    return outputs;
  }

  /** Coins that neither the chain nor the mempool spends. */
  #coins(withMempool = true): Map<string, Coin> {
    const coins = this.#outputs();
    const spend = ({ tx }: ParsedTransaction) => {
      for (const { prevout } of tx.inputs) coins.delete(nameOf(prevout.txid, prevout.vout));
    };
    for (const entry of this.#blocks) for (const tx of this.#body(entry)) spend(tx);
    if (withMempool) for (const tx of this.#mempool) spend(tx);
    else for (const [name, { height }] of coins) if (height === null) coins.delete(name);
    return coins;
  }

  #body(entry: ChainEntry): readonly ParsedTransaction[] {
    return this.fixture.chain.bodies.get(entry)!.txs;
  }

  #isMature({ coinbase, height }: Coin): boolean {
    return !coinbase || this.fixture.chain.tip.height + 1 - height! >= MATURITY;
  }

  /** Pays a few outputs from some coins: sometimes ones that the mempool spends already, which are replaced. */
  #send(): void {
    const random = this.#random;
    const replace = random.once(4);
    const usable = [...this.#coins(!replace).values()].filter((coin) => this.#isMature(coin));
    if (usable.length === 0) return;
    const spent = new Map<string, Coin>();
    // Ours are rare in a big chain.
    const ours = usable.filter(({ mine }) => mine);
    for (let i = 0; i <= random.int(2); i++) {
      const coin = random.pick(ours.length > 0 && !random.once(3) ? ours : usable);
      spent.set(nameOf(coin.txid, coin.vout), coin);
    }
    const tx = this.#pay([...spent.values()]);
    const doomed = this.#mempool.filter((other) => spends(other, spent));
    this.#drop(doomed);
    this.#mempool.push(tx);
    this.#added(tx);
  }

  #pay(inputs: readonly Coin[]): ParsedTransaction {
    const random = this.#random;
    const total = inputs.reduce((sum, { value }) => sum + value, 0);
    const outputs: { value: bigint; scriptPubKey: Uint8Array }[] = [];
    let left = total - random.int(1000);
    for (let i = random.int(3); i >= 0 && left > 0; i--) {
      const value = i === 0 ? left : Math.floor(left / (2 + random.int(3)));
      outputs.push({ value: BigInt(value), scriptPubKey: this.#destination() });
      left -= value;
    }
    return parsed({
      version: 2,
      locktime: ++this.#made,
      inputs: inputs.map(({ txid, vout }) => ({
        prevout: { txid, vout },
        scriptSig: new Uint8Array(0),
        sequence: 0,
        witness: [],
      })),
      outputs,
    });
  }

  #destination(): Uint8Array {
    if (this.#random.once(2)) return this.#random.pick(FOREIGN);
    // New addresses as well, so that the wallet looks further ahead.
    if (this.#random.once(8)) this.#mine.push(this.fixture.script('bech32'));
    return this.#random.pick(this.#mine);
  }

  /** Takes transactions out of the mempool with all that spends them. */
  #drop(doomed: readonly ParsedTransaction[]): void {
    const gone = new Set(doomed);
    for (const tx of this.#mempool)
      if ([...gone].some(({ txid }) => tx.tx.inputs.some(({ prevout }) => Buffer.compare(prevout.txid, txid) === 0)))
        gone.add(tx);
    this.#mempool = this.#mempool.filter((tx) => !gone.has(tx));
    for (const { txid } of gone) this.fixture.wallet.sync.mempoolRemoved(txid);
  }

  #added(tx: ParsedTransaction): void {
    this.fixture.wallet.sync.mempoolAdded(tx);
  }

  #evict(): void {
    if (this.#mempool.length > 0) this.#drop([this.#random.pick(this.#mempool)]);
  }

  #restart(): void {
    void this.fixture.reopen();
    // The steps of the model do not wait for the check of the file.
    this.fixture.wallet.integrity.trust();
    void this.fixture.wallet.sync.catchUp();
    for (const tx of this.#mempool) this.#added(tx);
  }

  /** Some of the mempool, parents first, and sometimes what contradicts it. */
  #block(parent: ChainEntry, candidates: readonly ParsedTransaction[], mine = this.#random.once(3)): ChainEntry {
    const inside = new Set<string>();
    const waiting = new Set(this.#mempool.map(({ txid }) => txid.toHex()));
    const txs = candidates.filter(({ tx, txid }) => {
      const ready = tx.inputs.every(({ prevout }) => {
        const name = prevout.txid.toHex();
        return inside.has(name) || !waiting.has(name);
      });
      if (!ready || this.#random.once(3)) return false;
      inside.add(txid.toHex());
      return true;
    });
    return this.fixture.chain.make(parent, [this.#coinbase(mine), ...txs]);
  }

  #coinbase(mine: boolean): ParsedTransaction {
    const tx: Transaction = {
      version: 1,
      locktime: ++this.#made,
      inputs: [
        {
          prevout: { txid: new Uint8Array(32) as Txid, vout: NULL_VOUT },
          scriptSig: Uint8Array.of(1, 2),
          sequence: 0,
          witness: [],
        },
      ],
      outputs: [
        { value: 5_000_000_000n, scriptPubKey: mine ? this.#random.pick(this.#mine) : this.#random.pick(FOREIGN) },
      ],
    };
    return parsed(tx);
  }

  #mineBlock(): void {
    const random = this.#random;
    const candidates = [...this.#mempool];
    if (random.once(3)) {
      // Never seen before, and perhaps against something that waits.
      const usable = [...this.#coins(false).values()].filter((coin) => this.#isMature(coin));
      const coin = usable.length > 0 && random.pick(usable);
      if (coin) {
        const rival = this.#pay([coin]);
        const name = new Map([[nameOf(coin.txid, coin.vout), coin]]);
        const against = candidates.filter((tx) => spends(tx, name));
        for (const tx of against) candidates.splice(candidates.indexOf(tx), 1);
        candidates.push(rival);
      }
    }
    this.#connect([this.#block(this.fixture.chain.tip, candidates)], [], []);
  }

  #reorg(): void {
    const random = this.#random;
    const depth = 1 + random.int(Math.min(4, this.#blocks.length - MATURITY - 9));
    if (this.#blocks.length <= MATURITY + 9) return;
    const disconnected = this.#blocks.splice(-depth).reverse();
    const parent = disconnected.at(-1)!.parent!;
    this.fixture.chain.tip = parent;
    // Transactions of disconnected blocks return to the mempool where their coins exist, the oldest first.
    const back = disconnected.toReversed().flatMap((entry) => this.#body(entry).slice(1));
    const before = this.#mempool;
    this.#mempool = [];
    for (const tx of [...back, ...before]) if (this.#fits(tx)) this.#mempool.push(tx);
    const blocks: ChainEntry[] = [];
    let on = parent;
    let candidates = [...this.#mempool];
    for (let i = 0; i <= depth; i++) {
      const block = this.#block(on, candidates);
      const inside = new Set(this.fixture.chain.bodies.get(block)!.txs);
      candidates = candidates.filter((tx) => !inside.has(tx));
      blocks.push(block);
      on = block;
    }
    this.#mempool = before;
    this.#connect(blocks, disconnected, back);
  }

  /** Whether a transaction could be in the mempool, which stands on the blocks there are. */
  #fits({ tx }: ParsedTransaction): boolean {
    const coins = this.#coins();
    return tx.inputs.every(({ prevout }) => {
      const coin = coins.get(nameOf(prevout.txid, prevout.vout));
      return coin !== undefined && this.#isMature(coin);
    });
  }

  /** The chain moves, then the mempool follows it, then the wallet hears of both in that order. */
  #connect(connected: ChainEntry[], disconnected: readonly ChainEntry[], back: readonly ParsedTransaction[]): void {
    const { chain, wallet } = this.fixture;
    this.#blocks.push(...connected);
    chain.tip = connected.at(-1)!;
    const before = this.#mempool;
    const confirmed = new Set(connected.flatMap((entry) => this.#body(entry).map(({ txid }) => txid.toHex())));
    const old = new Set(before);
    this.#mempool = [];
    const order = [...back.filter((tx) => !old.has(tx)), ...before];
    for (const tx of order) {
      // Not all that was in dropped blocks is taken again.
      const lost = !old.has(tx) && this.#random.once(2);
      if (!lost && !confirmed.has(tx.txid.toHex()) && this.#fits(tx)) this.#mempool.push(tx);
    }
    const bodies = connected.map((entry) => chain.bodies.get(entry)!);
    wallet.sync.onChainMoved({ disconnected, connected, bodies, tip: chain.tip });
    const now = new Set(this.#mempool);
    for (const tx of before) if (!now.has(tx)) wallet.sync.mempoolRemoved(tx.txid);
    for (const tx of this.#mempool) if (!old.has(tx)) wallet.sync.mempoolAdded(tx);
  }

  [Symbol.dispose](): void {
    this.fixture[Symbol.dispose]();
  }
}

function spends({ tx }: ParsedTransaction, coins: ReadonlyMap<string, unknown>): boolean {
  return tx.inputs.some(({ prevout }) => coins.has(nameOf(prevout.txid, prevout.vout)));
}

test('balances equal those computed from chain and mempool', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 10, max: 60 }), (seed, steps) => {
      using world = new World(seed);
      world.check();
      for (let i = 0; i < steps; i++) {
        world.step();
        world.check();
      }
    }),
    { numRuns: 12, endOnFailure: true },
  );
}, 120_000);
