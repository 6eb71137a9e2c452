import { describe, expect, test } from 'bun:test';
import { hashToHex } from '../../src/primitives/hash.ts';
import { RegtestChain, type TestBlock } from '../lib/chain-builder.ts';
import { inlineVerifier, lateVerifier, TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { branchOf, openScript, POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { coinOf, spend, type TestCoin } from '../lib/tx-builder.ts';

/** Spends a coin without a fee. */
const move = (coin: TestCoin, to: Uint8Array) => spend(coin, [{ to, value: coin.output.value }], { sign: false });
const fresh = (n: number) => openScript(1000 + n);
const stateAt = (tip: TestBlock) => new ModelChain(branchOf(tip)).state();

function expectState(node: TestNode, tip: TestBlock): void {
  expect(node.tip).toBe(hashToHex(tip.hash));
  expect(differences(node.state(), stateAt(tip))).toEqual([]);
}

async function nodeOn(chain: RegtestChain): Promise<TestNode> {
  const node = new TestNode();
  await node.take(chain.blocks.slice(1));
  return node;
}

describe('a branch with more work', () => {
  for (const depth of [1, 2, 3, 10])
    test(`replaces ${depth} blocks with their coins`, async () => {
      const chain = trunkWithCoins();
      const fork = chain.fork();
      await using node = await nodeOn(chain);
      let last = chain.coinsOf(openScript(1))[0]!;
      for (let i = 0; i < depth; i++) {
        const tx = move(last, fresh(i));
        await node.take([chain.mine(1, { txs: [tx] })]);
        last = coinOf(tx, 0);
      }
      expectState(node, chain.tip);
      // The same coin is spent by another transaction.
      fork.mine(1, { txs: [move(fork.coinsOf(openScript(1))[0]!, fresh(50))] });
      fork.mine(depth);
      const coming = fork.blocks.slice(-depth - 1);
      await node.take(coming.slice(0, -1));
      // With equal work the first seen branch stays active.
      expectState(node, chain.tip);
      await node.take(coming.slice(-1));
      expectState(node, fork.tip);
      // And back in one step.
      chain.mine(2);
      await node.take(chain.blocks.slice(-2));
      expectState(node, chain.tip);
    });

  test('contains the same transactions in other blocks and positions', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    await using node = await nodeOn(chain);
    const [a, b, c] = chain.coinsOf(openScript(2));
    const first = move(a!, fresh(1));
    const second = move(b!, fresh(2));
    const third = move(c!, fresh(3));
    const child = move(coinOf(first, 0), openScript(3));
    chain.mine(1, { txs: [first, second, child] });
    chain.mine(1, { txs: [third] });
    await node.take(chain.blocks.slice(-2));
    fork.mine(1, { txs: [third, second] });
    fork.mine(1, { txs: [first] });
    fork.mine(1, { txs: [child] });
    await node.take(fork.blocks.slice(-3));
    expectState(node, fork.tip);
  });

  // The coin keeps its position, so the UTXO set does not change; the row of its script must still count it.
  test('contains the same transaction at the same position, with a script that was new in the old branch', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    await using node = await nodeOn(chain);
    const tx = move(chain.coinsOf(openScript(2))[0]!, fresh(1));
    await node.take([chain.mine(1, { txs: [tx] })]);
    fork.mine(1, { txs: [tx] });
    fork.mine();
    await node.take(fork.blocks.slice(-2));
    expectState(node, fork.tip);
  });

  test('contains it at the same position after other new scripts', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    await using node = await nodeOn(chain);
    const [a, b] = chain.coinsOf(openScript(2));
    const tx = move(a!, fresh(1));
    await node.take([chain.mine(1, { txs: [tx] })]);
    // Its script is the second new one here, so its id differs.
    fork.mine(1, { txs: [tx, move(b!, fresh(2))], to: fresh(3) });
    fork.mine();
    await node.take(fork.blocks.slice(-2));
    expectState(node, fork.tip);
  });

  test('spends the coins that the old branch spent, in one commit with its own coins', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    await using node = await nodeOn(chain);
    const [coin] = chain.coinsOf(openScript(4));
    const tx = move(coin!, fresh(7));
    await node.take([chain.mine(1, { txs: [tx, move(coinOf(tx, 0), fresh(8))] })]);
    fork.mine(1, { txs: [tx] });
    fork.mine(1, { txs: [move(coinOf(tx, 0), fresh(9))] });
    await node.take(fork.blocks.slice(-2));
    expectState(node, fork.tip);
    await node.restart();
    expectState(node, fork.tip);
  });

  test('is not reported before the first commit', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork(100);
    fork.mine(8);
    await using node = new TestNode({ verifier: lateVerifier(() => 5) });
    await node.accept(chain.blocks.slice(1));
    await node.accept(fork.blocks.slice(101));
    await node.chain.settle();
    expectState(node, fork.tip);
  });
});

