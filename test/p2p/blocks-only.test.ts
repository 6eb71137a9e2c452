import { describe, expect, test } from 'bun:test';
import type { ConnectionType, Permission } from '../../src/p2p/connections/peer-link.ts';
import { INVENTORY } from '../../src/p2p/messages/inventory.ts';
import { SERVICES } from '../../src/p2p/services.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { LinkedNode, OUR_SERVICES, until } from './lib/linked-net.ts';
import { type Introduction, ScriptedEnd } from './lib/scripted-end.ts';

const chain = recentChain(20);
const full = (blocksOnly: boolean) => LinkedNode.with(chain.params, chain.blocks.slice(1), { blocksOnly });
const announcement = { items: [{ kind: INVENTORY.wtx as number, hash: new Uint8Array(32).fill(7) }] };

describe('blocks-only mode', () => {
  const REFUSED = 'transaction announced in violation of protocol';

  test.each<[boolean, Permission[], boolean, string | null]>([
    [false, [], true, null],
    [true, [], false, REFUSED],
    [true, ['noban', 'download'], false, REFUSED],
    [true, ['relay'], true, null],
  ])('blocksOnly %p, permissions %p: transactions are wanted: %p', async (blocksOnly, permissions, wanted, reason) => {
    await using node = await full(blocksOnly);
    const end = await ScriptedEnd.join(node, { permissions });
    expect(end.of('version')[0]?.relay).toBe(wanted);
    end.send('inv', announcement);
    await end.heard(1n);
    expect(end.in.reason).toBe(reason);
  });

  test('peers are asked for no transactions by a fee filter', async () => {
    await using node = await full(true);
    const end = await ScriptedEnd.join(node);
    await end.heard(1n);
    expect(end.of('feefilter')).toEqual([]);
  });
});

test.each<[ConnectionType, boolean]>([
  ['block-relay-only', false],
  ['feeler', false],
  ['outbound-full-relay', true],
])('version to a %s peer asks for transactions: %p', async (type, wanted) => {
  await using node = await full(false);
  const end = await ScriptedEnd.join(node, { type, relay: false });
  await until('the version', [node], () => end.of('version').length > 0);
  expect(end.of('version')[0]?.relay).toBe(wanted);
});

// A peer without NODE_WITNESS does not know the inventory type with witness.
test.each<[string, bigint, number]>([
  ['with witnesses', OUR_SERVICES, INVENTORY.witnessTx],
  ['without witnesses', SERVICES.network, INVENTORY.tx],
])('a transaction announced by txid by a peer %s is requested by its type', async (_, services, kind) => {
  await using node = await full(false);
  const introduction: Introduction = { services, wtxidRelay: false };
  const end = await ScriptedEnd.join(node, introduction);
  end.send('inv', { items: [{ kind: INVENTORY.tx, hash: new Uint8Array(32).fill(9) }] });
  await until('the request', [node], () => end.of('getdata').length > 0);
  expect(end.of('getdata')[0]?.items.map((item) => item.kind)).toEqual([kind]);
});
