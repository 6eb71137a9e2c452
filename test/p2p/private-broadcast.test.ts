import { describe, expect, test } from 'bun:test';
import { INVENTORY } from '../../src/p2p/messages/inventory.ts';
import { transactionBytes } from '../../src/primitives/transaction.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { parsed } from '../lib/mempool-fixture.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import { LinkedNode, until } from './lib/linked-net.ts';
import { ScriptedEnd } from './lib/scripted-end.ts';

const NO_LIMITS = { maxFeerate: null, maxBurn: 2_100_000_000_000_000 } as const;

async function nodeWithTransaction() {
  const recent = { startTime: Math.floor(Date.now() / 1000) - 200 * 60, spacing: 60 };
  const chain = chainWithCoins(2, 'p2wpkh', recent);
  const node = await LinkedNode.with(chain.params, chain.blocks.slice(1));
  const coin = chain.coin(1);
  const tx = parsed(spend(coin, [{ to: lockOf('p2wpkh', 1), value: coin.output.value - 10_000n }]));
  const submit = () =>
    node.mempool.submissions.broadcastPrivately(tx.raw, NO_LIMITS, (each) =>
      node.peers.privateBroadcast.schedule(each),
    );
  return { chain, node, tx, submit };
}

const join = (node: LinkedNode, relay = true) => ScriptedEnd.join(node, { type: 'private-broadcast', relay });
const request = (hash: Uint8Array, kind: number = INVENTORY.tx) => ({ items: [{ kind, hash }] });
const types = (end: ScriptedEnd) => end.received.map(({ type }) => type);

test('a submitted transaction is sent to one peer that learns nothing else, and not to the mempool', async () => {
  const { node, tx, submit } = await nodeWithTransaction();
  await using _ = node;
  const other = await ScriptedEnd.join(node);
  expect(await submit()).toMatchObject({ status: 'scheduled', fee: 10_000 });
  expect(node.privateWanted).toBe(3);
  expect(await submit()).toMatchObject({ status: 'scheduled' });
  expect(node.privateWanted).toBe(3);
  const end = await join(node);
  expect(end.of('version')).toEqual([
    expect.objectContaining({
      version: 70_016,
      services: 0n,
      time: 0n,
      userAgent: '/pynode:0.0.1/',
      startHeight: 0,
      relay: false,
    }),
  ]);
  await until('the announcement', [node], () => end.of('inv').length === 1);
  expect(end.of('inv')).toEqual([{ items: [{ kind: INVENTORY.tx, hash: tx.txid }] }]);
  // Its other messages are ignored.
  end.send('ping', { nonce: 5n });
  end.send('getaddr', null);
  end.send('getdata', request(tx.txid));
  await until('the ping behind the transaction', [node], () => end.of('ping').length === 1);
  expect(types(end)).toEqual(['version', 'verack', 'inv', 'tx', 'ping']);
  expect(node.peers.privateBroadcast.list()[0]!.attempts[0]!.receivedAt).toBeNull();
  end.send('pong', end.of('ping')[0]!);
  await until('the end of the connection', [node], () => end.in.closed);
  expect(end.in.reason).toBe('private transaction received');
  expect(node.peers.privateBroadcast.list()[0]!.attempts[0]!.receivedAt).not.toBeNull();
  // No further connection is needed in its place.
  expect(node.privateWanted).toBe(3);
  expect(node.mempool.has(tx.txid)).toBe(false);
  await other.heard(1n);
  expect(other.of('inv')).toEqual([]);
});

