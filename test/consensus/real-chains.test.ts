import { describe, expect, test } from 'bun:test';
import { checkBlock } from '../../src/consensus/check-block.ts';
import { checkBlockContext, isBlockMutated } from '../../src/consensus/check-block-context.ts';
import { checkHeader, checkHeaderContext } from '../../src/consensus/check-header.ts';
import type { ConsensusParams } from '../../src/consensus/consensus-params.ts';
import { blockScriptFlags } from '../../src/consensus/deployments.ts';
import { nextWorkRequired } from '../../src/consensus/difficulty.ts';
import type { HeaderEntry } from '../../src/consensus/header-entry.ts';
import { txSigopCost } from '../../src/consensus/sigops.ts';
import { difficultyOf } from '../../src/consensus/work.ts';
import { genesisBlock } from '../../src/params/genesis.ts';
import { mainnet } from '../../src/params/mainnet.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type ParsedBlock, parseBlock, weightOf } from '../../src/primitives/block.ts';
import type { BlockHash, Txid } from '../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../src/primitives/header.ts';
import { decodeOutput, txidOf } from '../../src/primitives/transaction.ts';
import { pushNumber } from '../../src/script/script-builder.ts';
import { ByteReader, concatBytes } from '../../src/util/bytes.ts';
import { hasVectors, readVectorBytes, readVectorJson } from '../lib/vectors.ts';
import { TestEntry } from './chain-fixture.ts';

/** The blocks of a file that lays them out as magic, size, bytes. */
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

/** Checks a header as a node would that has its parent. */
function addHeader(parent: TestEntry, header: BlockHeader, hash: BlockHash, params: ConsensusParams): TestEntry {
  expect(checkHeader({ hash, bits: header.bits }, params)).toBeNull();
  expect(checkHeaderContext(header, parent, params, header.time)).toBeNull();
  return new TestEntry(parent, header, hash);
}

describe.skipIf(!hasVectors)('real chains', () => {
  test('the first blocks of the main chain', () => {
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

  test('a regtest chain of every kind of input', () => {
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

  // A chain from the main genesis whose first period took an eighth of its time.
  test('a retarget under the rules of the main network', () => {
    const { timestamps, nonces } = readVectorJson<{ timestamps: number[]; nonces: number[] }>(
      'functional/mainnet_alt.json',
    );
    let tip = genesisEntry();
    for (const [i, time] of timestamps.entries()) {
      const height = i + 1;
      const prevout = { txid: new Uint8Array(32) as Txid, vout: 0xffff_ffff };
      const scriptSig = concatBytes(pushNumber(height), new Uint8Array(height <= 16 ? 1 : 0));
      const scriptPubKey = Uint8Array.fromHex('76a914eadbac7f36c37e39361168b7aaee3cb24a25312d88ac');
      const coinbase = {
        version: 2,
        inputs: [{ prevout, scriptSig, sequence: 0xffff_ffff, witness: [] }],
        outputs: [{ value: 5_000_000_000n, scriptPubKey }],
        locktime: 0,
      };
      const header: BlockHeader = {
        version: 0x2000_0000,
        previousHash: tip.hash,
        merkleRoot: txidOf(coinbase) as Uint8Array as BlockHeader['merkleRoot'],
        time,
        bits: nextWorkRequired(tip, time, mainnet.consensus),
        nonce: nonces[i]!,
      };
      expect(header.bits).toBe(height < 2016 ? 0x1d00_ffff : 0x1c3f_ffc0);
      tip = addHeader(tip, header, headerHash(header), mainnet.consensus);
    }
    expect(tip.height).toBe(2016);
    expect(difficultyOf(tip.bits)).toBe(4);
  });
});

/** A parent at a height whose median time past is of no matter to the child. */
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
      // The rules of testnet3 that matter here are those of the main network: all buried ones are active.
      const params = mainnet.consensus;
      const block = parseBlock(readVectorBytes(`blocks/${file}.block`));
      expect(checkBlock(block, params)).toBeNull();
      expect(isBlockMutated(block, height >= 481_824)).toBe(false);
      expect(checkBlockContext(block, parentOf(block, height), params)).toBeNull();
      expect(checkBlockContext(block, parentOf(block, height + 1), params)?.reason).toBe('bad-cb-height');
      expect(weightOf(block)).toBeLessThanOrEqual(4_000_000);
    });

  // Counted by these: a redeem script's and a witness's operations need the outputs spent.
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
