import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { issueKey } from '../../src/auth/issue-key.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import { txidOf } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import { chainWithCoins } from '../lib/chain-builder.ts';
import { lockOf, spend } from '../lib/tx-builder.ts';
import type { Message } from '../ws/ws-client.ts';
import { LiveChain } from './live-chain.ts';

const chain = chainWithCoins(12);
const coin = (n: number) => chain.coin(n);
const LOCKS = [1, 2, 3, 4].map((n) => lockOf(n % 2 ? 'p2wpkh' : 'p2tr', 100 + n));
const ADDRESSES = LOCKS.map(({ scriptPubKey }) => addressOf(scriptPubKey, regtest.address)!);
const THRESHOLDS = [0, 1, 2, 3];
const TYPES = [
  'newBlock',
  'newTransaction',
  'blockDisconnected',
  'reorg',
  'transactionRemoved',
  'addressTransaction',
  'confirmation',
  'mempoolUpdate',
];

const txs = [1, 2, 3, 4, 5, 6].map((n) =>
  spend(coin(n), [
    { to: LOCKS[n % 4]!, value: 1_0000_0000n },
    { to: LOCKS[(n + 1) % 4]!, value: 2_0000_0000n },
    { to: LOCKS[n % 4]!, value: 3_0000_0000n },
  ]),
);
const TXIDS = txs.slice(0, 3).map((tx) => hashToHex(txidOf(tx)));
const OUTPOINTS = [4, 5].map((n) => `${hashToHex(coin(n).outpoint.txid)}:${coin(n).outpoint.vout}`);

/** Subscriptions of one client. */
interface Asks {
  readonly addresses: readonly string[];
  readonly txids: readonly string[];
  readonly outpoints: readonly string[];
  readonly confirmations: readonly number[];
  readonly types: readonly string[];
}

const EVERYTHING: Asks = {
  addresses: ADDRESSES,
  txids: TXIDS,
  outpoints: OUTPOINTS,
  confirmations: THRESHOLDS,
  types: TYPES,
};

const asks: fc.Arbitrary<Asks> = fc.record({
  addresses: fc.subarray(ADDRESSES),
  txids: fc.subarray(TXIDS),
  outpoints: fc.subarray(OUTPOINTS),
  confirmations: fc.subarray(THRESHOLDS),
  // The last event is one that every client gets.
  types: fc.subarray(TYPES.slice(0, -1)).map((types) => [...types, 'mempoolUpdate']),
});

/** Whether a client that asks for these gets a message that one gets who asks for everything. */
function isFor({ addresses, txids, outpoints, confirmations, types }: Asks, { type, data }: Message): boolean {
  if (!types.includes(type)) return false;
  if (type === 'addressTransaction') return addresses.includes(data.address as string);
  if (type !== 'confirmation') return true;
  if (!confirmations.includes(data.threshold as number)) return false;
  if (data.address !== null) return addresses.includes(data.address as string);
  if (data.outpoint !== null) return outpoints.includes(data.outpoint as string);
  return txids.includes(data.txid as string);
}

/** All transactions come, one leaves, blocks are mined, and a reorg mines some of them again elsewhere. */
async function happen(it: LiveChain): Promise<void> {
  const mined = chain.fork();
  for (const [i, tx] of txs.entries()) it.added(tx, [coin(i + 1)]);
  it.removed(txs[5]!, 'expiry');
  const branch = mined.fork();
  await it.take(mined.mine(1, { txs: txs.slice(0, 3) }), mined.mine(1, { txs: txs.slice(3, 5) }));
  branch.mine(1, { txs: [txs[1]!, txs[0]!] });
  branch.mine(1, { txs: [txs[4]!] });
  branch.mine(2);
  await it.take(...branch.blocks.slice(chain.height + 1));
  it.updated();
}

