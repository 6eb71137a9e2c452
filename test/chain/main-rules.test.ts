import { describe, expect, test } from 'bun:test';
import { mainnet } from '../../src/params/mainnet.ts';
import type { NetworkParams } from '../../src/params/network-params.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { altBlocks } from '../lib/alt-chain.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { openScript, POISON, trunkWithCoins } from '../lib/fork-tree.ts';
import { spend } from '../lib/tx-builder.ts';
import { hasVectors } from '../lib/vectors.ts';

describe.skipIf(!hasVectors)('the main network', () => {
  test('accepts 2,016 blocks on its genesis block and the retarget after them', async () => {
    const blocks = altBlocks();
    await using node = new TestNode({ params: mainnet });
    await node.take(blocks);
    expect(node.chain.tip.height).toBe(2016);
    expect(node.tip).toBe(hashToHex(blocks.at(-1)!.entry.hash));
    expect(node.chain.tip.bits).toBe(0x1c3f_ffc0);
    expect(node.chain.initialSync).toBe(true);
  });

  test('rejects a block that keeps the old difficulty after the period', async () => {
    const blocks = altBlocks();
    await using node = new TestNode({ params: mainnet });
    await node.take(blocks.slice(0, 2015));
    const header = blocks[2015]!.raw.slice(0, 80);
    new DataView(header.buffer).setUint32(72, 0x1d00_ffff, true);
    const outcome = await node.chain.acceptHeader(header);
    // Its proof of work was computed for another target, so it meets neither.
    expect(outcome.status === 'rejected' && outcome.rejection.reason).toBe('high-hash');
  });
});

/** Two weeks of blocks, under whose work an assumed-valid block must be buried. */
const TWO_WEEKS = 2016;

function withConsensus(changes: Partial<NetworkParams['consensus']>): NetworkParams {
  return { ...regtest, consensus: { ...regtest.consensus, ...changes } };
}

/** A chain with a failing script in it, deeply buried. */
function chainWithBuriedFault(burial: number): { chain: RegtestChain; faulty: number } {
  const chain = trunkWithCoins();
  const [poisoned] = chain.coinsOf(POISON);
  const faulty = chain.height + 1;
  chain.mine(1, { txs: [spend(poisoned!, [{ to: openScript(1), value: poisoned!.output.value }], { sign: false })] });
  chain.mine(burial);
  return { chain, faulty };
}

/** Submits headers first, as a peer does, then the bodies; returns the final height. */
async function heightAfter(chain: RegtestChain, params: NetworkParams): Promise<number> {
  await using node = new TestNode({ params });
  for (const block of chain.blocks.slice(1)) await node.chain.acceptHeader(block.raw.subarray(0, 80));
  for (const block of chain.blocks.slice(1)) await node.chain.acceptBlock(block.raw);
  await node.chain.settle();
  return node.chain.tip.height;
}

describe('the assumed-valid block', () => {
  const { chain, faulty } = chainWithBuriedFault(TWO_WEEKS + 1);
  const assumed = chain.at(faulty + 1).hash;

  test('skips the scripts of its ancestors under two weeks of work', async () => {
    expect(await heightAfter(chain, withConsensus({ assumeValid: assumed }))).toBe(chain.height);
  });

  test('skips no scripts if it is not set', async () => {
    expect(await heightAfter(chain, withConsensus({ assumeValid: null }))).toBe(faulty - 1);
  });

  test('skips no scripts above it', async () => {
    const below = chain.at(faulty - 1).hash;
    expect(await heightAfter(chain, withConsensus({ assumeValid: below }))).toBe(faulty - 1);
  });

  test('skips no scripts while the headers have too little work', async () => {
    const params = withConsensus({ assumeValid: assumed, minimumChainWork: 1n << 64n });
    expect(await heightAfter(chain, params)).toBe(faulty - 1);
  });

  test('skips no scripts of blocks that are not buried deep enough', async () => {
    const shallow = chainWithBuriedFault(TWO_WEEKS - 10);
    const params = withConsensus({ assumeValid: shallow.chain.at(shallow.faulty + 1).hash });
    expect(await heightAfter(shallow.chain, params)).toBe(shallow.faulty - 1);
  });
});

test('initial block download lasts until a recent tip has the minimum work', async () => {
  const chain = trunkWithCoins();
  const work = BigInt(chain.height + 1) * 2n;
  const nowMs = (chain.tip.time + 3600) * 1000;
  await using recent = new TestNode({ params: withConsensus({ minimumChainWork: work }), nowMs });
  await recent.take(chain.blocks.slice(1, -1));
  expect(recent.chain.initialSync).toBe(true);
  await recent.take([chain.tip]);
  expect(recent.chain.initialSync).toBe(false);
  await using old = new TestNode();
  await old.take(chain.blocks.slice(1));
  expect(old.chain.initialSync).toBe(true);
});
