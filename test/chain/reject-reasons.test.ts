import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { paramsFor } from '../../src/params/networks.ts';
import { hashToHex, type MerkleRoot, type Txid } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { Op } from '../../src/script/opcodes.ts';
import { type BlockOptions, chainWithCoins, RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { coinOf, spend, sweep, withInput, withOutput } from '../lib/tx-builder.ts';

const MAX_MONEY = 21_000_000_0000_0000n;

// Coinbases 1 to 6 may be spent in the next block, which has height 106.
const chain = chainWithCoins(6, 'anyone');
const payment = sweep(chain.coin(1), 'anyone');
const second = sweep(chain.coin(2), 'anyone');
const witnessSpend = sweep(coinOf(sweep(chain.coin(3), 'p2wsh-anyone'), 0), 'anyone');
const withWitness = { txs: [sweep(chain.coin(3), 'p2wsh-anyone'), witnessSpend] };
const prevoutNull = { txid: new Uint8Array(32) as Txid, vout: 0xffff_ffff };

const output = (value: bigint, scriptPubKey = new Uint8Array(0)) => ({ value, scriptPubKey });
const paying = (...outputs: Transaction['outputs']): Transaction => ({ ...payment, outputs });
const bytes = (length: number, byte: number) => new Uint8Array(length).fill(byte);
/** Data in a coinbase output, to exceed a limit. */
const padded = (size: number) => (coinbase: Transaction) => ({
  ...coinbase,
  outputs: [...coinbase.outputs, output(0n, Uint8Array.from([Op.OP_RETURN, ...bytes(size, Op.OP_1)]))],
});
const heavyWitness = (size: number): Transaction =>
  withInput(witnessSpend, 0, { witness: [bytes(size, 0), Uint8Array.of(Op.OP_1)] });

/** Core's reject reason, and the block's fault; all earlier checks pass. */
const FAULTS: Record<string, [reason: string, options: BlockOptions]> = {
  'header: no work': ['high-hash', { work: false }],
  'header: easier bits': ['high-hash', { bits: 0x2100_ffff }],
  'header: harder bits': ['bad-diffbits', { bits: 0x207f_fffe }],
  'header: time of the median': ['time-too-old', { time: chain.tip.medianTimePast }],
  'header: version 1': ['bad-version(0x00000001)', { version: 1 }],
  'header: version 2': ['bad-version(0x00000002)', { version: 2 }],
  'header: version 3': ['bad-version(0x00000003)', { version: 3 }],
  'header: negative version': ['bad-version(0x80000000)', { version: -0x8000_0000 }],
  'header: unknown parent': ['prev-blk-not-found', { previousHash: bytes(32, 1) as never }],
  'body: merkle root': ['bad-txnmrklroot', { merkleRoot: bytes(32, 1) as MerkleRoot }],
  'body: end repeated': ['bad-txns-duplicate', { txs: [payment, second], list: (txs) => [...txs, ...txs.slice(-1)] }],
  'body: empty': ['bad-blk-length', { list: () => [] }],
  'body: longer than a megabyte': ['bad-blk-length', { coinbase: padded(1_000_000) }],
  'body: too heavy': ['bad-blk-weight', { txs: [withWitness.txs[0]!, heavyWitness(3_999_500)] }],
  'body: no coinbase': ['bad-cb-missing', { txs: [payment], list: (txs) => txs.slice(1) }],
  'body: coinbase second': ['bad-cb-missing', { txs: [payment], list: (txs) => txs.toReversed() }],
  'body: two coinbases': [
    'bad-cb-multiple',
    { list: ([coinbase]) => [coinbase!, { ...coinbase!, outputs: [output(1n)] }] },
  ],
  'body: short coinbase script': ['bad-cb-length', { coinbaseScriptSig: bytes(1, 0) }],
  'body: long coinbase script': ['bad-cb-length', { coinbaseScriptSig: bytes(101, 0) }],
  'body: height of the parent': ['bad-cb-height', { coinbaseScriptSig: Uint8Array.of(1, 105) }],
  'body: height with a zero in front': ['bad-cb-height', { coinbaseScriptSig: Uint8Array.of(2, 106, 0) }],
  'body: no outputs': ['bad-txns-vout-empty', { txs: [paying()] }],
  'body: negative output': ['bad-txns-vout-negative', { txs: [paying(output(-1n))] }],
  'body: output above all money': ['bad-txns-vout-toolarge', { txs: [paying(output(MAX_MONEY + 1n))] }],
  'body: outputs above all money': ['bad-txns-txouttotal-toolarge', { txs: [paying(output(MAX_MONEY), output(1n))] }],
  'body: an input twice': [
    'bad-txns-inputs-duplicate',
    { txs: [{ ...payment, inputs: [payment.inputs[0]!, payment.inputs[0]!] }] },
  ],
  'body: an input of nothing': [
    'bad-txns-prevout-null',
    { txs: [{ ...payment, inputs: [payment.inputs[0]!, { ...payment.inputs[0]!, prevout: prevoutNull }] }] },
  ],
  'body: sigops without the coins': ['bad-blk-sigops', { txs: [paying(output(0n, bytes(20_001, Op.OP_CHECKSIG)))] }],
  'body: locktime of this height': [
    'bad-txns-nonfinal',
    { txs: [spend(chain.coin(1), [{ to: 'anyone', value: 1n }], { locktime: 106 })] },
  ],
  // BIP-113: the time of the block itself does not count.
  'body: locktime between the median time and the time': [
    'bad-txns-nonfinal',
    { txs: [spend(chain.coin(1), [{ to: 'anyone', value: 1n }], { locktime: chain.tip.medianTimePast })] },
  ],
  'body: witness without commitment': ['unexpected-witness', { ...withWitness, commitment: 'none' }],
  'body: wrong commitment': ['bad-witness-merkle-match', { ...withWitness, commitment: 'wrong' }],
  'body: short reserved value': ['bad-witness-nonce-size', { coinbaseWitness: [bytes(31, 0)] }],
  'body: two reserved values': ['bad-witness-nonce-size', { coinbaseWitness: [bytes(32, 0), bytes(32, 0)] }],
  'body: no reserved value': ['bad-witness-nonce-size', { coinbaseWitness: [] }],
  'connect: unknown coin': [
    'bad-txns-inputs-missingorspent',
    { txs: [withInput(payment, 0, { prevout: { ...payment.inputs[0]!.prevout, vout: 7 } })] },
  ],
  'connect: coin spent twice': ['bad-txns-inputs-missingorspent', { txs: [payment, sweep(chain.coin(1), 'p2pkh')] }],
  'connect: child before parent': [
    'bad-txns-inputs-missingorspent',
    { txs: [sweep(coinOf(payment, 0), 'anyone'), payment] },
  ],
  'connect: output of data': [
    'bad-txns-inputs-missingorspent',
    { txs: [withInput(payment, 0, { prevout: { ...payment.inputs[0]!.prevout, vout: 1 } })] },
  ],
  'connect: coinbase with 99 on top': [
    'bad-txns-premature-spend-of-coinbase',
    { txs: [sweep(chain.coin(7), 'anyone')] },
  ],
  'connect: more out than in': [
    'bad-txns-in-belowout',
    { txs: [spend(chain.coin(1), [{ to: 'anyone', value: 50_0000_0001n }])] },
  ],
  'connect: coinbase of a satoshi more': ['bad-cb-amount', { coinbaseValue: 50_0000_0001n }],
  'connect: coinbase of a satoshi more than the fees': [
    'bad-cb-amount',
    { txs: [payment], coinbaseValue: 50_0000_1001n },
  ],
  // BIP-68: coinbase 6 gets its hundredth confirmation here.
  'connect: relative lock of blocks': [
    'bad-txns-nonfinal',
    { txs: [spend(chain.coin(6), [{ to: 'anyone', value: 1n }], { sequence: 101 })] },
  ],
  'connect: relative lock of time': [
    'bad-txns-nonfinal',
    { txs: [spend(chain.coin(6), [{ to: 'anyone', value: 1n }], { sequence: 0x40_0000 | 200 })] },
  ],
};

/** Valid blocks that are close to a fault. */
const GOOD: Record<string, BlockOptions> = {
  'all that a block may be': { txs: [payment, second, sweep(coinOf(payment, 0), 'anyone'), ...withWitness.txs] },
  'coinbase with 100 on top': { txs: [sweep(chain.coin(6), 'anyone')] },
  'a second after the median time': { time: chain.tip.medianTimePast + 1 },
  'locktime of the parent': { txs: [spend(chain.coin(1), [{ to: 'anyone', value: 1n }], { locktime: 105 })] },
  'locktime that no input asks for': {
    txs: [spend(chain.coin(1), [{ to: 'anyone', value: 1n }], { locktime: 106, sequence: 0xffff_ffff })],
  },
  'relative lock that has passed': {
    txs: [spend(chain.coin(6), [{ to: 'anyone', value: 1n }], { sequence: 100 })],
  },
  'relative lock in a transaction of version 1': {
    txs: [spend(chain.coin(6), [{ to: 'anyone', value: 1n }], { sequence: 101, version: 1 })],
  },
  'coinbase that leaves its reward': { coinbaseValue: 0n },
  'no commitment and no witness': { txs: [payment], commitment: 'none' },
  'an output of nothing to an empty script': { txs: [withOutput(payment, 0, output(0n))] },
  'the highest version': { version: 0x7fff_ffff },
};

describe('a block is rejected with Core’s reason', () => {
  let base: TestNode;

  beforeAll(async () => {
    base = new TestNode();
    await base.take(chain.blocks.slice(1));
    await base.close();
  });
  afterAll(() => base?.[Symbol.asyncDispose]());

  for (const [title, [reason, options]] of Object.entries(FAULTS))
    test(`${title}: ${reason}`, async () => {
      await using node = new TestNode({ from: base.dir });
      expect(await node.submit(chain.build(options))).toBe(reason);
      expect(node.tip).toBe(hashToHex(chain.tip.hash));
      const good = chain.build({ txs: [payment] });
      expect(await node.submit(good)).toBe('accepted');
      expect(node.tip).toBe(hashToHex(good.hash));
    });

  test('a valid block is accepted', async () => {
    for (const [title, options] of Object.entries(GOOD)) {
      await using node = new TestNode({ from: base.dir });
      const block = chain.build(options);
      expect(`${title}: ${await node.submit(block)}`).toBe(`${title}: accepted`);
      expect(differences(node.state(), new ModelChain([...chain.blocks.slice(1), block]).state())).toEqual([]);
    }
  });

  test('time-too-new is reported until the time has come', async () => {
    const nowMs = 1_800_000_000_000;
    await using node = new TestNode({ from: base.dir, nowMs });
    const block = chain.build({ time: 1_800_000_000 + 7201 });
    expect(await node.submit(block)).toBe('time-too-new');
    node.clock.advance(1000);
    expect(await node.submit(block)).toBe('accepted');
  });

  test('bad-prevblk and duplicate-invalid are reported after a restart too', async () => {
    await using node = new TestNode({ from: base.dir });
    const fork = chain.fork();
    const bad = fork.mine(1, { coinbaseValue: 50_0000_0001n });
    const child = fork.mine();
    expect(await node.submit(bad)).toBe('bad-cb-amount');
    for (const restart of [false, true]) {
      if (restart) await node.restart();
      expect(await node.submit(bad)).toBe('duplicate-invalid');
      expect(await node.submit(child)).toBe('bad-prevblk');
    }
    expect(await node.submit(chain.build())).toBe('accepted');
  });

  test('bytes that are not a block are rejected', async () => {
    await using node = new TestNode({ from: base.dir });
    const { raw } = chain.build({ txs: [payment] });
    const broken = [
      new Uint8Array(0),
      raw.subarray(0, 79),
      raw.subarray(0, 80),
      raw.subarray(0, -1),
      Uint8Array.from([...raw, 0]),
    ];
    for (const some of broken) expect(await node.submit(some)).toBe('bad-blk-decode');
    expect(await node.submit(raw)).toBe('accepted');
  });
});

describe('a coinbase that repeats an earlier txid (BIP-30)', () => {
  const params = paramsFor('regtest', { testActivationHeight: ['bip34@1000'] });
  const old = new RegtestChain({ params, to: 'anyone' });
  old.mine(103);
  const repeat = () => old.at(3).txs[0]!;

  test('is rejected with bad-txns-BIP30 while the earlier coin is unspent', async () => {
    await using node = new TestNode({ params });
    await node.take(old.blocks.slice(1));
    expect(await node.submit(old.build({ coinbase: repeat }))).toBe('bad-txns-BIP30');
    expect(await node.submit(old.build())).toBe('accepted');
  });

  test('is valid once the earlier coin is spent, and is found at its later position', async () => {
    await using node = new TestNode({ params });
    const own = old.fork();
    await node.take(own.blocks.slice(1));
    const spent = sweep(own.coin(3), 'anyone');
    expect(await node.submit(own.mine(1, { txs: [spent] }))).toBe('accepted');
    expect(await node.submit(own.mine(1, { coinbase: repeat }))).toBe('accepted');
    expect(differences(node.state(), new ModelChain(own.blocks.slice(1), params).state())).toEqual([]);
    const found = node.read((reads) => reads.txs.byTxid(own.coin(3).outpoint.txid));
    expect(found?.position).toBe(105 * 2 ** 20);
    // After a disconnect the earlier one is found again.
    const fork = own.fork(104);
    fork.mine(2);
    await node.take(fork.blocks.slice(-2));
    expect(differences(node.state(), new ModelChain(fork.blocks.slice(1), params).state())).toEqual([]);
  });
});
