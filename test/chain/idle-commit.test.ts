import { afterEach, expect, spyOn, test } from 'bun:test';
import { headerFromBytes } from '../../src/primitives/header.ts';
import { RegtestChain } from '../lib/chain-builder.ts';
import { TestNode } from '../lib/chain-fixture.ts';

const IDLE_COMMIT_MS = 500;

/** The timers of this length that are pending. */
function watchTimers() {
  const waiting = new Map<unknown, () => void>();
  const [realSet, realClear] = [globalThis.setTimeout, globalThis.clearTimeout];
  const set = spyOn(globalThis, 'setTimeout').mockImplementation(((work: () => void, ms?: number) => {
    if (ms !== IDLE_COMMIT_MS) return realSet(work, ms);
    const timer = {};
    waiting.set(timer, work);
    return timer;
  }) as typeof setTimeout);
  const clear = spyOn(globalThis, 'clearTimeout').mockImplementation(((timer: unknown) => {
    if (!waiting.delete(timer)) realClear(timer as Parameters<typeof clearTimeout>[0]);
  }) as typeof clearTimeout);
  restore = () => {
    set.mockRestore();
    clear.mockRestore();
  };
  return {
    get count() {
      return waiting.size;
    },
    goOff() {
      const all = [...waiting.values()];
      waiting.clear();
      for (const work of all) work();
    },
  };
}

let restore = () => {};
afterEach(() => restore());

const chain = new RegtestChain();
chain.mine(6);

// During initial block download blocks are committed together; the last one must not wait for the next.
test.each([
  ['one that is known', chain.at(2).raw],
  ['one that is refused', chain.at(3).raw.with(100, chain.at(3).raw[100]! ^ 1)],
  ['one of which the parent is unknown', chain.at(6).raw],
  ['something that is no block', Uint8Array.of(1, 2, 3)],
])('blocks are committed when nothing comes after them but %s', async (_, last) => {
  const timers = watchTimers();
  await using node = new TestNode();
  for (const { raw } of chain.blocks.slice(1, 3)) await node.chain.acceptBlock(raw);
  expect(node.chain.initialSync).toBe(true);
  expect(node.chain.tip.height).toBe(0);
  await node.chain.acceptBlock(last);
  expect(timers.count).toBe(1);
  timers.goOff();
  await node.chain.whenSettled(() => {});
  expect(node.chain.tip.height).toBe(2);
  expect(timers.count).toBe(0);
});

test('headers are committed after half a second even if more keep arriving', async () => {
  const timers = watchTimers();
  const node = new TestNode();
  await using _ = node;
  for (const { raw } of chain.blocks.slice(1)) {
    await node.chain.acceptHeader(raw.slice(0, 80));
    expect(timers.count).toBe(1);
  }
  await node.close();
  expect(timers.count).toBe(0);
});

test.each([
  ['a few headers at once', 2, 0],
  ['many headers later', 18, 1],
])('during initial block download %s', async (_, count, waiting) => {
  const long = new RegtestChain();
  long.mine(20);
  const timers = watchTimers();
  await using node = new TestNode();
  const headers = long.blocks.slice(1, 1 + count).map(({ raw }) => headerFromBytes(raw.slice(0, 80)));
  const { added } = await node.chain.acceptHeaders(headers);
  expect([node.chain.initialSync, added, timers.count]).toEqual([true, count, waiting]);
});
