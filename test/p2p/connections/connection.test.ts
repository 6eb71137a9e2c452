import { afterEach, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { ByteStream } from '../../../src/p2p/connections/byte-stream.ts';
import { Connection, inactivityOf } from '../../../src/p2p/connections/connection.ts';
import { LogicEvents } from '../../../src/p2p/connections/connection-events.ts';
import { ConnectionTable } from '../../../src/p2p/connections/connection-table.ts';
import { NetTotals } from '../../../src/p2p/connections/net-totals.ts';
import type { PeerLink } from '../../../src/p2p/connections/peer-link.ts';
import { newStanding } from '../../../src/p2p/connections/peer-link.ts';
import type { NetMessage, Transport } from '../../../src/p2p/transport/transport.ts';
import { V1Transport } from '../../../src/p2p/transport/v1-transport.ts';
import { ManualClock } from '../../lib/manual-clock.ts';
import { MAGIC, RawPeer } from '../../lib/raw-peer.ts';
import { fixture as addresses, at, NOW } from '../address/addr-fixture.ts';
import { listener, memoryLog, RecordingLogic, turns, until, v2 } from './net-fixture.ts';

const MEGABYTE = 1_000_000;
const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

/** Connections made by connecting to a port. */
function node(
  handle: (link: PeerLink, message: NetMessage) => void | Promise<void> = () => {},
  transport: () => Transport = () => new V1Transport(MAGIC),
) {
  const clock = new ManualClock(NOW * 1000);
  const table = new ConnectionTable();
  const logic = new RecordingLogic(handle);
  const totals = new NetTotals(clock, 0);
  const { log, errors } = memoryLog();
  const retried: Connection[] = [];
  const events = new LogicEvents(logic, {
    table,
    totals,
    log,
    addresses: addresses().manager,
    capture: null,
    reachedOnion: () => {},
    retryV1: (connection) => void retried.push(connection),
  });
  const accept = (stream: ByteStream) => {
    const options = { type: 'inbound', service: stream.remote!, name: 'peer', permissions: new Set<never>() } as const;
    const connection = new Connection(
      { ...options, id: table.nextId(), transport: transport(), stream, clock },
      events,
    );
    table.add(connection);
    connection.start();
  };
  const server = listener(accept);
  cleanups.push(server.stop, () => events.stop());
  const peer = async (other: Transport = new V1Transport(MAGIC)) => {
    const dialled = await RawPeer.dial(server.port, other);
    cleanups.push(() => dialled.close());
    return dialled;
  };
  return { clock, table, logic, totals, errors, peer, retried, link: (id = 0) => table.byId(id)! };
}

test('messages pass both ways, and each byte is counted under its type', async () => {
  const { logic, peer, link, totals, clock } = node((link, { payload }) => link.sendPayload('pong', payload));
  const other = await peer();
  other.send('ping', new Uint8Array(8).fill(7));
  other.send('ping', new Uint8Array(8).fill(8));
  other.send('nonsense', new Uint8Array(10));
  await until(() => other.messages.length === 3);
  expect(logic.types()).toEqual(['ping', 'ping', 'nonsense']);
  expect(other.messages[1]).toEqual(expect.objectContaining({ type: 'pong', payload: new Uint8Array(8).fill(8) }));
  const { traffic } = link();
  expect(traffic.receivedByType).toEqual(
    new Map([
      ['ping', 64],
      ['*other*', 34],
    ]),
  );
  expect(traffic.sentByType).toEqual(new Map([['pong', 98]]));
  expect([traffic.received, traffic.sent, traffic.lastSentAt, traffic.lastReceivedAt]).toEqual([98, 98, NOW, NOW]);
  expect([totals.received, totals.sent]).toEqual([98, 98]);
  expect(link().openedAt).toBe(Math.floor(clock.nowMs() / 1000));
});

test('a v2 connection opens after the key exchange, and both sides have the same session id', async () => {
  const { logic, peer, link } = node(undefined, () => v2(false));
  const transport = v2(true);
  const other = await peer(transport);
  await until(() => logic.events.length > 0);
  expect(logic.events).toEqual(['opened 0']);
  await until(() => transport.writable);
  other.send('ping', new Uint8Array(8));
  await until(() => logic.messages.length === 1);
  link().send('ping', { nonce: 5n });
  await until(() => other.types.length === 1);
  expect(link().protocol).toBe('v2');
  expect(link().sessionId).toBe(transport.sessionId!.toHex());
});

test('above the memory limit, the peer with the most memory for the longest time is disconnected, and no current one', async () => {
  const { clock, peer, logic, link } = node();
  const deaf = await peer();
  deaf.stream.pause();
  await until(() => logic.links.length === 1);
  const others: RawPeer[] = [];
  for (let i = 1; i <= 3; i++) {
    others.push(await peer());
    await until(() => logic.links.length === i + 1);
  }
  // More than the system buffers for a socket that is not read.
  for (let i = 0; i < 20; i++) link(0).sendPayload('block', new Uint8Array(MEGABYTE));
  expect(link(0).memory).toBeGreaterThan(10 * MEGABYTE);
  expect(link(1).memory).toBe(0);
  clock.advance(1000);
  // An incomplete message, younger than what the first peer does not read.
  const half = new V1Transport(MAGIC).encode('block', new Uint8Array(3_900_000)).subarray(0, -1);
  for (const other of others) other.raw(half);
  const first = link(0);
  await until(() => link(3).memory > 3_000_000);
  for (let i = 0; i < 14 && !first.closed; i++) first.sendPayload('block', new Uint8Array(MEGABYTE));
  expect([first.closed, first.memory]).toEqual([true, 0]);
  expect(others.some(({ closed }) => closed)).toBe(false);
  await until(() => logic.events.includes('closed 0 too much memory kept'));
  // The rest is received, and freed once processed.
  for (const other of others) other.raw(Uint8Array.of(0));
  await until(() => logic.messages.length === 3);
  await turns(5);
  expect([1, 2, 3].map((id) => link(id).memory)).toEqual([0, 0, 0]);
});

test("an inbound connection opens when the peer's protocol is detected", async () => {
  const { logic, peer, link } = node(undefined, () => v2(false));
  const other = await peer();
  await until(() => link() !== null);
  await turns(5);
  expect(logic.events).toEqual([]);
  other.send('version', new Uint8Array(100));
  await until(() => logic.messages.length === 1);
  expect([link().protocol, link().sessionId, ...logic.events]).toEqual(['v1', '', 'opened 0']);
});

test('bytes that exceed the socket buffer are queued and arrive in order', async () => {
  const { peer, link, logic } = node();
  const other = await peer();
  other.stream.pause();
  await until(() => logic.links.length === 1);
  for (let i = 0; i < 20; i++) link().sendPayload('block', new Uint8Array(MEGABYTE).fill(i));
  expect(link().sendQueueFull).toBe(true);
  expect(link().traffic.sent).toBeLessThan(20 * MEGABYTE);
  other.stream.resume();
  await until(() => other.messages.length === 20);
  expect(other.messages.every(({ payload }, i) => payload.length === MEGABYTE && payload.every((x) => x === i))).toBe(
    true,
  );
  await until(() => !link().sendQueueFull);
  expect(link().traffic.sent).toBe(20 * (MEGABYTE + 24));
});

test('a peer that does not read is disconnected before it uses much memory', async () => {
  const { peer, link, logic } = node();
  const other = await peer();
  other.stream.pause();
  await until(() => logic.links.length === 1);
  const sending = link();
  const block = new Uint8Array(4 * MEGABYTE);
  for (let i = 0; i < 30 && !sending.closed; i++) sending.sendPayload('block', block);
  await until(() => logic.events.length === 2);
  expect(logic.events[1]).toBe('closed 0 send queue overflow');
});

test('no message of a peer is processed while its send queue is full', async () => {
  const answer = new Uint8Array(3 * MEGABYTE);
  const { peer, logic } = node((link) => link.sendPayload('block', answer));
  const other = await peer();
  other.stream.pause();
  for (let i = 0; i < 20; i++) other.send('getdata', new Uint8Array(37));
  await until(() => logic.messages.length > 0 && logic.links[0]!.sendQueueFull);
  await turns(20);
  const soFar = logic.messages.length;
  expect(soFar).toBeLessThan(10);
  other.stream.resume();
  await until(() => other.messages.length === 20);
});

test('reading pauses while the protocol logic is slow', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { peer, logic, link } = node(() => released);
  const other = await peer();
  for (let i = 0; i < 60; i++) other.send('tx', new Uint8Array(MEGABYTE).fill(i));
  await until(() => link() !== null && link().traffic.received > 5 * MEGABYTE);
  await turns(50);
  // The limit, plus what one read may bring.
  expect(link().traffic.received).toBeLessThan(8 * MEGABYTE);
  expect(logic.messages.length).toBe(1);
  expect(other.waiting).toBeGreaterThan(20 * MEGABYTE);
  release();
  await until(() => logic.messages.length === 60);
  expect(logic.messages.every(({ payload }, i) => payload[0] === i)).toBe(true);
});