test('a connection on which the transaction was not received is replaced', async () => {
  const { node, tx, submit } = await nodeWithTransaction();
  await using _ = node;
  await submit();
  for (const [act, reason] of [
    [(end: ScriptedEnd) => end.send('getdata', request(tx.wtxid)), 'unexpected getdata for a private transaction'],
    [
      (end: ScriptedEnd) => end.send('getdata', request(tx.txid, INVENTORY.witnessTx)),
      'unexpected getdata for a private transaction',
    ],
    [
      (end: ScriptedEnd) => end.send('getdata', { items: [...request(tx.txid).items, ...request(tx.txid).items] }),
      'unexpected getdata for a private transaction',
    ],
    [() => node.node.clock.advance(3 * 60_000 + 1), 'private transaction not sent in time'],
  ] as const) {
    const wanted = node.privateWanted;
    const end = await join(node);
    await until('the announcement', [node], () => end.of('inv').length === 1);
    act(end);
    await until('the end of the connection', [node], () => end.in.closed);
    expect(end.in.reason).toBe(reason);
    await until('another connection', [node], () => node.privateWanted === wanted + 1);
    expect(end.of('tx')).toEqual([]);
  }
});

test('a peer that relays no transactions gets none', async () => {
  const { node, submit } = await nodeWithTransaction();
  await using _ = node;
  await submit();
  const end = await join(node, false);
  await until('the end of the connection', [node], () => end.in.closed);
  expect(end.in.reason).toBe('peer does not relay transactions');
  expect(types(end)).toEqual(['version']);
});

test('a transaction that comes from a peer is relayed as usual, and no longer sent', async () => {
  const { node, tx, submit } = await nodeWithTransaction();
  await using _ = node;
  await submit();
  const other = await ScriptedEnd.join(node);
  other.sendPayload('tx', tx.raw);
  await until('the transaction in the mempool', [node], () => node.mempool.has(tx.txid));
  expect(node.peers.privateBroadcast.list()).toEqual([]);
  expect(node.privateWanted).toBe(0);
  const end = await join(node);
  await until('the end of the connection', [node], () => end.in.closed);
  expect(end.in.reason).toBe('no transaction left to be sent privately');
});

test('an aborted transaction is not sent any more', async () => {
  const { node, tx, submit } = await nodeWithTransaction();
  await using _ = node;
  await submit();
  const end = await join(node);
  await until('the announcement', [node], () => end.of('inv').length === 1);
  expect(node.peers.privateBroadcast.abort(tx.txid)).toHaveLength(1);
  expect(node.peers.privateBroadcast.abort(tx.txid)).toEqual([]);
  end.send('getdata', request(tx.txid));
  await until('the end of the connection', [node], () => end.in.closed);
  expect(end.of('tx')).toEqual([]);
});

describe('a transaction that does not come back', () => {
  test('is sent to another peer after five minutes', async () => {
    const { node, submit } = await nodeWithTransaction();
    await using _ = node;
    await submit();
    expect(node.privateWanted).toBe(3);
    node.node.clock.advance(9 * 60_000);
    await until('a further connection', [node], () => node.privateWanted >= 4);
    expect(node.peers.privateBroadcast.list()).toHaveLength(1);
  });

  test('is dropped where the mempool would reject it', async () => {
    const { node, tx, submit } = await nodeWithTransaction();
    await using _ = node;
    await submit();
    await node.mempool.submissions.broadcast(tx.raw, NO_LIMITS);
    node.node.clock.advance(9 * 60_000);
    await until('the removal', [node], () => node.peers.privateBroadcast.list().length === 0);
  });
});

test('an invalid transaction, or one above the fee limit, is rejected and not scheduled', async () => {
  const { chain, node, tx } = await nodeWithTransaction();
  await using _ = node;
  const schedule = () => {
    throw new Error('must not be scheduled');
  };
  const { submissions } = node.mempool;
  expect(await submissions.broadcastPrivately(tx.raw, { ...NO_LIMITS, maxFeerate: 1 }, schedule)).toMatchObject({
    status: 'rejected',
    rejection: { reason: 'max-fee-exceeded' },
  });
  const coin = chain.coin(2);
  const inflating = spend(coin, [{ to: lockOf('p2wpkh', 1), value: coin.output.value + 1n }]);
  expect(await submissions.broadcastPrivately(transactionBytes(inflating), NO_LIMITS, schedule)).toMatchObject({
    status: 'rejected',
  });
  const full = await submissions.broadcastPrivately(tx.raw, NO_LIMITS, () => false);
  expect(full).toEqual({ status: 'private-queue-full' });
});
