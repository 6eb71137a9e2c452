import { describe, expect, test } from 'bun:test';
import { encodeBlock } from '../../src/primitives/block.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { ByteWriter } from '../../src/util/bytes.ts';
import { chainWithCoins, type TestBlock } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { differences, ModelChain } from '../lib/chain-state.ts';
import { coinOf, sweep, withInput, withoutWitness } from '../lib/tx-builder.ts';

const chain = chainWithCoins(4, 'p2wpkh');
const txs = [1, 2, 3].map((height) => sweep(chain.coin(height), 'p2wpkh'));
const good = chain.build({ txs: [...txs, sweep(coinOf(txs[0]!, 0), 'p2tr')] });

/** Other data with the same header. */
function withBody({ header }: TestBlock, transactions: readonly Transaction[]): Uint8Array {
  const w = new ByteWriter(4096);
  encodeBlock(w, { header, transactions });
  return w.finish().slice();
}

const [coinbase, ...others] = good.txs;
const witness = (tx: Transaction) => tx.inputs[0]!.witness;
const flipped = (bytes: Uint8Array) => bytes.with(9, bytes[9]! ^ 1);

// All have the hash of the valid block, and must not affect it.
const TWINS: [title: string, reason: string, raw: Uint8Array][] = [
  // CVE-2012-2459: the merkle tree of five leaves has the root of one of six whose last two are equal.
  ['the last transaction twice', 'bad-txns-duplicate', withBody(good, [...good.txs, good.txs.at(-1)!])],
  ['a transaction left out', 'bad-txnmrklroot', withBody(good, good.txs.slice(0, -1))],
  ['two in another order', 'bad-txnmrklroot', withBody(good, [coinbase!, others[1]!, others[0]!, ...others.slice(2)])],
  [
    'another witness',
    'bad-witness-merkle-match',
    withBody(good, [
      coinbase!,
      withInput(others[0]!, 0, { witness: [flipped(witness(others[0]!)[0]!), witness(others[0]!)[1]!] }),
      ...others.slice(1),
    ]),
  ],
  [
    'no witness but the coinbase',
    'bad-witness-merkle-match',
    withBody(good, [coinbase!, ...others.map(withoutWitness)]),
  ],
  ['no witness at all', 'bad-witness-nonce-size', withBody(good, good.txs.map(withoutWitness))],
  [
    'another reserved value',
    'bad-witness-merkle-match',
    withBody(good, [withInput(coinbase!, 0, { witness: [new Uint8Array(32).fill(7)] }), ...others]),
  ],
  [
    'a coinbase whose witness makes it too heavy',
    'bad-witness-nonce-size',
    withBody(good, [withInput(coinbase!, 0, { witness: [new Uint8Array(3_999_000)] }), ...others]),
  ],
  ['a byte of a script changed', 'bad-txnmrklroot', good.raw.with(100, good.raw[100]! ^ 1)],
  ['its end cut off', 'bad-blk-decode', good.raw.subarray(0, -20)],
  ['something behind it', 'bad-blk-decode', Uint8Array.from([...good.raw, 0])],
];

describe('a mutated block with the hash of a valid one', () => {
  test('has the expected number of variants', () => expect(good.txs).toHaveLength(5));

  for (const [title, reason, raw] of TWINS)
    test(`${title}: ${reason}, and the valid block is accepted`, async () => {
      await using node = new TestNode();
      await node.take(chain.blocks.slice(1));
      expect(await node.submit(raw)).toBe(reason);
      expect(await node.submit(raw)).toBe(reason);
      // Its header may be known by now, which must have no effect after a restart either.
      await node.restart();
      expect(await node.submit(good)).toBe('accepted');
      expect(await node.submit(raw)).toMatch(new RegExp(`^known$|^${reason}$`));
      expect(differences(node.state(), new ModelChain([...chain.blocks.slice(1), good]).state())).toEqual([]);
    });

  test('as a parent does not reject the child, which waits for the valid body', async () => {
    const own = chain.fork();
    own.append(own.build({ txs: [...txs] }));
    const parent = own.tip;
    const child = own.mine();
    await using node = new TestNode();
    await node.take(chain.blocks.slice(1));
    const twin = withBody(parent, [
      withInput(parent.txs[0]!, 0, { witness: [new Uint8Array(32).fill(7)] }),
      ...parent.txs.slice(1),
    ]);
    expect(await node.submit(twin)).toBe('bad-witness-merkle-match');
    expect(await node.submit(child)).toBe('accepted');
    expect(node.chain.tip.height).toBe(chain.height);
    expect(node.chain.bestHeader.height).toBe(chain.height + 2);
    await node.restart();
    expect(await node.submit(parent)).toBe('accepted');
    expect(differences(node.state(), new ModelChain(own.blocks.slice(1)).state())).toEqual([]);
  });
});