test('a peer with many messages does not delay other peers', async () => {
  const { peer, logic } = node();
  const loud = await peer();
  const quiet = await peer();
  await until(() => logic.links.length === 2);
  for (let i = 0; i < 20_000; i++) loud.send('inv', new Uint8Array(37));
  quiet.send('ping', new Uint8Array(8));
  await until(() => logic.types(1).length === 1);
  expect(logic.types(0).length).toBeLessThan(20_000);
  let turnsTaken = 0;
  while (logic.types(0).length < 20_000) {
    turnsTaken++;
    await turns(1);
  }
  // Sockets and timers were served in between.
  expect(turnsTaken).toBeGreaterThan(10);
});

test('peers are served one message at a time in rounds', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { peer, logic, link } = node((_, { type }) => (type === 'mempool' ? released : undefined));
  const peers = [await peer(), await peer(), await peer()];
  for (const other of peers) {
    other.send('mempool');
    for (let i = 0; i < 3; i++) other.send('ping', new Uint8Array(8));
  }
  await until(() => [0, 1, 2].every((id) => link(id) !== null && link(id).traffic.received === 24 + 3 * 32));
  await until(() => logic.messages.length === 3);
  release();
  await until(() => logic.messages.length === 12);
  const order = logic.messages.slice(3).map(({ peer }) => peer);
  for (let round = 0; round < 9; round += 3) expect(order.slice(round, round + 3).sort()).toEqual([0, 1, 2]);
});

