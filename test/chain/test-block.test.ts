import { expect, test } from 'bun:test';
import type { ScriptVerifier } from '../../src/chain/script-verifier.ts';
import { parseBlock } from '../../src/primitives/block.ts';
import { chainWithCoins, type TestBlock } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';
import { coinOf, sweep, withBadSignature } from '../lib/tx-builder.ts';

/** A verifier that never resolves. */
const silentVerifier: ScriptVerifier = {
  begin: () => ({ add: () => {}, addTransaction: () => {}, finish: () => new Promise(() => {}), cancel: () => {} }),
};

const parsed = ({ raw }: TestBlock) => parseBlock(raw);

test('testing a block changes no state, whatever the result', async () => {
  const chain = chainWithCoins(3);
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  const before = await node.state();
  const first = sweep(chain.coin(1), 'p2pkh');
  const second = sweep(coinOf(first, 0), 'p2tr');
  const good = chain.build({ txs: [first, second] });
  const test = (block: TestBlock) => node.chain.testBlock(parsed(block), { proofOfWork: false });
  expect(await test(good)).toBeNull();
  expect(await test(chain.build({ txs: [second] }))).toMatchObject({ reason: 'bad-txns-inputs-missingorspent' });
  expect(await test(chain.build({ txs: [withBadSignature(sweep(chain.coin(2), 'p2pkh'))] }))).toMatchObject({
    reason: expect.stringContaining('block-script-verify-flag-failed'),
  });
  expect(await test(chain.fork(1).build())).toMatchObject({ reason: 'inconclusive-not-best-prevblk' });
  expect(await node.state()).toEqual(before);
  expect(node.chain.findEntry(good.hash)).toBeNull();
  expect(await node.chain.submitBlock(good.raw)).toMatchObject({ status: 'accepted' });
  expect(node.chain.tip.hash).toEqual(good.hash);
});

test('testing a block without proof of work fails if the proof is checked', async () => {
  const chain = chainWithCoins(1);
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  const lazy = chain.build({ work: false });
  expect(await node.chain.testBlock(parsed(lazy), {})).toMatchObject({ reason: 'high-hash' });
  expect(await node.chain.testBlock(parsed(lazy), { proofOfWork: false })).toBeNull();
});

test('testing a block rejects when the chain is closed meanwhile', async () => {
  const chain = chainWithCoins(1);
  await using node = new TestNode();
  await node.take(chain.blocks.slice(1));
  await node.restart({ verifier: silentVerifier });
  const tested = node.chain.testBlock(parsed(chain.build({ txs: [sweep(chain.coin(1), 'p2pkh')] })), {
    proofOfWork: false,
  });
  const closed = node.close();
  expect(await tested.catch(String)).toContain('the chain is being closed');
  await closed;
});
