import { describe, expect, test } from 'bun:test';
import { grindBlock, grindHeader, NonceSpaceExhausted } from '../../src/mining/grind.ts';
import type { BlockHash, MerkleRoot } from '../../src/primitives/hash.ts';
import { type BlockHeader, headerHash } from '../../src/primitives/header.ts';

const header = (fields: Partial<BlockHeader> = {}): BlockHeader => ({
  version: 0x2000_0000,
  previousHash: new Uint8Array(32).fill(7) as BlockHash,
  merkleRoot: new Uint8Array(32).fill(9) as MerkleRoot,
  time: 1_700_000_000,
  bits: 0x207f_ffff,
  nonce: 0,
  ...fields,
});

/** The hash as a number, computed without the code under test. */
const numberOf = (of: BlockHeader) => BigInt(`0x${headerHash(of).toReversed().toHex()}`);

describe('grindHeader', () => {
  test('finds the first nonce on regtest and changes nothing else', () => {
    const limit = 0x7fffffn << 232n;
    for (let time = 1; time < 40; time++) {
      const ground = grindHeader(header({ time }));
      expect(numberOf(ground)).toBeLessThanOrEqual(limit);
      for (let nonce = 0; nonce < ground.nonce; nonce++)
        expect(numberOf(header({ time, nonce }))).toBeGreaterThan(limit);
      expect({ ...ground, nonce: 0 }).toEqual(header({ time }));
    }
  });

  test('meets a target of sixteen zero bits', () => {
    const ground = grindHeader(header({ bits: 0x1f00_ffff }));
    expect(numberOf(ground)).toBeLessThanOrEqual(0xffffn << 224n);
  });

  test('begins at the nonce of the header', () => {
    const first = grindHeader(header());
    expect(grindHeader(first)).toEqual(first);
    expect(grindHeader(header({ nonce: first.nonce + 1 })).nonce).toBeGreaterThan(first.nonce);
  });

  test('throws after the given number of tries', () => {
    const attempt = () => grindHeader(header({ bits: 0x1d00_ffff }), 1000);
    expect(attempt).toThrow(NonceSpaceExhausted);
    expect(attempt).toThrow('1000 tries');
  });

  test('throws at the last nonce', () => {
    const attempt = () => grindHeader(header({ bits: 0x1d00_ffff, nonce: 0xffff_fff0 }));
    expect(attempt).toThrow('16 tries');
  });

  test.each([0, 0x2080_0001, 0xff12_3456])('throws on bits %p that are not a target', (bits) => {
    expect(() => grindHeader(header({ bits }))).toThrow('bits are a target');
  });

  test('grindBlock keeps the transactions', () => {
    const transactions = [{ version: 1, inputs: [], outputs: [], locktime: 0 }];
    const block = grindBlock({ header: header(), transactions });
    expect(block.transactions).toBe(transactions);
    expect(block.header).toEqual(grindHeader(header()));
  });
});
