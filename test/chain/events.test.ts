import { describe, expect, test } from 'bun:test';
import type { ChainCommit } from '../../src/chain/events.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { type Transaction, txidOf } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import { RegtestChain, type TestBlock } from '../lib/chain-builder.ts';
import { type NodeOptions, TestNode } from '../lib/chain-fixture.ts';
import { openScript, trunkWithCoins } from '../lib/fork-tree.ts';
import { spend } from '../lib/tx-builder.ts';

const hex = ({ hash }: TestBlock) => hashToHex(hash);
const NEW_BLOCK_FIELDS = [
  'bits',
  'blockTime',
  'chainwork',
  'confirmations',
  'difficulty',
  'fees',
  'hash',
  'headers',
  'height',
  'initialSync',
  'medianTime',
  'merkleRoot',
  'nonce',
  'previousHash',
  'reorg',
  'reward',
  'seq',
  'size',
  'strippedSize',
  'subsidy',
  'time',
  'txCount',
  'version',
  'weight',
];

/** Type, height and hash of each event. */
const eventLines = (node: TestNode, after = 0) =>
  node.events(after).map(({ type, payload }) => `${type} ${payload.height} ${payload.hash}`);

async function nodeOn(chain: RegtestChain, options: NodeOptions = {}): Promise<TestNode> {
  const node = new TestNode(options);
  await node.take(chain.blocks.slice(1));
  return node;
}

describe('newBlock', () => {
  test('is stored for each block with the fields of header and body', async () => {
    const chain = trunkWithCoins();
    const block = chain.tip;
    await using node = await nodeOn(chain);
    const events = node.events();
    expect(events.map(({ type }) => type)).toEqual(Array(105).fill('newBlock'));
    expect(events.map(({ payload }) => payload.height)).toEqual([...Array(105).keys()]);
    const { payload, seq } = events.at(-1)!;
    expect(Object.keys(payload).sort()).toEqual(NEW_BLOCK_FIELDS);
    const { raw, strippedSize } = block.parsed();
    expect(payload).toEqual({
      seq,
      time: 1_800_000_000,
      hash: hex(block),
      height: 104,
      previousHash: hex(block.parent!),
      version: 0x2000_0000,
      merkleRoot: hashToHex(block.header.merkleRoot),
      blockTime: block.time,
      medianTime: block.medianTimePast,
      bits: '207fffff',
      nonce: block.header.nonce,
      difficulty: expect.any(Number),
      chainwork: '00000000000000000000000000000000000000000000000000000000000000d2',
      txCount: 3,
      size: raw.length,
      strippedSize,
      weight: strippedSize * 3 + raw.length,
      // 50 coins minus the outputs of the two transactions.
      fees: 50_0000_0000 - 40 * 1_0000_0000 - (40 * 39) / 2 + 50_0000_0000 - 4 * 1_0000_0000 - 6,
      subsidy: 50_0000_0000,
      reward: 150_0000_0000 - 40 * 1_0000_0000 - (40 * 39) / 2 - 4 * 1_0000_0000 - 6,
      confirmations: 1,
      reorg: false,
      initialSync: true,
      headers: 104,
    });
    // Core prints sixteen digits.
    expect((payload.difficulty as number).toPrecision(16)).toBe('4.656542373906925e-10');
    expect(events[0]!.payload).toMatchObject({ height: 0, previousHash: null, txCount: 1, fees: 0 });
  });

  test('marks the end of initial sync, and has the subsidy after a halving', async () => {
    const chain = new RegtestChain();
    chain.mine(150);
    await using node = await nodeOn(chain, { nowMs: (chain.tip.time + 60) * 1000 });
    expect(node.chain.initialSync).toBe(false);
    await node.take([chain.mine()]);
    const [before, last] = node.events().slice(-2);
    expect(before!.payload).toMatchObject({ height: 150, subsidy: 25_0000_0000 });
    expect(last!.payload).toMatchObject({ height: 151, initialSync: false, reward: 25_0000_0000 });
  });
});

