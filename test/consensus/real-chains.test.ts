import { describe, expect, test } from 'bun:test';
import { checkBlock } from '../../src/consensus/check-block.ts';
import { checkBlockContext, isBlockMutated } from '../../src/consensus/check-block-context.ts';
import { checkHeader, checkHeaderContext } from '../../src/consensus/check-header.ts';
import type { ConsensusParams } from '../../src/consensus/consensus-params.ts';
import { blockScriptFlags } from '../../src/consensus/deployments.ts';
import type { HeaderEntry } from '../../src/consensus/header-entry.ts';
import { txSigopCost } from '../../src/consensus/sigops.ts';
import { difficultyOf } from '../../src/consensus/work.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type ParsedBlock, parseBlock, weightOf } from '../../src/primitives/block.ts';
import type { BlockHash } from '../../src/primitives/hash.ts';
import type { BlockHeader } from '../../src/primitives/header.ts';
import { decodeOutput } from '../../src/primitives/transaction.ts';
import { ByteReader } from '../../src/util/bytes.ts';
import { altBlocks } from '../lib/alt-chain.ts';
import { hasVectors, readVectorBytes } from '../lib/vectors.ts';
import { TestEntry } from './chain-fixture.ts';

/** Reads the blocks of a file with records of magic, size and bytes. */
function* storedBlocks(file: string): Generator<ParsedBlock> {
  const r = new ByteReader(readVectorBytes(file));
  while (r.remaining > 0) {
    r.skip(4);
    yield parseBlock(r.bytes(r.u32()));
  }
}

function genesisEntry(): TestEntry {
  const { hash, header } = parseBlock(genesisBlock(mainnet));
  return new TestEntry(null, header, hash);
}

/** Checks a header as a node does that has the parent. */
function addHeader(parent: TestEntry, header: BlockHeader, hash: BlockHash, params: ConsensusParams): TestEntry {
  expect(checkHeader({ hash, bits: header.bits }, params)).toBeNull();
  expect(checkHeaderContext(header, parent, params, header.time)).toBeNull();
  return new TestEntry(parent, header, hash);
}

describe.skipIf(!hasVectors)('real chains', () => {
  test('the first blocks of the main chain are valid', () => {
    let tip: TestEntry | null = null;
    for (const block of storedBlocks('chains/mainnet-first-blocks.dat')) {
      expect(checkBlock(block, mainnet.consensus)).toBeNull();
      if (tip === null) {
        tip = genesisEntry();
        expect(block.hash).toEqual(tip.hash);
        continue;
      }
      expect(block.header.previousHash).toEqual(tip.hash);
      expect(checkBlockContext(block, tip, mainnet.consensus)).toBeNull();
      tip = addHeader(tip, block.header, block.hash, mainnet.consensus);
    }
    expect(tip?.height).toBe(438);
    expect(tip?.chainwork).toBe(439n * 0x1_0001_0001n);
  });

  test('a regtest chain with every kind of input is valid', () => {
    const { hash, header } = parseBlock(genesisBlock(regtest));
    let tip = new TestEntry(null, header, hash);
    for (const block of storedBlocks('chains/regtest-mixed-160.dat')) {
      if (tip.height === 0 && Buffer.compare(block.hash, hash) === 0) continue;
      expect(checkBlock(block, regtest.consensus)).toBeNull();
      expect(checkBlockContext(block, tip, regtest.consensus)).toBeNull();
      tip = addHeader(tip, block.header, block.hash, regtest.consensus);
    }
    expect(tip.height).toBe(160);
  });

  // A chain from the main genesis block whose first period took an eighth of its timespan.
  test('a retarget under the rules of the main network is valid', () => {
    let tip = genesisEntry();
    for (const { header, entry } of altBlocks()) {
      expect(header.bits).toBe(entry.height < 2016 ? 0x1d00_ffff : 0x1c3f_ffc0);
      tip = addHeader(tip, header, entry.hash, mainnet.consensus);
    }
    expect(tip.height).toBe(2016);
    expect(difficultyOf(tip.bits)).toBe(4);
  });
});

/** A parent at a height; its median time past does not matter. */
function parentOf(block: ParsedBlock, height: number): HeaderEntry {
  const parent: HeaderEntry = {
    hash: block.header.previousHash,
    version: 4,
    time: block.header.time,
    bits: block.header.bits,
    height: height - 1,
    parent: null,
    chainwork: 0n,
    ancestor: () => null,
  };
  return parent;
}

const BLOCKS: [file: string, height: number][] = [
  ['mainnet-300025', 300_025],
  ['mainnet-413567', 413_567],
  ['mainnet-426884', 426_884],
  ['mainnet-482683', 482_683],
  ['testnet3-928816', 928_816],
  ['testnet3-928828', 928_828],
];

describe.skipIf(!hasVectors)('real blocks', () => {
  for (const [file, height] of BLOCKS)
    test(file, () => {
      // Testnet3 and the main network have the same rules here: all buried deployments are active.
      const params = mainnet.consensus;
      const block = parseBlock(readVectorBytes(`blocks/${file}.block`));
      expect(checkBlock(block, params)).toBeNull();
      expect(isBlockMutated(block, height >= 481_824)).toBe(false);
      expect(checkBlockContext(block, parentOf(block, height), params)).toBeNull();
      expect(checkBlockContext(block, parentOf(block, height + 1), params)?.reason).toBe('bad-cb-height');
      expect(weightOf(block)).toBeLessThanOrEqual(4_000_000);
    });

  // Counted without redeem scripts and witnesses, which need the spent outputs.
  test.each([
    ['mainnet-300025', 300_025],
    ['testnet3-928816', 928_816],
    ['testnet3-928828', 928_828],
  ])('%s stays within the sigop cost', (file, height) => {
    const { txs, hash } = parseBlock(readVectorBytes(`blocks/${file}.block`));
    const r = new ByteReader(readVectorBytes(`blocks/${file}.prevouts`));
    const flags = blockScriptFlags(hash, height, mainnet.consensus);
    let cost = 0;
    for (const [i, { tx }] of txs.entries()) {
      const spent = i === 0 ? [] : tx.inputs.map(() => decodeOutput(r));
      cost += txSigopCost(tx, spent, flags);
    }
    expect(r.remaining).toBe(0);
    expect(cost).toBeGreaterThan(txs.length);
    expect(cost).toBeLessThanOrEqual(80_000);
  });
});
