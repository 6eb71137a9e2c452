import { expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { LiveChain } from '../feed/live-chain.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';

const chain = chainWithCoins(2);

/** A witness program of the longest form, whose address takes the most time to parse. */
function longAddress(i: number): string {
  const script = new Uint8Array(42);
  script.set([0x52, 40]);
  new DataView(script.buffer).setUint32(2, i);
  return addressOf(script, regtest.address)!;
}

test('messages that wait for an earlier one are bounded, and a client that exceeds that is closed', async () => {
  await using it = await LiveChain.start(chain.blocks.slice(1, 3));
  using client = await it.client();
  const addresses = Array.from({ length: 700 }, (_, i) => longAddress(i));
  // Half of the messages that a client may send in ten seconds: 3 MiB.
  const message = { type: 'unwatch', data: { addresses } };
  expect(JSON.stringify(message).length).toBeLessThan(64 * 1024);
  for (let i = 0; i < 50; i++) client.send(message);
  expect(await client.closed).toMatchObject({ code: 4029, reason: 'too many messages wait' });
});

test('a hundred short messages behind a long one are all answered', async () => {
  await using it = await LiveChain.start(chain.blocks.slice(1, 3));
  using client = await it.client();
  client.send({ type: 'watch', id: 0, data: { addresses: Array.from({ length: 700 }, (_, i) => longAddress(i)) } });
  for (let id = 1; id < 100; id++) client.send({ type: 'ping', id });
  const replies = await client.until(100);
  expect(replies.slice(0, 100).map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
});

test('snapshots that wait to be sent are bounded, and later ones are made again', async () => {
  await using it = await LiveChain.start(chain.blocks.slice(1, 3), {
    limits: { wsWatched: 20, wsMessagesPer10s: 100_000 },
  });
  using client = await it.client();
  const addresses = Array.from({ length: 10 }, (_, i) => longAddress(i));
  for (let i = 0; i < 6; i++) client.send({ type: 'watch', id: `s${i}`, data: { addresses, snapshot: true } });
  const replies = await client.until(6);
  const refused = replies.filter(({ type }) => type === 'error');
  expect(refused.length).toBeGreaterThan(0);
  for (const { data } of refused)
    expect(data).toMatchObject({ code: 'limit_exceeded', details: { limit: 20 }, message: SNAPSHOTS_WAIT });
  // Ten errors in a row would close the connection.
  while ((await client.ask('watch', { addresses, snapshot: true })).type !== 'ack') await client.ask('ping');
});

const SNAPSHOTS_WAIT = 'the snapshots of earlier messages are still being sent';