describe('a reorg', () => {
  test('is stored from the old tip down, then from the fork point up, in one commit', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    const coin = chain.coinsOf(openScript(1))[0]!;
    const other = chain.coinsOf(openScript(2))[0]!;
    const tx = spend(coin, [{ to: openScript(9), value: 1n }], { sign: false });
    const kept = spend(other, [{ to: openScript(9), value: 1n }], { sign: false });
    const rival = spend(coin, [{ to: openScript(8), value: 1n }], { sign: false });
    chain.mine(1, { txs: [tx, kept] });
    chain.mine(1);
    await using node = await nodeOn(chain);
    const { lastSeq } = node.chain;
    const commits: ChainCommit[] = [];
    node.chain.onCommit((commit) => commits.push(commit));
    fork.mine(1);
    fork.mine(1, { txs: [kept, rival] });
    fork.mine(1);
    await node.take(fork.blocks.slice(-3));
    expect(eventLines(node, lastSeq).slice(0, 5)).toEqual([
      `blockDisconnected 106 ${hex(chain.at(106))}`,
      `blockDisconnected 105 ${hex(chain.at(105))}`,
      `newBlock 105 ${hex(fork.at(105))}`,
      `newBlock 106 ${hex(fork.at(106))}`,
      `newBlock 107 ${hex(fork.at(107))}`,
    ]);
    const [first, second, third] = node.events(lastSeq).map(({ payload }) => payload);
    expect(first).toEqual({
      seq: lastSeq + 1,
      time: 1_800_000_000,
      hash: hex(chain.at(106)),
      height: 106,
      previousHash: hex(chain.at(105)),
      txids: chain.at(106).txs.map((one) => hashToHex(txidOf(one))),
      depth: 1,
    });
    expect(second).toMatchObject({ depth: 2, txids: chain.at(105).txs.map((one) => hashToHex(txidOf(one))) });
    expect(third).toMatchObject({ reorg: true });
    const commit = commits.at(-1)!;
    expect(commit.lastSeq).toBe(lastSeq + 6);
    const [reorg] = node.events(lastSeq + 5);
    const paid = ({ outputs }: Transaction) =>
      outputs.map(({ value, scriptPubKey }, n) => ({
        n,
        value: Number(value),
        address: addressOf(scriptPubKey, regtest.address),
      }));
    const dropped = (height: number) => ({
      txid: hashToHex(txidOf(chain.at(height).txs[0]!)),
      fate: 'dropped',
      conflict: null,
      outputs: paid(chain.at(height).txs[0]!),
    });
    expect(reorg?.type).toBe('reorg');
    expect(reorg?.payload).toEqual({
      seq: lastSeq + 6,
      time: 1_800_000_000,
      forkHeight: 104,
      forkHash: hex(chain.at(104)),
      oldTip: { height: 106, hash: hex(chain.at(106)) },
      newTip: { height: 107, hash: hex(fork.at(107)) },
      disconnected: [hex(chain.at(106)), hex(chain.at(105))],
      connected: [hex(fork.at(105)), hex(fork.at(106)), hex(fork.at(107))],
      depth: 2,
      txs: [
        dropped(105),
        { txid: hashToHex(txidOf(tx)), fate: 'conflicted', conflict: hashToHex(txidOf(rival)), outputs: paid(tx) },
        { txid: hashToHex(txidOf(kept)), fate: 'reconfirmed', conflict: null, outputs: paid(kept) },
        dropped(106),
      ],
      txsComplete: true,
    });
    expect(commit.disconnected.map(({ height }) => height)).toEqual([106, 105]);
    expect(commit.connected.map(({ height }) => height)).toEqual([105, 106, 107]);
    expect(hashToHex(commit.tip.hash)).toBe(hex(fork.tip));
    expect(commits).toHaveLength(1);
  });

  test('to a branch that turns out to be invalid has no events', async () => {
    const chain = trunkWithCoins();
    const fork = chain.fork();
    chain.mine(2);
    await using node = await nodeOn(chain);
    const { lastSeq } = node.chain;
    fork.mine(2);
    fork.mine(1, { coinbaseValue: 99_0000_0000n });
    for (const block of fork.blocks.slice(-3)) await node.submit(block);
    expect(node.tip).toBe(hex(chain.tip));
    expect(eventLines(node, lastSeq)).toEqual([]);
    expect(node.chain.lastSeq).toBe(lastSeq);
  });

  test('among uncommitted blocks has no events', async () => {
    const chain = new RegtestChain();
    chain.mine(3);
    const fork = chain.fork(1);
    fork.mine(4);
    await using node = new TestNode();
    await node.accept(chain.blocks.slice(1));
    await node.accept(fork.blocks.slice(2));
    await node.chain.settle();
    expect(eventLines(node)).toEqual(fork.blocks.map((block) => `newBlock ${block.height} ${hex(block)}`));
  });
});

describe('event numbers', () => {
  const seqs = (node: TestNode) => node.events().map(({ seq }) => seq);
  const rising = (list: number[]) => list.every((seq, i) => i === 0 || seq > list[i - 1]!);

  test('increase by one, and continue above the reserved range after each start', async () => {
    const chain = new RegtestChain();
    await using node = new TestNode();
    for (let run = 0; run < 3; run++) {
      chain.mine(2);
      await node.take(chain.blocks.slice(-2));
      await node.restart();
    }
    const list = seqs(node);
    expect(list).toHaveLength(7);
    expect(rising(list)).toBe(true);
    for (const { seq, payload } of node.events()) expect(payload.seq).toBe(seq);
    expect(node.chain.lastSeq).toBe(list.at(-1)!);
  });

  test('are issued once even if the process is killed', async () => {
    const chain = new RegtestChain();
    chain.mine(3);
    await using node = await nodeOn(chain);
    // The state after a crash: nothing is closed.
    await using killed = new TestNode({ from: node.dir });
    expect(seqs(killed)).toEqual(seqs(node));
    await killed.take([chain.mine()]);
    expect(rising(seqs(killed))).toBe(true);
    expect(seqs(killed).at(-1)!).toBeGreaterThan(node.chain.lastSeq);
  });

  test('are issued once even if a power failure undoes commits', async () => {
    const chain = new RegtestChain();
    chain.mine(3);
    await using node = await nodeOn(chain);
    await using cut = new TestNode({ from: node.dir });
    await node.take([chain.mine()]);
    await node.take([chain.mine()]);
    await cut.take(chain.blocks.slice(-2));
    expect(eventLines(cut)).toEqual(eventLines(node));
    expect(seqs(cut).at(-2)!).toBeGreaterThan(node.chain.lastSeq);
  });
});
