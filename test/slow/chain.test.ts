import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { MuHash3072 } from '../../src/crypto/muhash.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { utxoStats } from '../../src/queries/utxo-stats.ts';
import type { ChainReads } from '../../src/storage/chain-reads.ts';
import { encodeSetElement } from '../../src/storage/utxo-hash.ts';
import { ByteWriter } from '../../src/util/bytes.ts';
import { lateVerifier, mixedBlocks, TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { type ChainState, differences, ModelChain } from '../lib/chain-state.ts';
import { diceOf, feedRandomTree } from '../lib/fork-tree.ts';
import { hasVectors, readVectorJson } from '../lib/vectors.ts';
import { type ForkBase, feedTree, forkBase } from '../proof/forks.ts';

setDefaultTimeout(600_000);

/** The coins are read at one height of so many, and at one in ten of these the whole set is hashed as replies do it. */
const READ_EVERY = 4;
const WHOLE_EVERY = 40;

/** Returns the elements of the hash of the UTXO set that the chain has stored, hex. */
function elementsOf(reads: ChainReads): Set<string> {
  const w = new ByteWriter();
  const elements = new Set<string>();
  for (const coin of reads.coins.all()) {
    w.reset();
    encodeSetElement(w, coin);
    elements.add(w.finish().toHex());
  }
  return elements;
}

describe.skipIf(!hasVectors)('the chain of every standard kind of input', () => {
  test("hashes to Bitcoin Core's set of coins at every fourth height", async () => {
    const { muhashByHeight } = readVectorJson<{ muhashByHeight: Record<string, string> }>(
      'chains/regtest-mixed-160.expected.json',
    );
    await using node = new TestNode({ verifier: trustingVerifier });
    const set = new MuHash3072();
    let elements = new Set<string>();
    for (const [i, raw] of mixedBlocks().entries()) {
      await node.take([raw]);
      const height = i + 1;
      if (height % READ_EVERY !== 0) continue;
      node.read((reads) => {
        // Each coin of the set is read, but is multiplied only when it appears and when it disappears.
        const now = elementsOf(reads);
        for (const element of now) if (!elements.has(element)) set.insert(Uint8Array.fromHex(element));
        for (const element of elements) if (!now.has(element)) set.remove(Uint8Array.fromHex(element));
        elements = now;
        expect(`${height} ${hashToHex(set.digest())}`).toBe(`${height} ${muhashByHeight[height]}`);
        if (height % WHOLE_EVERY !== 0) return;
        const env = {
          reads,
          tip: reads.tip(),
          params: regtest,
          settings: {} as never,
          expectWork: () => {},
          mempool: undefined as never,
          mempoolSeq: null,
          state: reads.state(),
          texts: null,
        };
        expect(hashToHex(utxoStats(env, 'muhash').hash!)).toBe(muhashByHeight[height]!);
      });
    }
  }, 600_000);

  for (const [title, coinsCacheBytes, isDue] of [
    ['each block, coins kept in memory', 2 ** 28, () => true],
    ['every seventh block', 1, (i: number) => i % 7 === 6],
  ] as const)
    test(`the state does not depend on the commits: ${title}`, async () => {
      await using node = new TestNode({ verifier: trustingVerifier, coinsCacheBytes });
      const blocks = mixedBlocks().slice(0, 112);
      for (const [i, raw] of blocks.entries()) {
        await node.accept([raw]);
        if (isDue(i)) await node.chain.settle();
      }
      await node.chain.settle();
      expect(differences(node.state(), new ModelChain(blocks).state())).toEqual([]);
    });

  /** Computed once. */
  let whole: ChainState | undefined;
  for (let seed = 1; seed <= 2; seed++)
    test(`commits make no difference, wherever they fall: seed ${seed}`, async () => {
      const dice = diceOf(seed);
      const verifier = lateVerifier(() => dice(6), trustingVerifier);
      await using node = new TestNode({ verifier, coinsCacheBytes: seed % 2 === 0 ? 1 : 2 ** 28 });
      // A stop discards blocks that are not validated yet, so the next blocks continue from the tip.
      for (let height = 1; height <= mixedBlocks().length; height++) {
        await node.accept([mixedBlocks()[height - 1]!]);
        if (dice(3) === 0) node.clock.advance(6000);
        if (dice(10) === 0) await node.chain.settle();
        if (dice(30) !== 0) continue;
        await node.restart();
        height = node.chain.tip.height;
      }
      await node.chain.settle();
      whole ??= new ModelChain(mixedBlocks()).state();
      expect(differences(node.state(), whole)).toEqual([]);
    }, 120_000);
});

describe('random forks', () => {
  let base: ForkBase;

  beforeAll(async () => {
    base = await forkBase();
  });
  afterAll(() => base?.node[Symbol.asyncDispose]());

  // The tests of npm test have the first seeds.
  for (let seed = 6; seed <= 12; seed++)
    for (const poison of [false, true])
      test(
        `seed ${seed}${poison ? ', with invalid scripts' : ''}`,
        () => feedRandomTree({ seed, trunk: base.trunk, from: base.node.dir, blocks: 14, poison }),
        20_000,
      );

  // `npm run proof -- forks` feeds a thousand of them.
  for (let seed = 1000; seed < 1008; seed++) test(`seed ${seed}`, () => feedTree(base, seed), 60_000);
});
