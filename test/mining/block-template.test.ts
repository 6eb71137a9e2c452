import { describe, expect, test } from 'bun:test';
import { assembleBlock, type BlockTemplateOptions } from '../../src/mining/block-template.ts';
import { grindBlock } from '../../src/mining/grind.ts';
import type { BlockHash } from '../../src/primitives/hash.ts';
import { RegtestChain, TestBlock } from '../lib/chain-builder.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import { validateBlock } from './validate-block.ts';

const script = lockOf('p2pkh').scriptPubKey;
const parentAt = (height: number) => ({ hash: new Uint8Array(32) as BlockHash, height, medianTimePast: 1000 });
const options = (fields: Partial<BlockTemplateOptions> = {}): BlockTemplateOptions => ({
  parent: parentAt(200),
  bits: 0x207f_ffff,
  version: 0x2000_0000,
  time: 2000,
  transactions: [],
  fees: 0n,
  coinbaseScript: script,
  params: { subsidyHalvingInterval: 150, segwitHeight: 0 },
  ...fields,
});
const coinbaseAt = (height: number, fields: Partial<BlockTemplateOptions> = {}) =>
  assembleBlock(options({ parent: parentAt(height - 1), ...fields })).transactions[0]!;

describe('the coinbase', () => {
  // BIP-34: a minimal push; with a second byte for the minimum length of the script.
  test.each([
    [1, '5100'],
    [16, '6000'],
    [17, '0111'],
    [127, '017f'],
    [128, '028000'],
    [255, '02ff00'],
    [256, '020001'],
    [32_767, '02ff7f'],
    [32_768, '03008000'],
    [500_000, '0320a107'],
  ])('of height %d begins with its height', (height, hex) => {
    const { scriptSig } = coinbaseAt(height).inputs[0]!;
    expect(scriptSig.toHex()).toBe(hex);
  });

  test('pays subsidy and fees to the script', () => {
    const paid = (height: number, fees: bigint) => coinbaseAt(height, { fees }).outputs[0]!;
    expect(paid(149, 0n)).toEqual({ value: 50_0000_0000n, scriptPubKey: script });
    expect(paid(150, 77n).value).toBe(25_0000_0077n);
    expect(paid(150 * 64, 5n).value).toBe(5n);
  });

  test('commits to its height by its locktime', () => {
    const { locktime, inputs, version } = coinbaseAt(321);
    expect([version, locktime, inputs[0]!.sequence]).toEqual([2, 320, 0xffff_fffe]);
  });

  test('contains the extra nonce after the height', () => {
    const extraNonce = Uint8Array.of(1, 2, 3);
    expect(coinbaseAt(17, { extraNonce }).inputs[0]!.scriptSig.toHex()).toBe('011103010203');
    expect(coinbaseAt(3, { extraNonce: Uint8Array.of(9) }).inputs[0]!.scriptSig.toHex()).toBe('530109');
    expect(() => coinbaseAt(300, { extraNonce: new Uint8Array(99) })).toThrow('2 to 100 bytes');
  });

  test('contains a commitment even without witnesses', () => {
    const [, commitment] = coinbaseAt(5).outputs;
    // hash256 of 64 zero bytes after the commitment header.
    expect(commitment).toEqual({
      value: 0n,
      scriptPubKey: Uint8Array.fromHex('6a24aa21a9ede2f61c3f71d1defd3fa999dfa36953755c690689799962b48bebd836974e8cf9'),
    });
    expect(coinbaseAt(5).inputs[0]!.witness).toEqual([new Uint8Array(32)]);
  });

  test('has no witness before segwit', () => {
    const params = { subsidyHalvingInterval: 150, segwitHeight: 6 };
    expect(coinbaseAt(5, { params }).inputs[0]!.witness).toEqual([]);
    expect(coinbaseAt(6, { params }).inputs[0]!.witness).toEqual([new Uint8Array(32)]);
  });
});

test('a block must be later than the median time past', () => {
  expect(assembleBlock(options({ time: 1001 })).header.time).toBe(1001);
  expect(() => assembleBlock(options({ time: 1000 }))).toThrow('median time past');
});

test('blocks with and without witnesses are valid', () => {
  const chain = new RegtestChain({ to: 'p2wpkh' });
  chain.mine(60);
  chain.mine(60, { to: 'p2pkh' });
  const build = (transactions: BlockTemplateOptions['transactions'], fees: bigint) => {
    const block = assembleBlock({
      parent: chain.tip,
      bits: 0x207f_ffff,
      version: 0x2000_0000,
      time: chain.tip.time + 600,
      transactions,
      fees,
      coinbaseScript: script,
      params: chain.params.consensus,
    });
    expect(block.header.previousHash).toEqual(chain.tip.hash);
    return new TestBlock(grindBlock(block), chain.tip);
  };
  const pay = (height: number) => spend(chain.coin(height), [{ to: 'p2tr', value: 49_9999_0000n }]);
  expect(validateBlock(chain, build([], 0n))).toBeNull();
  expect(validateBlock(chain, build([pay(1), pay(2)], 20_000n))).toBeNull();
  expect(validateBlock(chain, build([pay(1)], 10_001n))).toBe('bad-cb-amount');
  chain.mine(60);
  expect(validateBlock(chain, build([pay(70)], 10_000n))).toBeNull();
});
