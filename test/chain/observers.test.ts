import { afterEach, expect, spyOn, test } from 'bun:test';
import { RegtestChain } from '../lib/chain-builder.ts';
import { silentLog, TestNode } from '../lib/chain-fixture.ts';

const logged = spyOn(silentLog, 'error');
afterEach(() => void logged.mockClear());

const chain = new RegtestChain();
chain.mine(3);

const fail = () => {
  throw new Error('not today');
};

test('an exception of an observer is logged, and the chain and the other observers continue', async () => {
  await using node = new TestNode({ nowMs: chain.tip.time * 1000 });
  const notified: string[] = [];
  for (const listener of [fail, (event: string) => void notified.push(event)]) {
    node.chain.onBlockConnected(() => listener('block connected'));
    node.chain.onCommit(() => listener('commit'));
    node.chain.onNewPowValidBlock(() => listener('new block on the tip'));
    node.chain.onInvalidBlock(() => listener('invalid block'));
  }
  for (const block of chain.blocks.slice(1)) expect(await node.submit(block)).toBe('accepted');
  expect(await node.submit(chain.build({ coinbaseValue: 51_0000_0000n }))).toBe('bad-cb-amount');
  expect(node.chain.stopped).toBeNull();
  expect(node.chain.tip.height).toBe(3);
  const failed = logged.mock.calls.map(([message, fields]) => [message, fields?.event, String(fields?.error)]);
  expect(failed).toEqual(notified.map((event) => ['an observer failed', event, 'Error: not today']));
  expect(new Set(notified)).toEqual(new Set(['block connected', 'commit', 'new block on the tip', 'invalid block']));
});

test.each(['follow', 'onCommitted'])('an exception in `%s` of the follower stops the chain', async (step) => {
  await using node = new TestNode();
  let notified = 0;
  node.chain.onCommit(() => notified++);
  node.chain.setFollower({ follow: () => {}, has: () => false, [step]: fail });
  expect(node.take(chain.blocks.slice(1))).rejects.toThrow('not today');
  expect(node.chain.stopped?.message).toBe('not today');
  expect(notified).toBe(0);
  expect(node.chain.acceptBlock(chain.tip.raw)).rejects.toThrow('not today');
  await node.restart();
  // A block that is committed before the exception stays committed.
  expect(node.chain.tip.height).toBe(step === 'onCommitted' ? 3 : 0);
});
