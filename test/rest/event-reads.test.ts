import { expect, test } from 'bun:test';
import { regtest } from '../../src/params/regtest.ts';
import { addressOf } from '../../src/script/address.ts';
import { KEY, LiveChain } from '../feed/live-chain.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { lockOf } from '../lib/tx-builder.ts';

const chain = chainWithCoins(5);
const ALICE = addressOf(lockOf('p2wpkh', 101).scriptPubKey, regtest.address)!;
const LIMIT = 3;

test('pages of events count as unanswered requests of their key, like all other reads', async () => {
  await using it = await LiveChain.start([], { limits: { parallelPerKey: LIMIT } });
  const watch = JSON.stringify({ kind: 'address', value: ALICE });
  expect((await it.get('/api/watches', { method: 'POST', headers: KEY, body: watch })).status).toBe(200);
  await it.take(...chain.blocks.slice(1, -1));
  // Events of watched items are derived by a worker, so these requests run at a time.
  const path = '/api/events?after=0&types=addressTransaction,newBlock';
  const replies = await Promise.all(Array.from({ length: 40 }, () => it.get(path)));
  const bodies = await Promise.all(replies.map((reply) => reply.json() as Promise<Body>));
  const refused = bodies.filter(({ error }) => error);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(40);
  for (const { error } of refused)
    expect(error).toMatchObject({ code: 'rate_limited', details: { scope: 'parallel' } });
  // The places are free again, and a request that waits holds none.
  const { lastCursor } = (await (await it.get(path)).json()) as Body;
  const waiting = Array.from({ length: 2 * LIMIT }, () => it.get(`/api/events?after=${lastCursor}&wait=30`));
  expect((await it.get(path)).status).toBe(200);
  await it.take(chain.blocks.at(-1)!);
  for (const reply of waiting) expect((await reply).status).toBe(200);
});

interface Body {
  readonly error?: { readonly code: string };
  readonly lastCursor?: string;
}
