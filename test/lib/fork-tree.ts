import type { PlannedJob } from '../../src/chain/chain-indexes.ts';
import { type IndexJobResult, runIndexJob } from '../../src/indexes/index-job.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { pushNumber, scriptOf } from '../../src/script/script-builder.ts';
import type { IndexSwitches } from '../../src/storage/index-store.ts';
import { RegtestChain, type TestBlock } from './chain-builder.ts';
import { ALL_INDEXES, LONG_AFTER_MS, lateVerifier, TestNode } from './chain-fixture.ts';
import { differences, dumpSpenders, expectedSpenders, ModelChain } from './chain-state.ts';
import { FilterModel } from './filter-model.ts';
import { coinOf, spend, type TestCoin } from './tx-builder.ts';

/** A source of small whole numbers: from 0 to below `below`. */
export type Dice = (below: number) => number;

/** Repeatable; mulberry32. */
export function diceOf(seed: number): Dice {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** A script that anyone may spend with an empty input. */
export function openScript(n: number): Uint8Array {
  return scriptOf(pushNumber(n), Op.OP_DROP, Op.OP_1);
}

/** A script that cannot be spent, although the set keeps it: spending it makes a block invalid at its scripts. */
export const POISON = Uint8Array.of(Op.OP_0);
const DATA = scriptOf(Op.OP_RETURN, Uint8Array.of(1, 7));
const POPULAR_SCRIPTS = 5;

/** A trunk of blocks whose last one has coins to spend that are no coinbases. */
export function trunkWithCoins(coins = 40): RegtestChain {
  const trunk = new RegtestChain({ to: openScript(0) });
  trunk.mine(103);
  const split = (height: number, to: (i: number) => Uint8Array, count: number) =>
    spend(
      trunk.coin(height),
      Array.from({ length: count }, (_, i) => ({ to: to(i), value: 1_0000_0000n + BigInt(i) })),
      { sign: false },
    );
  trunk.mine(1, { txs: [split(1, (i) => openScript(i % POPULAR_SCRIPTS), coins), split(2, () => POISON, 4)] });
  return trunk;
}

/** Grows branches at random, and knows which chain must be active in the end. */
class ForkTree {
  readonly #dice: Dice;
  readonly #branches: RegtestChain[];
  readonly #invalid = new Set<TestBlock>();
  /** Transactions of all branches: a new block may hold those of another one. */
  readonly #known: Transaction[] = [];
  readonly #trunkHeight: number;
  readonly #poison: boolean;
  #fresh = 100;

  constructor(trunk: RegtestChain, dice: Dice, { poison = false } = {}) {
    this.#dice = dice;
    this.#branches = [trunk.fork()];
    this.#trunkHeight = trunk.height;
    this.#poison = poison;
  }

  /** Whether the block or an ancestor of it spends an unspendable coin. */
  isInvalid(block: TestBlock): boolean {
    for (let at: TestBlock | null = block; at !== null; at = at.parent) if (this.#invalid.has(at)) return true;
    return false;
  }

  /** The end of the valid chain with the most work among blocks that arrived in this order, parents first. */
  best(arrived: readonly TestBlock[]): TestBlock | null {
    let best: TestBlock | null = null;
    for (const block of arrived)
      if (!this.isInvalid(block) && (best === null || block.height > best.height)) best = block;
    return best;
  }

  /** One more block somewhere. */
  grow(): TestBlock {
    let branch = this.#branches[this.#dice(this.#branches.length)]!;
    // Mostly where the race is close: an old branch is of no use.
    if (this.#dice(3) > 0) branch = this.#branches.reduce((a, b) => (b.height > a.height ? b : a));
    if (this.#dice(4) === 0) {
      const back = this.#dice(Math.min(6, branch.height - this.#trunkHeight + 1));
      branch = branch.fork(branch.height - back);
      this.#branches.push(branch);
    }
    const { txs, poisoned } = this.#transactions(branch);
    const block = branch.mine(1, { txs, to: this.#destination() });
    if (poisoned) this.#invalid.add(block);
    return block;
  }

  #transactions(branch: RegtestChain): { txs: Transaction[]; poisoned: boolean } {
    const dice = this.#dice;
    const coins = [...branch.coins.values()].filter(({ position = 0 }) => position % 2 ** 20 > 0);
    const open = new Map<string, TestCoin>(coins.map((coin) => [nameOf(coin), coin]));
    const txs: Transaction[] = [];
    let poisoned = false;
    const add = (tx: Transaction, known: boolean) => {
      for (const { prevout } of tx.inputs) open.delete(nameOf({ outpoint: prevout }));
      for (let vout = 0; vout < tx.outputs.length; vout++) {
        const coin = coinOf(tx, vout);
        if (coin.output.scriptPubKey[0] !== Op.OP_RETURN) open.set(nameOf(coin), coin);
      }
      txs.push(tx);
      if (!known) this.#known.push(tx);
    };
    for (const tx of this.#known)
      if (dice(2) === 0 && tx.inputs.every(({ prevout }) => open.has(nameOf({ outpoint: prevout })))) add(tx, true);
    for (let wanted = dice(5); wanted > 0; wanted--) {
      const spendable = [...open.values()].filter(({ output }) => output.scriptPubKey !== POISON && !isPoison(output));
      if (spendable.length === 0) break;
      const first = spendable[dice(spendable.length)]!;
      const second = spendable[dice(spendable.length)]!;
      add(this.#payment(first === second || dice(2) === 0 ? [first] : [first, second]), false);
    }
    if (this.#poison && dice(12) === 0) {
      const coin = [...open.values()].find(({ output }) => isPoison(output));
      if (coin) {
        // Not among the known ones: it would spoil every branch.
        add(this.#payment([coin]), true);
        poisoned = true;
      }
    }
    return { txs, poisoned };
  }

  #payment(coins: TestCoin[]): Transaction {
    const total = coins.reduce((sum, { output }) => sum + output.value, 0n);
    const count = 1 + this.#dice(3);
    const share = total / BigInt(count);
    const payees = Array.from({ length: count }, () => ({ to: this.#destination(), value: share }));
    // Sometimes an amount of nothing, and sometimes data.
    if (this.#dice(4) === 0) payees.push({ to: this.#destination(), value: 0n });
    if (this.#dice(4) === 0) payees.push({ to: DATA, value: 0n });
    return spend(coins, payees, { sign: false });
  }

  #destination(): Uint8Array {
    return this.#dice(3) === 0 ? openScript(this.#fresh++) : openScript(this.#dice(POPULAR_SCRIPTS));
  }
}

function nameOf({ outpoint: { txid, vout } }: Pick<TestCoin, 'outpoint'>): string {
  return `${txid.toHex()}:${vout}`;
}

function isPoison({ scriptPubKey }: TestCoin['output']): boolean {
  return scriptPubKey.length === 1 && scriptPubKey[0] === Op.OP_0;
}

/** A block and all before it, from height 1. */
export function branchOf(block: TestBlock | null): TestBlock[] {
  const blocks: TestBlock[] = [];
  for (let at = block; at !== null && at.height > 0; at = at.parent) blocks.push(at);
  return blocks.reverse();
}

/** Throws where the filters are not those of the chain that ends with this block. */
function checkFilters(node: TestNode, tip: TestBlock): void {
  const genesis = genesisBlock(node.params);
  const expected = new FilterModel([genesis, ...branchOf(tip).map(({ raw }) => raw)]).filters;
  node.read(({ filters }) => {
    for (const [height, { filter, header }] of expected.entries()) {
      const record = filters.get(node.chain.tip.ancestor(height)!.id);
      if (!record || filters.bytes(record).toHex() !== filter || hashToHex(record.header) !== header)
        throw new Error(`the filter at height ${height} is wrong`);
    }
  });
}

/** The tables of a state that are behind while indexes are off. */
function tablesOf({ tx, address, spender }: IndexSwitches): string[] {
  const off = tx ? [] : ['txIndex'];
  if (!address) off.push('scripts', 'history', 'scriptCoins');
  if (!tx && !address && !spender) off.push('txs');
  return off;
}

/**
 * Grows a tree of blocks and feeds them to a node in random order, parents first, with commits, restarts and verdicts
 * at random. Throws where the node is not as one that saw nothing but the best branch.
 */
export async function feedRandomTree(options: {
  readonly seed: number;
  readonly trunk: RegtestChain;
  /** Directory of a node that has the trunk. */
  readonly from: string;
  readonly blocks: number;
  readonly poison: boolean;
}): Promise<void> {
  const { seed, trunk, from, blocks, poison } = options;
  const dice = diceOf(seed * 2 + (poison ? 1 : 0));
  await using node = new TestNode({
    from,
    verifier: lateVerifier(() => dice(4)),
    coinsCacheBytes: dice(2) === 0 ? 1 : 2 ** 28,
    filters: true,
    indexes: ALL_INDEXES,
    // Half of them out of initial sync, where each block is committed when it comes.
    nowMs: dice(2) === 0 ? (trunk.tip.time + 14 * 3600) * 1000 : LONG_AFTER_MS,
  });
  const tree = new ForkTree(trunk, dice, { poison });
  // The trunk has no filters; they are built in between, and sometimes the node goes without.
  const filterDice = diceOf(seed + 1_000);
  let switches = ALL_INDEXES;
  const jobDice = diceOf(seed + 2_000);
  /** A job of the index build that runs while blocks arrive. */
  let running: { planned: PlannedJob; result: IndexJobResult } | null = null;
  const advanceJob = () => {
    const { indexes } = node.chain;
    if (running !== null) indexes.finishJob(running.planned, running.result);
    const planned = indexes.nextJob(1 + jobDice(5));
    running = planned && { planned, result: runIndexJob(planned.job) };
  };
  const waiting: TestBlock[] = [];
  let arrived: TestBlock[] = [];
  /** After a start, which of two equal branches that are not active was first is not known any more. */
  let restarted = false;
  const checkTip = (): TestBlock => {
    const best = tree.best(arrived) ?? trunk.tip;
    const equals = restarted
      ? arrived.filter((block) => block.height === best.height && !tree.isInvalid(block))
      : [best];
    const tip = [best, ...equals].find(({ hash }) => hashToHex(hash) === node.tip);
    if (!tip) throw new Error(`seed ${seed}: the tip is ${node.tip}`);
    return tip;
  };
  const checkState = () => {
    while (node.chain.indexes.progress().some(({ live }) => !live)) advanceJob();
    const blocksOfTip = branchOf(checkTip());
    const off = tablesOf(switches);
    const found = differences(node.state(), new ModelChain(blocksOfTip).state()).filter(
      (line) => !off.includes(line.split(' ')[0]!),
    );
    if (switches.spender && !Bun.deepEquals(dumpSpenders(node.dir), expectedSpenders(blocksOfTip)))
      found.push('the spender index is wrong');
    if (found.length > 0) throw new Error(`seed ${seed}:\n${found.join('\n')}`);
  };
  for (let i = 0; i < blocks; i++) {
    waiting.push(tree.grow());
    // Now and then a branch is held back, so that it comes all at once.
    while (waiting.length > (i === blocks - 1 ? 0 : dice(9))) {
      const ready = waiting.filter(({ parent }) => parent!.height <= trunk.height || arrived.includes(parent!));
      const block = ready[dice(ready.length)]!;
      waiting.splice(waiting.indexOf(block), 1);
      arrived.push(block);
      const outcome = await node.chain.acceptBlock(block.raw);
      if (outcome.status === 'rejected' && !tree.isInvalid(block))
        throw new Error(`seed ${seed}: a good block is refused: ${outcome.rejection.reason}`);
      // Time makes a commit due while more blocks are connected.
      if (dice(3) === 0) node.clock.advance(6000);
      if (jobDice(2) === 0) advanceJob();
      for (let n = filterDice(20); n > 0; n--) node.chain.filters?.buildMissing(0, node.clock);
    }
    const next = dice(8);
    // Not at the end: what it forgets would not come again.
    if (next === 0 && i < blocks - 1) {
      running = null;
      switches = { tx: jobDice(3) > 0, address: jobDice(3) > 0, spender: jobDice(3) > 0, coinStats: false };
      await node.restart({ filters: filterDice(3) > 0, indexes: switches });
      restarted = true;
      // Blocks that were still being validated are forgotten, and come again; among equals the active chain is the
      // first now.
      const known = arrived.filter(({ hash }) => node.chain.findEntry(hash)?.hasBody);
      waiting.push(...arrived.filter((block) => !known.includes(block)));
      const active = (block: TestBlock) => node.chain.tip.ancestor(block.height) === node.chain.findEntry(block.hash);
      arrived = [...known.filter(active), ...known.filter((block) => !active(block))];
    }
    if (next > 4) continue;
    await node.chain.settle();
    checkTip();
    if (next === 1) checkState();
  }
  await node.chain.settle();
  checkState();
  // A restart must find the same state, and the chain must continue from it.
  running = null;
  switches = ALL_INDEXES;
  await node.restart();
  node.chain.filters!.buildMissing(1, node.clock);
  arrived.push(tree.grow());
  await node.chain.submitBlock(arrived.at(-1)!.raw);
  checkState();
  checkFilters(node, checkTip());
}
