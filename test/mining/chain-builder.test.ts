import { describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regtestWith } from '../../src/params/regtest.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { hashToHex, type MerkleRoot } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { ByteReader, equalBytes } from '../../src/util/bytes.ts';
import { type BlockOptions, chainWithCoins, RegtestChain } from '../lib/chain-builder.ts';
import { coinOf, spend, sweep, withBadSignature, withInput } from '../lib/tx-builder.ts';
import { validateBlock } from './validate-block.ts';

const chain = chainWithCoins(6);
const payment = sweep(chain.coin(1), 'p2tr');
const second = sweep(chain.coin(2), 'p2pkh');

const withOutputs = (tx: Transaction, value: bigint): Transaction => ({
  ...tx,
  outputs: [{ value, scriptPubKey: tx.outputs[0]!.scriptPubKey }],
});

// Each breaks one rule; all earlier checks pass.
const FAULTS: Record<string, [string, BlockOptions]> = {
  'proof of work': ['high-hash', { work: false }],
  'merkle root': ['bad-txnmrklroot', { merkleRoot: new Uint8Array(32).fill(1) as MerkleRoot }],
  'repeated end of the list': [
    'bad-txns-duplicate',
    { txs: [payment, second], list: (txs) => [...txs, ...txs.slice(-1)] },
  ],
  'no transactions': ['bad-blk-length', { list: () => [] }],
  'no coinbase': ['bad-cb-missing', { txs: [payment], list: (txs) => txs.slice(1) }],
  'two coinbases': ['bad-cb-multiple', { list: (txs) => [txs[0]!, withOutputs(txs[0]!, 1n)] }],
  'short coinbase script': ['bad-cb-length', { coinbaseScriptSig: Uint8Array.of(0) }],
  'long coinbase script': ['bad-cb-length', { coinbaseScriptSig: new Uint8Array(101) }],
  'wrong height': ['bad-cb-height', { coinbaseScriptSig: Uint8Array.of(1, 105) }],
  bits: ['bad-diffbits', { bits: 0x207f_fffe }],
  'time of the median': ['time-too-old', { time: chain.tip.medianTimePast }],
  version: ['bad-version(0x00000003)', { version: 3 }],
  'coinbase value': ['bad-cb-amount', { txs: [payment], coinbaseValue: 50_0000_1001n }],
  'no commitment with witnesses': ['unexpected-witness', { txs: [payment], commitment: 'none' }],
  'wrong commitment': ['bad-witness-merkle-match', { txs: [payment], commitment: 'wrong' }],
  'size of the reserved value': ['bad-witness-nonce-size', { coinbaseWitness: [new Uint8Array(31)] }],
  'two reserved values': ['bad-witness-nonce-size', { coinbaseWitness: [new Uint8Array(32), new Uint8Array(32)] }],
  'immature coinbase': ['bad-txns-premature-spend-of-coinbase', { txs: [sweep(chain.coin(7), 'p2tr')] }],
  'a coin spent twice': ['bad-txns-inputs-missingorspent', { txs: [payment, sweep(chain.coin(1), 'p2pkh')] }],
  'children first': ['bad-txns-inputs-missingorspent', { txs: [sweep(coinOf(payment, 0), 'p2pkh'), payment] }],
  'more out than in': ['bad-txns-in-belowout', { txs: [spend(chain.coin(1), [{ to: 'p2tr', value: 50_0000_0001n }])] }],
  'bad signature': ['script: EVAL_FALSE', { txs: [withBadSignature(payment)] }],
  locktime: ['bad-txns-nonfinal', { txs: [spend(chain.coin(1), [{ to: 'p2tr', value: 1n }], { locktime: 106 })] }],
  'relative locktime': [
    'bad-txns-nonfinal',
    { txs: [spend(chain.coin(1), [{ to: 'p2tr', value: 1n }], { sequence: 106 })] },
  ],
  'one input twice': [
    'bad-txns-inputs-duplicate',
    { txs: [{ ...payment, inputs: [payment.inputs[0]!, payment.inputs[0]!] }] },
  ],
};

