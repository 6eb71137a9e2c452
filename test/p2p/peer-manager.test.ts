import { describe, expect, test } from 'bun:test';
import type { ConnectionType, Permission } from '../../src/p2p/connections/peer-link.ts';
import { INVENTORY } from '../../src/p2p/messages/inventory.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { LinkedNode, until } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const chain = recentChain(20);
const full = () => LinkedNode.with(chain.params, chain.blocks.slice(1));

describe('inbound peers beyond the transaction relay slots, with no evictable peer', () => {
  const REFUSED = 'too many transaction relay peers';

  test.each<[ConnectionType, boolean, string | null]>([
    ['inbound', true, REFUSED],
    ['inbound', false, null],
    // Outbound peers have their own slots.
    ['outbound-full-relay', true, null],
    ['manual', true, null],
  ])('a new %s peer that wants transactions (%p) is accepted or refused', async (type, relay, reason) => {
    await using node = await full();
    node.hasRelayRoom = false;
    const end = await ScriptedEnd.join(node, { type, relay });
    expect(end.in.reason).toBe(reason);
  });

  test.each<[string, (end: ScriptedEnd) => void]>([
    ['filterload', (end) => end.send('filterload', { filter: Uint8Array.of(1), hashFunctions: 1, tweak: 0, flags: 0 })],
    ['filterclear', (end) => end.send('filterclear', null)],
  ])('a peer that wants transactions later, by %s, is disconnected', async (_type, ask) => {
    await using node = await full();
    const permissions: Permission[] = ['bloomfilter'];
    const [first, second] = [
      await ScriptedEnd.join(node, { permissions, relay: false }),
      await ScriptedEnd.join(node, { permissions, relay: false }),
    ];
    ask(first!);
    await first!.heard(1n);
    expect(first!.in.closed).toBe(false);
    node.hasRelayRoom = false;
    ask(second!);
    await second!.heard(2n);
    expect(second!.in.reason).toBe('too many transaction relay peers after a filter');
  });
});

// 0x40000003 would be a filtered block with witnesses, which was never defined.
test('getdata of a known block with an undefined inventory type is ignored', async () => {
  await using node = await full();
  const end = await ScriptedEnd.join(node);
  const items = [0, 6, 0x4000_0003, 0x4000_0005, 0xffff_ffff].map((kind) => ({ kind, hash: chain.tip.hash }));
  end.send('getdata', { items });
  end.send('getdata', { items: [{ kind: INVENTORY.witnessBlock, hash: chain.at(19).hash }] });
  await end.heard(1n);
  expect(end.of('block').map(({ raw }) => Buffer.from(raw).equals(chain.at(19).raw))).toEqual([true]);
  expect(end.of('notfound')).toEqual([]);
});

test('a misbehaving peer loses all connections of its address, and no other peer does', async () => {
  await using node = await full();
  const [one, same, other] = [
    await ScriptedEnd.join(node),
    await ScriptedEnd.join(node, { type: 'outbound-full-relay' }),
    await ScriptedEnd.join(node, { from: { network: 'ipv4', bytes: Uint8Array.of(30, 1, 1, 2) } }),
  ];
  one.send('headers', { headers: [{ ...chain.tip.header, bits: 0 }] });
  await until('the end', [node], () => one.in.closed);
  await other.heard(1n);
  expect([one.in.reason, same.in.reason, other.in.reason]).toEqual(['misbehaving', 'misbehaving', null]);
  expect(node.discouraged).toEqual([one.in.name]);
});

test.each([
  [60_000, 'ping timeout'],
  [3_600_000, null],
])('a peer that answers no ping for 25 minutes and may be silent for %d ms: %p', async (peerTimeoutMs, reason) => {
  await using node = await LinkedNode.with(chain.params, chain.blocks.slice(1), { peerTimeoutMs });
  const end = await ScriptedEnd.join(node);
  await until('the first ping', [node], () => end.of('ping').length > 0);
  node.node.clock.advance(25 * 60_000);
  node.tick();
  expect(end.in.reason).toBe(reason);
});

test('an exception in the periodic work of a peer disconnects only that peer', async () => {
  await using node = await full();
  const [one, other] = [await ScriptedEnd.join(node), await ScriptedEnd.join(node)];
  // Makes another announcement necessary.
  await until('the first ping', [node], () => one.of('ping').length > 0);
  one.send('pong', one.of('ping')[0]!);
  await one.heard(1n);
  one.in.send = () => {
    throw new Error('a mistake');
  };
  await until('a ping', [node], () => one.in.closed, { stepMs: 10_000 });
  expect(one.in.reason).toBe('internal error');
  await other.heard(2n);
  expect(other.in.closed).toBe(false);
});
