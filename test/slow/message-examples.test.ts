import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { AsyncApi, recordIfWanted } from '../lib/async-api.ts';
import { ExampleNode } from '../lib/example-node.ts';
import { EventSocket, type WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, TEST_KEY } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { TestPeer } from '../lib/test-peer.ts';

cleanUpAfterTests();

const AUTHORIZATION = { authorization: `Bearer ${TEST_KEY}` };
const EVENTS = [
  ...['newBlock', 'newTransaction', 'mempoolUpdate', 'blockDisconnected', 'reorg', 'transactionRemoved'],
  ...['addressTransaction', 'confirmation', 'walletTransaction', 'mempoolBlocks', 'peerConnected', 'peerDisconnected'],
];

describe('the messages of the AsyncAPI document', () => {
  let it: ExampleNode;
  let api: AsyncApi;
  let socket: EventSocket;
  beforeAll(async () => {
    it = await ExampleNode.start();
    api = new AsyncApi((await (await fetch(`${it.node.api.url}/docs/asyncapi.json`)).json()) as object);
    socket = await EventSocket.open(`${it.node.api.url.replace('http', 'ws')}/ws`, AUTHORIZATION);
  });
  afterAll(async () => {
    socket.close();
    await it[Symbol.asyncDispose]();
  });
  let id = 0;
  const ask = async (type: string, data: object): Promise<WsMessage> => {
    const message = { type, id: ++id, data };
    socket.send(message);
    const reply = await socket.until(`the reply to ${type}`, (each) => (each as { id?: unknown }).id === message.id);
    expect([api.problems(message as never, `${type}Message`), api.problems(reply as never, `${type}Reply`)]).toEqual([
      [],
      [],
    ]);
    recordIfWanted(`${type}Message`, message);
    recordIfWanted(`${type}Reply`, reply);
    return reply;
  };

  test('of clients are carried out, and the replies are as described', async () => {
    const address = await it.node.api.rpc<string>('getnewaddress', []);
    await it.node.api.rpc('devpay', [address, 0.1]);
    const [txid] = await it.node.api.rpc<string[]>('getrawmempool');
    await ask('subscribe', { events: EVENTS });
    await ask('watch', { addresses: [address], txids: [txid], confirmations: [1, 6], snapshot: true });
    await ask('filter', { onlyWatched: false, minFeeRate: 0 });
    await ask('status', {});
    await ask('ping', {});
    const { data } = await ask('status', {});
    await ask('resume', { after: data.cursor });
    await ask('unwatch', { txids: [txid] });
    await ask('unsubscribe', { events: ['syncStatus'] });
    socket.send({ type: 'weather', id: 'unknown' });
    await socket.until('the error', ({ type }) => type === 'error');
  });

  test('of the node arrive', async () => {
    const address = await it.node.api.rpc<string>('getnewaddress', []);
    await ask('watch', { addresses: [address], confirmations: [1] });
    await it.node.api.rpc('devpay', [address, 0.2]);
    await it.node.api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
    await it.node.api.rpc('devreorg', [2, false]);
    const peer = await TestPeer.join(it.address);
    peer.close();
    for (const type of EVENTS) await socket.until(type, (each) => each.type === type);
  });

  test('on a stream whose key is revoked end with a reason', async () => {
    const { id: keyId, key } = await it.node.api.rpc<{ id: string; key: string }>('createapikey', ['stream', ['read']]);
    const stream = await fetch(`${it.node.api.url}/api/stream`, { headers: { authorization: `Bearer ${key}` } });
    await it.node.api.rpc('revokeapikey', [keyId]);
    const text = await stream.text();
    const [last] = text.matchAll(/^data: (.*"type":"closed".*)$/gm);
    const message = JSON.parse(last![1]!) as WsMessage;
    expect(api.problems(message as never)).toEqual([]);
    recordIfWanted('closed', message);
  });

  test('show every fifteen seconds that the connection lives', async () => {
    await ask('subscribe', { events: ['heartbeat'] });
    await socket.until('a heartbeat', ({ type }) => type === 'heartbeat');
  });

  test('have an example each, which fits its schema', () => {
    expect(api.messages.length).toBeGreaterThan(35);
    const missing = api.messages.flatMap((name) => api.exampleProblems(name));
    if (missing.length > 0) throw new Error(`${missing.join('; ')}. ${HOW}`);
  });
});

const HOW =
  '`RECORD_EXAMPLES=1` with this file, fees, peer-ops, webhooks, webhook-restarts and event-restarts of test/functional ' +
  'records the first message of each name that a client or a node sends.';