async function overSocket(it: LiveChain, { types, ...watched }: Asks, after: string | number): Promise<Message[]> {
  using client = await it.client();
  await client.ask('subscribe', { events: [], replace: true });
  await client.ask('watch', watched);
  await client.ask('subscribe', { events: types, replace: true, after });
  await client.next(({ type }) => type === 'mempoolUpdate');
  return await client.events();
}

const bare = ({ type, data: { sub, watchId, ...data } }: Message) => ({ type, data });

/** Checks that `sub` counts what was sent of each event, from 1 on. */
function expectSubs(messages: readonly Message[]): void {
  let seq: unknown = null;
  let sub = 0;
  for (const { type, data } of messages) {
    if (data.seq !== seq) sub = 0;
    seq = data.seq;
    if (type === 'addressTransaction' || type === 'confirmation') expect(data.sub).toBe(++sub);
    else expect(data.sub).toBeUndefined();
  }
}

test('behind any cursor any client gets the rest of the one order of all events, as far as it asks for it', async () => {
  await using it = await LiveChain.start(chain.blocks.slice(1));
  const start = it.lastSeq;
  await happen(it);

  const all = await overSocket(it, EVERYTHING, start);
  expect(all.length).toBeGreaterThan(80);
  const cursors = all.map(({ data }) => data.cursor as string);
  expect(new Set(cursors).size).toBe(all.length);
  for (const cursor of cursors) expect(cursor).toMatch(/^[A-Za-z0-9_-]{1,64}$/);

  await fc.assert(
    fc.asyncProperty(asks, fc.nat(all.length - 2), async (wanted, cut) => {
      const rest = await overSocket(it, wanted, cursors[cut]!);
      expect(rest.map(bare)).toEqual(
        all
          .slice(cut + 1)
          .filter((each) => isFor(wanted, each))
          .map(bare),
      );
      expectSubs(rest);
    }),
    { numRuns: 60 },
  );

  // The same over pages, for keys whose watches are stored.
  const keys = await Promise.all(
    fc.sample(asks, { numRuns: 3, seed: 7 }).map(async (wanted, n) => {
      const { key } = issueKey(it.api.auth.store!, { label: '', scopes: ['read'] }, n + 1);
      it.api.auth.keysChanged();
      const headers = { authorization: `Bearer ${key}` };
      const list = (kind: string, values: readonly string[]) =>
        values.map((value) => ({ kind, value, confirmations: wanted.confirmations }));
      const watches = [
        ...list('address', wanted.addresses),
        ...list('tx', wanted.txids),
        ...list('outpoint', wanted.outpoints),
      ];
      const body = JSON.stringify({ watches });
      if (watches.length > 0)
        expect((await it.get('/api/watches', { method: 'POST', headers, body })).status).toBe(200);
      return { wanted, headers };
    }),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...keys),
      fc.subarray(TYPES, { minLength: 1 }),
      fc.integer({ min: -1, max: all.length - 2 }),
      fc.integer({ min: 1, max: 40 }),
      async ({ wanted, headers }, types, cut, limit) => {
        const got: Message[] = [];
        let after = cut < 0 ? String(start) : cursors[cut]!;
        for (;;) {
          const query = `after=${after}&limit=${limit}&types=${types.join()}`;
          const response = await it.get(`/api/events?${query}`, { headers });
          const page = (await response.json()) as { items: Message[]; lastCursor: string; lastSeq: number };
          // Behind a number an event is not parted from what is derived from it.
          if (after !== String(start)) expect(page.items.length).toBeLessThanOrEqual(limit);
          expectSubs(page.items);
          got.push(...page.items);
          if (page.items.length === 0) break;
          after = page.lastCursor;
        }
        const subscription = { ...wanted, types };
        expect(got.map(bare)).toEqual(
          all
            .slice(cut + 1)
            .filter((each) => isFor(subscription, each))
            .map(bare),
        );
      },
    ),
    { numRuns: 40 },
  );
}, 180_000);