describe('a connected block that turns out to be invalid', () => {
  const poisoned = (chain: RegtestChain) => move(chain.coinsOf(POISON)[0]!, openScript(1));
  const EVAL_FALSE =
    'block-script-verify-flag-failed (Script evaluated without error but finished with a false/empty top stack element)';

  for (const verifier of [inlineVerifier, lateVerifier(() => 10)])
    test(`deep in a heavier branch${verifier === inlineVerifier ? '' : ', late'}`, async () => {
      const chain = trunkWithCoins();
      const fork = chain.fork();
      await using node = new TestNode({ verifier });
      chain.mine(3);
      await node.take(chain.blocks.slice(1));
      const invalid: string[] = [];
      node.chain.onInvalidBlock(({ hash }, { reason }) => invalid.push(hashToHex(hash), reason));
      fork.mine(1);
      const bad = fork.mine(1, { txs: [poisoned(fork)] });
      fork.mine(4);
      for (const block of fork.blocks.slice(-6)) await node.chain.acceptBlock(block.raw);
      await node.chain.settle();
      expectState(node, chain.tip);
      expect(invalid).toEqual([hashToHex(bad.hash), EVAL_FALSE]);
      expect(hashToHex(node.chain.bestHeader.hash)).toBe(hashToHex(chain.tip.hash));
      expect(await node.submit(bad)).toBe('duplicate-invalid');
      // Blocks were accepted before its verification ended; none is afterwards.
      expect(await node.submit(fork.at(bad.height + 1))).toBe('duplicate-invalid');
      const sibling = fork.fork(bad.height).mine();
      expect(await node.submit(sibling)).toBe('bad-prevblk');
      await node.restart();
      expectState(node, chain.tip);
      expect(await node.submit(bad)).toBe('duplicate-invalid');
      expect(await node.submit(chain.mine())).toBe('accepted');
      expectState(node, chain.tip);
    });

  test('is reported when the chain without it is committed, also during initial block download', async () => {
    const chain = trunkWithCoins();
    await using node = new TestNode({ verifier: lateVerifier(() => 10) });
    const last = chain.height;
    const bad = chain.mine(1, { txs: [poisoned(chain)] });
    chain.mine(2);
    const reported = Promise.withResolvers<[hash: string, committed: number]>();
    node.chain.onInvalidBlock(({ hash }) => reported.resolve([hashToHex(hash), node.chain.tip.height]));
    for (const block of chain.blocks.slice(1)) await node.chain.acceptBlock(block.raw);
    expect(node.chain.initialSync).toBe(true);
    expect(await reported.promise).toEqual([hashToHex(bad.hash), last]);
  });

  test('is left together with a long line of blocks on top of it', async () => {
    const chain = trunkWithCoins();
    const good = chain.height + 2;
    chain.mine(2);
    const rival = chain.fork();
    chain.mine(1, { txs: [poisoned(chain)] });
    chain.mine(10);
    await using node = new TestNode({ verifier: lateVerifier(() => 30) });
    for (const block of chain.blocks.slice(1)) {
      await node.chain.acceptBlock(block.raw);
      // A commit is due after each block, so some blocks are sealed before the result arrives.
      node.clock.advance(6000);
    }
    await node.chain.settle();
    expectState(node, chain.at(good));
    await node.take([rival.mine()]);
    expectState(node, rival.tip);
  });

  test('is reported with its reason by submitBlock, and the next valid block connects', async () => {
    const chain = trunkWithCoins();
    await using node = await nodeOn(chain);
    expect(await node.submit(chain.build({ txs: [poisoned(chain)] }))).toBe(EVAL_FALSE);
    expect(await node.submit(chain.mine())).toBe('accepted');
    expectState(node, chain.tip);
  });

  test('fails for missing coins when it connects, and the old branch becomes active again', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    const [coin] = chain.coinsOf(openScript(1));
    const tx = move(coin!, fresh(1));
    chain.mine(2, { txs: [tx] });
    await using node = await nodeOn(chain);
    fork.mine(1, { txs: [move(coin!, fresh(2))] });
    fork.mine(1, { txs: [tx] });
    fork.mine();
    const outcomes: string[] = [];
    for (const block of fork.blocks.slice(-3)) outcomes.push(await node.submit(block));
    // On a branch with less work coins are not checked; the last block makes it the best.
    expect(outcomes).toEqual(['accepted', 'accepted', 'bad-prevblk']);
    expectState(node, chain.tip);
    expect(await node.submit(fork.at(fork.height - 1))).toBe('duplicate-invalid');
  });
});