test('a message in process delays only its own peer', async () => {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { peer, logic } = node((link) => (link.id === 0 ? released : undefined));
  const slow = await peer();
  const fast = await peer();
  for (const other of [slow, fast]) for (let i = 0; i < 5; i++) other.send('ping', new Uint8Array(8));
  await until(() => logic.types(1).length === 5);
  expect(logic.types(0).length).toBe(1);
  release();
  await until(() => logic.types(0).length === 5);
});

test('an exception of the protocol logic disconnects one peer', async () => {
  const { peer, logic, errors } = node((_, { type }) => {
    if (type === 'tx') throw new Error('a mistake');
    return type === 'block' ? Promise.reject(new Error('another')) : undefined;
  });
  const [first, second, third] = [await peer(), await peer(), await peer()];
  first!.send('tx');
  second!.send('block');
  await until(() => first!.closed && second!.closed);
  third!.send('ping', new Uint8Array(8));
  await until(() => logic.types(2).length === 1);
  expect(logic.events.filter((event) => event.startsWith('closed')).sort()).toEqual([
    'closed 0 internal error',
    'closed 1 internal error',
  ]);
  expect(errors().length).toBe(2);
});

test('an undecodable stream is closed, and an undecodable message is ignored', async () => {
  const { peer, logic, link } = node();
  const bad = await peer();
  const odd = await peer();
  bad.raw(new Uint8Array(24).fill(0xff));
  await until(() => bad.closed);
  expect(logic.events).toContain('closed 0 transport error');
  const wrongChecksum = odd.transport.encode('ping', new Uint8Array(8));
  wrongChecksum[20]! ^= 1;
  odd.raw(wrongChecksum);
  odd.send('ping', new Uint8Array(8));
  await until(() => logic.messages.length === 1);
  expect([link(1).dropped, link(1).traffic.receivedByType.get('*other*')]).toEqual([1, 32]);
});

