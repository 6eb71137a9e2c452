import { describe, expect, test } from 'bun:test';
import { checkBlock } from '../../src/consensus/check-block.ts';
import { isBlockMutated } from '../../src/consensus/check-block-context.ts';
import type { BlockRejection } from '../../src/consensus/rejection.ts';
import { regtest } from '../../src/params/regtest.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { blockOf, coinbaseInput, coinbaseOf, input, output, txOf } from './block-fixture.ts';

const { consensus } = regtest;

function expectRejection(actual: BlockRejection | null, kind: string, reason: string, debug: string): void {
  expect(actual).toMatchObject({ kind, reason, debug });
}

describe('checkBlock', () => {
  test('accepts a valid block', () => {
    expect(checkBlock(blockOf([coinbaseOf()]), consensus)).toBeNull();
    expect(checkBlock(blockOf([coinbaseOf(), txOf()]), consensus)).toBeNull();
  });

  test('high-hash, but not for a template', () => {
    const { raw } = blockOf([coinbaseOf()]);
    // A target of 1.
    const bytes = raw.slice();
    new DataView(bytes.buffer).setUint32(72, 0x0300_0001, true);
    const block = parseBlock(bytes);
    expectRejection(checkBlock(block, consensus), 'invalid-header', 'high-hash', 'proof of work failed');
    expect(checkBlock(block, consensus, { proofOfWork: false })).toBeNull();
  });

  test('bad-txnmrklroot, but not for a template', () => {
    const block = blockOf([coinbaseOf()], { merkleRoot: new Uint8Array(32) });
    expectRejection(checkBlock(block, consensus), 'mutated', 'bad-txnmrklroot', 'hashMerkleRoot mismatch');
    expect(checkBlock(block, consensus, { proofOfWork: false, merkleRoot: false })).toBeNull();
  });

  // CVE-2012-2459: with repeated transactions the block has the same hash.
  test('bad-txns-duplicate', () => {
    const [a, b, c] = [1, 2, 3].map((seed) => txOf({ inputs: [input(seed)] })) as [never, never, never];
    const honest = blockOf([coinbaseOf(), a, b, c, a]);
    expect(honest.txs.length).toBe(5);
    const three = blockOf([coinbaseOf(), a, b]);
    const repeated = blockOf([coinbaseOf(), a, b, b]);
    expect(repeated.header.merkleRoot).toEqual(three.header.merkleRoot);
    expect(repeated.hash).toEqual(three.hash);
    expect(checkBlock(three, consensus)).toBeNull();
    expectRejection(checkBlock(repeated, consensus), 'mutated', 'bad-txns-duplicate', 'duplicate transaction');
    // Equal pairs on higher levels count too.
    const six = blockOf([coinbaseOf(), a, b, c, a, b]);
    const eight = blockOf([coinbaseOf(), a, b, c, a, b, a, b]);
    expect(eight.hash).toEqual(six.hash);
    expect(checkBlock(eight, consensus)?.reason).toBe('bad-txns-duplicate');
  });

  test('bad-blk-length', () => {
    const debug = 'size limits failed';
    expectRejection(checkBlock(blockOf([]), consensus), 'consensus', 'bad-blk-length', debug);
    // One byte more than a million without witness.
    const filled = (size: number) => {
      const filler = (length: number) => coinbaseOf({ outputs: [output(1n, new Uint8Array(length).fill(0x61))] });
      const overhead = blockOf([filler(100_000)], { capacity: 200_000 }).strippedSize - 100_000;
      return blockOf([filler(size - overhead)], { capacity: 2_000_000 });
    };
    const fits = filled(1_000_000);
    expect(fits.strippedSize).toBe(1_000_000);
    expect(checkBlock(fits, consensus)).toBeNull();
    expectRejection(checkBlock(filled(1_000_001), consensus), 'consensus', 'bad-blk-length', debug);
  });

  test('bad-cb-missing', () =>
    expectRejection(
      checkBlock(blockOf([txOf()]), consensus),
      'consensus',
      'bad-cb-missing',
      'first tx is not coinbase',
    ));

  test('bad-cb-multiple', () => {
    const second = coinbaseOf({ locktime: 1 });
    expectRejection(
      checkBlock(blockOf([coinbaseOf(), txOf(), second]), consensus),
      'consensus',
      'bad-cb-multiple',
      'more than one coinbase',
    );
  });

  test('reports the reason and the txid of an invalid transaction', () => {
    const block = blockOf([coinbaseOf(), txOf({ inputs: [input(1), input(1)] })]);
    expectRejection(
      checkBlock(block, consensus),
      'consensus',
      'bad-txns-inputs-duplicate',
      `Transaction check failed (tx hash ${hashToHex(block.txs[1]!.txid)}) `,
    );
    const short = blockOf([coinbaseOf({ inputs: [coinbaseInput({ scriptSig: new Uint8Array(1) })] })]);
    expect(checkBlock(short, consensus)?.reason).toBe('bad-cb-length');
  });

  test('bad-blk-sigops: more than 20,000 in the scripts of the transactions', () => {
    const checksigs = (count: number) => output(1n, new Uint8Array(count).fill(0xac));
    expect(checkBlock(blockOf([coinbaseOf({ outputs: [checksigs(20_000)] })]), consensus)).toBeNull();
    expectRejection(
      checkBlock(blockOf([coinbaseOf({ outputs: [checksigs(20_001)] })]), consensus),
      'consensus',
      'bad-blk-sigops',
      'out-of-bounds SigOpCount',
    );
    // A bare multisig counts twenty, whatever the number of its keys.
    const multisigs = output(1n, new Uint8Array(1000).fill(0xae));
    expect(checkBlock(blockOf([coinbaseOf({ outputs: [multisigs] })]), consensus)).toBeNull();
    expect(checkBlock(blockOf([coinbaseOf({ outputs: [multisigs, checksigs(1)] })]), consensus)?.reason).toBe(
      'bad-blk-sigops',
    );
  });
});

describe('isBlockMutated', () => {
  test('is true for other and repeated transactions', () => {
    expect(isBlockMutated(blockOf([coinbaseOf(), txOf()]), true)).toBe(false);
    expect(isBlockMutated(blockOf([coinbaseOf()], { merkleRoot: new Uint8Array(32) }), true)).toBe(true);
    const b = txOf({ inputs: [input(2)] });
    expect(isBlockMutated(blockOf([coinbaseOf(), txOf(), b, b]), true)).toBe(true);
  });

  test('is true for a transaction of 64 bytes in place of the coinbase', () => {
    const small = txOf({ outputs: [output(1n, new Uint8Array(4))] });
    const block = blockOf([small]);
    expect(block.txs[0]!.strippedSize).toBe(64);
    expect(isBlockMutated(block, true)).toBe(true);
    expect(isBlockMutated(blockOf([txOf()]), true)).toBe(false);
    expect(isBlockMutated(blockOf([coinbaseOf(), small]), true)).toBe(false);
  });

  test('is true for a witness without a commitment', () => {
    const spend = txOf({ inputs: [input(1, { witness: [Uint8Array.of(1)] })] });
    expect(isBlockMutated(blockOf([coinbaseOf(), spend]), true)).toBe(true);
    expect(isBlockMutated(blockOf([coinbaseOf(), spend]), false)).toBe(true);
  });
});
