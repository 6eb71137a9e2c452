import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { ConnectionType } from '../../src/p2p/connections/peer-link.ts';
import { shortIdKeys } from '../../src/p2p/peer/tx-reconciliation.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { LinkedNode } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const chain = recentChain(20);
const node = (options: { blocksOnly?: boolean; reconciliation?: boolean } = {}) =>
  LinkedNode.with(chain.params, chain.blocks.slice(1), { reconciliation: true, ...options });
const OFFER = { version: 1, salt: 2n };

// BIP-330
test('the keys of short ids are those of the tagged hash of both salts in ascending order', () => {
  const tag = createHash('sha256').update('Tx Relay Salting').digest();
  const salts = Buffer.alloc(16);
  salts.writeBigUInt64LE(5n, 0);
  salts.writeBigUInt64LE(2n ** 63n, 8);
  const hash = createHash('sha256').update(tag).update(tag).update(salts).digest();
  const keys: [bigint, bigint] = [hash.readBigUInt64LE(0), hash.readBigUInt64LE(8)];
  expect(shortIdKeys(5n, 2n ** 63n)).toEqual(keys);
  expect(shortIdKeys(2n ** 63n, 5n)).toEqual(keys);
});

describe('the offer', () => {
  test('is sent once, between version and verack', async () => {
    await using a = await node();
    const end = await ScriptedEnd.join(a);
    await end.heard(1n);
    const types = end.received.map(({ type }) => type);
    expect(types.filter((type) => type === 'sendtxrcncl')).toHaveLength(1);
    expect(types.indexOf('version')).toBeLessThan(types.indexOf('sendtxrcncl'));
    expect(types.indexOf('sendtxrcncl')).toBeLessThan(types.indexOf('verack'));
    expect(end.of('sendtxrcncl')[0]!.version).toBe(1);
  });

  test.each<[string, Parameters<typeof node>[0], Parameters<typeof ScriptedEnd.join>[1]]>([
    ['without the setting', { reconciliation: false }, {}],
    ['in blocks-only mode', { blocksOnly: true }, {}],
    ['to a peer that wants no transactions', {}, { relay: false }],
    ['to a peer of an earlier protocol', {}, { version: 70_015, wtxidRelay: false }],
    ['on a block-relay-only connection', {}, { type: 'block-relay-only', relay: false }],
    ['on an addr-fetch connection', {}, { type: 'addr-fetch' }],
  ])('is not sent %s', async (_, options, introduction) => {
    await using a = await node(options);
    const end = await ScriptedEnd.join(a, introduction);
    await end.heard(1n);
    expect(end.of('sendtxrcncl')).toEqual([]);
  });
});

test.each<[ConnectionType, boolean]>([
  ['inbound', false],
  ['outbound-full-relay', true],
])('both sides agree on a connection of type %s', async (type, weInitiate) => {
  await using a = await node();
  const end = await ScriptedEnd.join(a, { type, reconciliation: [{ version: 7, salt: 9n }] });
  await end.heard(1n);
  const { salt } = end.of('sendtxrcncl')[0]!;
  expect(end.peer!.negotiated.reconciliation!.agreed).toEqual({
    version: 1,
    weInitiate,
    shortIdKeys: shortIdKeys(salt, 9n),
  });
});

test('without an offer of the peer, or without relay by wtxid, nothing is agreed on', async () => {
  await using a = await node();
  for (const introduction of [{}, { reconciliation: [OFFER], wtxidRelay: false }]) {
    const end = await ScriptedEnd.join(a, introduction);
    expect(end.in.reason).toBeNull();
    expect(end.peer!.negotiated.reconciliation).toBeNull();
  }
});

test('an offer that we did not make, or cannot make, is ignored', async () => {
  await using off = await node({ reconciliation: false });
  const end = await ScriptedEnd.join(off, { reconciliation: [OFFER, OFFER] });
  end.send('sendtxrcncl', OFFER);
  await end.heard(1n);
  expect(end.in.reason).toBeNull();
  await using on = await node();
  const old = await ScriptedEnd.join(on, { version: 70_015, wtxidRelay: false, reconciliation: [OFFER, OFFER] });
  expect(old.in.reason).toBeNull();
});

describe('an offer that contradicts the handshake ends the connection', () => {
  test.each<[string, Parameters<typeof ScriptedEnd.join>[1]]>([
    ['second sendtxrcncl', { reconciliation: [OFFER, OFFER] }],
    ['sendtxrcncl of an unknown version', { reconciliation: [{ version: 0, salt: 2n }] }],
    ['sendtxrcncl of a peer that relays no transactions', { relay: false, reconciliation: [OFFER] }],
    ['sendtxrcncl where we relay no transactions', { type: 'block-relay-only', reconciliation: [OFFER] }],
  ])('%s', async (reason, introduction) => {
    await using a = await node();
    const end = await ScriptedEnd.join(a, introduction);
    expect(end.in.reason).toBe(reason);
  });

  test('sendtxrcncl after verack', async () => {
    await using a = await node();
    const end = await ScriptedEnd.join(a);
    end.send('sendtxrcncl', OFFER);
    await end.heard(1n);
    expect(end.in.reason).toBe('sendtxrcncl after verack');
  });
});