describe('blocks that arrive in another order', () => {
  test('are rejected without their parent and accepted later', async () => {
    const chain = new RegtestChain();
    chain.mine(3);
    await using node = new TestNode();
    expect(await node.submit(chain.at(2))).toBe('prev-blk-not-found');
    expect(await node.submit(chain.at(1))).toBe('accepted');
    expect(await node.submit(chain.at(3))).toBe('prev-blk-not-found');
    expect(await node.submit(chain.at(2))).toBe('accepted');
    expect(await node.submit(chain.at(2))).toBe('known');
    expectState(node, chain.at(2));
  });

  test('may alternate between two branches', async () => {
    const chain = trunkWithCoins();
    await using node = await nodeOn(chain);
    const forks = [chain.fork(), chain.fork(), chain.fork()];
    for (let i = 0; i < 4; i++)
      for (const [n, fork] of forks.entries()) {
        const spends = fork.coinsOf(openScript(n + 1)).slice(i, i + 1);
        await node.take([fork.mine(1, { txs: spends.map((coin) => move(coin, fresh(i))) })]);
      }
    // All have equal work: the first stays.
    expectState(node, forks[0]!.tip);
    for (const fork of forks.toReversed()) {
      fork.mine(2);
      await node.take(fork.blocks.slice(-2));
      if (fork === forks[2]) expectState(node, fork.tip);
    }
    expectState(node, forks[2]!.tip);
  });

  // Core prefers the previously active chain among those with equal work.
  test('the active chain stays active after a restart even if the header of its equal arrived first', async () => {
    const chain = new RegtestChain();
    chain.mine(2);
    const first = chain.fork();
    const second = chain.fork();
    first.mine();
    second.mine();
    await using node = await nodeOn(chain);
    // Only its header is stored: four bytes of locktime follow the witness of the coinbase.
    const broken = first.tip.raw.slice();
    broken[broken.length - 5]! ^= 1;
    expect(await node.submit(broken)).toBe('bad-witness-merkle-match');
    expect(await node.submit(second.tip)).toBe('accepted');
    expect(await node.submit(first.tip)).toBe('accepted');
    expectState(node, second.tip);
    await node.restart();
    const other = chain.fork();
    expect(await node.submit(other.mine())).toBe('accepted');
    expectState(node, second.tip);
  });

  // A commit may happen between two blocks of a long branch whose bodies are stored.
  test('a start activates the best chain whose blocks are stored', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    fork.mine(6);
    const [first, ...rest] = fork.blocks.slice(-6);
    await using node = await nodeOn(chain);
    const twin = first!.raw.slice();
    twin[twin.length - 5]! ^= 1;
    expect(await node.submit(twin)).toBe('bad-witness-merkle-match');
    await node.take(rest);
    expectState(node, chain.tip);
    const killed: TestNode[] = [];
    node.chain.onBlockConnected(() => node.clock.advance(6000));
    node.chain.onCommit(({ tip }) => {
      if (tip.height < fork.height && killed.length === 0) killed.push(new TestNode({ from: node.dir }));
    });
    await node.take([first!]);
    expectState(node, fork.tip);
    expect(killed).toHaveLength(1);
    await using again = killed[0]!;
    await again.chain.settle();
    expectState(again, fork.tip);
  });
});
