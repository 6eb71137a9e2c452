import { expect, test } from 'bun:test';
import { cleanUpAfterTests, poll } from '../lib/node-process.ts';
import { startPeer } from '../lib/peer-node.ts';

cleanUpAfterTests({ each: true });

interface Peer {
  readonly id: number;
  readonly connection_type: string;
  readonly inbound: boolean;
  readonly pingtime?: number;
  readonly pingwait?: number;
}

test('tests open connections, send messages and move the timers of the protocol', async () => {
  const a = await startPeer([]);
  const b = await startPeer([]);
  const { api } = b.node;
  const peers = () => api.rpc<Peer[]>('getpeerinfo');
  expect(await api.rpc<object>('addconnection', [a.address, 'block-relay-only', true])).toEqual({
    address: a.address,
    connection_type: 'block-relay-only',
  });
  await poll('the connection', async () => (await peers()).length === 1);
  const [peer, ...others] = await peers();
  expect([peer!.connection_type, others]).toEqual(['block-relay-only', []]);
  const { body } = await api.rpcBody({
    jsonrpc: '2.0',
    id: 1,
    method: 'addconnection',
    params: [a.address, 'inbound', true],
  });
  expect(body).toMatchObject({ error: { code: -8 } });

  await poll('the first ping', async () => (await peers())[0]!.pingtime !== undefined);
  const now = Math.floor(Date.now() / 1000);
  // Pings are two minutes apart. A time that stands still gives the answer no duration.
  await api.rpc('setmocktime', [now]);
  await api.rpc('setmocktime', [now + 121]);
  await poll('a ping at the new time', async () => (await peers())[0]!.pingtime === 0);
  await api.rpc('setmocktime', [0]);

  // One header more than a message may have. A message that ends early would be ignored.
  await api.rpc('sendmsgtopeer', [peer!.id, 'headers', 'fdd107']);
  await poll('the end of the connection', async () => (await peers()).length === 0);
  const gone = await api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'sendmsgtopeer', params: [peer!.id, 'addr', 'ff'] });
  expect(gone.body).toMatchObject({ error: { code: -1, message: 'Error: Could not send message to peer' } });

  // A peer that was connected to for addresses alone has five minutes to send some.
  await api.rpc('addconnection', [a.address, 'addr-fetch', true]);
  await poll('the peer of addresses', async () => (await peers()).length === 1);
  const late = Math.floor(Date.now() / 1000) + 301;
  await api.rpc('setmocktime', [late]);
  await poll('the end of its time', async () => (await peers()).length === 0);
  await api.rpc('setmocktime', [0]);
}, 60_000);
