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

test('what a listener throws is named in the log, and the chain and other listeners go on', async () => {
  await using node = new TestNode({ nowMs: chain.tip.time * 1000 });
  const told: string[] = [];
  for (const listener of [fail, (event: string) => void told.push(event)]) {
    node.chain.onConnected(() => listener('block connected'));
    node.chain.onCommit(() => listener('commit'));
    node.chain.onNext(() => listener('next block'));
    node.chain.onInvalid(() => listener('invalid block'));
  }
  for (const block of chain.blocks.slice(1)) expect(await node.submit(block)).toBe('accepted');
  expect(await node.submit(chain.build({ coinbaseValue: 51_0000_0000n }))).toBe('bad-cb-amount');
  expect(node.chain.stopped).toBeNull();
  expect(node.chain.tip.height).toBe(3);
  const failed = logged.mock.calls.map(([message, fields]) => [message, fields?.event, String(fields?.error)]);
  expect(failed).toEqual(told.map((event) => ['a listener failed', event, 'Error: not today']));
  expect(new Set(told)).toEqual(new Set(['block connected', 'commit', 'next block', 'invalid block']));
});

test.each(['follow', 'written'])('a follower that fails to be told (%s) stops the chain', async (step) => {
  await using node = new TestNode();
  let told = 0;
  node.chain.onCommit(() => told++);
  node.chain.followedBy({ follow: () => {}, has: () => false, [step]: fail });
  expect(node.take(chain.blocks.slice(1))).rejects.toThrow('not today');
  expect(node.chain.stopped?.message).toBe('not today');
  expect(told).toBe(0);
  expect(node.chain.accept(chain.tip.raw)).rejects.toThrow('not today');
  await node.restart();
  // What was committed before it was told stands.
  expect(node.chain.tip.height).toBe(step === 'written' ? 3 : 0);
});