test('no byte stream causes an internal error', async () => {
  for (const transport of [() => new V1Transport(MAGIC), () => v2(false)]) {
    const { peer, errors, table } = node(undefined, transport);
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 100 }),
      fc.constant(MAGIC),
      fc.constant(new V1Transport(MAGIC).encode('version', new Uint8Array(100))),
      fc.constant(v2(true).start()),
      fc.integer({ min: 0, max: 5000 }).map((size) => new Uint8Array(size)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 5 }), async (pieces) => {
        const other = await peer();
        for (const bytes of pieces) other.raw(bytes);
        await turns(5);
        other.close();
        await until(() => table.all().length === 0);
        expect(errors()).toEqual([]);
      }),
      { numRuns: 60 },
    );
  }
});

test('an exception in a transport disconnects one peer', async () => {
  const broken = new V1Transport(MAGIC);
  broken.receive = () => {
    throw new Error('a mistake');
  };
  const { peer, errors, logic } = node(undefined, () => broken);
  const other = await peer();
  other.send('ping', new Uint8Array(8));
  await until(() => other.closed && logic.events.length === 2);
  expect(logic.events[1]).toBe('closed 0 internal error');
  expect(errors().length).toBe(1);
});

test('closed is the last event and occurs once', async () => {
  const { peer, logic, totals, table } = node((link) => link.disconnect('enough'));
  const other = await peer();
  for (let i = 0; i < 10; i++) other.send('ping', new Uint8Array(8));
  await until(() => other.closed);
  await turns(5);
  expect(logic.messages.length).toBe(1);
  expect(logic.events).toEqual(['opened 0', 'closed 0 enough']);
  const [closed] = logic.links;
  closed!.send('ping', { nonce: 1n });
  closed!.disconnect('again');
  await turns(2);
  expect(closed!.closed).toBe(true);
  expect(totals.closeReasons).toEqual(new Map([['enough', 1]]));
  expect(table.all()).toEqual([]);
});

test('a peer that disconnects is removed', async () => {
  const { peer, logic } = node();
  const other = await peer();
  await until(() => logic.links.length === 1);
  other.close();
  await until(() => logic.events.length === 2);
  expect(logic.events[1]).toBe('closed 0 closed by peer');
});

test('a connection that never opened is not reported to the protocol logic', async () => {
  const { peer, logic, totals } = node(undefined, () => v2(false));
  const other = await peer();
  other.close();
  await until(() => totals.closeReasons.size === 1);
  expect(logic.events).toEqual([]);
});

test('a connection without handshake or traffic is closed', () => {
  const minute = 60_000;
  const link = (changes: Partial<Connection>) =>
    ({
      startedMs: 0,
      lastSentMs: 1,
      lastReceivedMs: 1,
      protocol: 'v2',
      standing: newStanding(),
      ...changes,
    }) as Connection;
  const done = { standing: { ...newStanding(), established: true } };
  const found = (changes: Partial<Connection>, nowMs: number) => inactivityOf(link(changes), nowMs, minute);
  const reason = (changes: Partial<Connection>, nowMs: number) => found({ ...done, ...changes }, nowMs)?.reason ?? null;
  expect(reason({ lastReceivedMs: null, lastSentMs: null }, minute)).toBeNull();
  expect(found({ lastReceivedMs: null }, minute + 1)).toEqual({
    reason: 'no message in time',
    facts: { seconds: 60, hasReceived: false, hasSent: true },
  });
  expect(reason({ lastSentMs: null }, minute + 1)).toBe('no message in time');
  expect(found({ protocol: 'detecting' }, minute + 1)?.reason).toBe('transport handshake timeout');
  expect(found({}, minute + 1)?.reason).toBe('handshake timeout');
  expect(inactivityOf(link({}), 3001, 3000)?.reason).toBe('handshake timeout');
  expect(reason({}, 20 * minute)).toBeNull();
  expect(reason({ lastReceivedMs: 5 * minute }, 20 * minute + 2)).toBe('sending timeout');
  expect(reason({ lastSentMs: 5 * minute }, 20 * minute + 2)).toBe('receiving timeout');
});

test('the local and remote addresses are those of the socket', async () => {
  const { peer, link, logic } = node();
  const other = await peer();
  await until(() => logic.links.length === 1);
  expect(link().service).toEqual(other.stream.local!);
  expect(link().localService).toEqual(other.stream.remote!);
  expect(link().localService).toEqual(at('127.0.0.1', other.stream.remote!.port));
  expect(link().network).toBe('unroutable');
});