describe('RegtestChain.build', () => {
  test('builds valid blocks', () => {
    expect(validateBlock(chain, chain.build())).toBeNull();
    expect(
      validateBlock(chain, chain.build({ txs: [payment, second, sweep(coinOf(payment, 0), 'p2pkh')] })),
    ).toBeNull();
    expect(validateBlock(chain, chain.build({ commitment: 'none' }))).toBeNull();
    expect(validateBlock(chain, chain.build({ coinbaseWitness: [new Uint8Array(32).fill(3)] }))).toBeNull();
    expect(validateBlock(chain, chain.build({ coinbaseValue: 1n, to: 'anyone' }))).toBeNull();
  });

  for (const [title, [reason, options]] of Object.entries(FAULTS))
    test(`breaks one rule: ${title}`, () => expect(validateBlock(chain, chain.build(options))).toBe(reason));

  test('breaks the rule on future times', () => {
    const block = chain.build({ time: 2_000_000_000 });
    expect(validateBlock(chain, block, { now: 2_000_000_000 - 7200 })).toBeNull();
    expect(validateBlock(chain, block, { now: 2_000_000_000 - 7201 })).toBe('time-too-new');
  });

  test('follows the parameters of the network', () => {
    const params = regtestWith(['segwit@3']);
    const before = new RegtestChain({ params });
    expect(before.mine().txs[0]!.inputs[0]!.witness).toHaveLength(0);
    expect(before.mine(2).txs[0]!.inputs[0]!.witness).toHaveLength(1);
  });
});

describe('RegtestChain', () => {
  test('begins with the genesis block of regtest and is deterministic', () => {
    const genesis = new RegtestChain().at(0);
    expect(hashToHex(genesis.hash)).toBe('0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206');
    expect(new RegtestChain().mine(5).hash).toEqual(new RegtestChain().mine(5).hash);
  });

  test('mines valid blocks, also after a halving', () => {
    const checked = new RegtestChain();
    for (let height = 1; height <= 152; height++) {
      const block = checked.build();
      expect(validateBlock(checked, block)).toBeNull();
      checked.append(block);
    }
    expect(checked.coin(152).output.value).toBe(25_0000_0000n);
  });

  test('knows its coins', () => {
    const own = chainWithCoins(2);
    const tx = spend(own.coin(1), [
      { to: 'p2tr', value: 10_0000_0000n },
      { to: 'p2pkh', value: 39_0000_0000n },
    ]);
    const child = sweep(coinOf(tx, 1), 'p2sh-multisig', 500n);
    own.mine(1, { txs: [tx, child] });
    expect(own.coinsOf('p2tr').map(({ output }) => output.value)).toEqual([10_0000_0000n]);
    expect(own.coinsOf('p2pkh')).toEqual([]);
    expect(own.coinsOf('p2sh-multisig')[0]!.output.value).toBe(38_9999_9500n);
    // The coinbase claims the fees.
    expect(own.coin(own.height).output.value).toBe(51_0000_0500n);
    // 102 coinbases, one of them spent, and the two outputs.
    expect(own.coins.size).toBe(102 - 1 + 2);
  });

  test('forks share their trunk and nothing else', () => {
    const fork = chain.fork(100);
    const other = chain.fork(100);
    expect(fork.tip.hash).toEqual(chain.at(100).hash);
    fork.mine(3);
    other.mine(3);
    const tips = [fork.at(101), other.at(101), chain.at(101)].map(({ hash }) => hashToHex(hash));
    expect(new Set(tips).size).toBe(3);
    expect(fork.tip.ancestor(100)!.hash).toEqual(other.tip.ancestor(100)!.hash);
    expect(validateBlock(fork, fork.build())).toBeNull();
    // A coin of the abandoned branch is unknown here.
    const lost = sweep(chain.coin(103), 'p2tr');
    expect(validateBlock(fork, fork.build({ txs: [lost] }))).toBe('bad-txns-inputs-missingorspent');
  });

  test('appends a block to its own parent only', () => {
    const block = chain.build();
    expect(() => chain.fork(50).append(block)).toThrow('not built on the tip');
  });

  test('writes bootstrap files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'obverse-'));
    try {
      const path = join(folder, 'bootstrap.dat');
      chain.writeBootstrap(path);
      const r = new ByteReader(new Uint8Array(readFileSync(path)));
      for (const { hash } of chain.blocks) {
        expect(r.bytes(4).toHex()).toBe('fabfb5da');
        expect(equalBytes(parseBlock(r.bytes(r.u32())).hash, hash)).toBe(true);
      }
      expect(r.remaining).toBe(0);
      expect(chain.bootstrap(chain.height)).toHaveLength(8 + chain.tip.raw.length);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

test('withInput does not modify its argument', () => {
  const before = payment.inputs[0]!.sequence;
  expect(withInput(payment, 0, { sequence: 1 }).inputs[0]!.sequence).toBe(1);
  expect(payment.inputs[0]!.sequence).toBe(before);
});
