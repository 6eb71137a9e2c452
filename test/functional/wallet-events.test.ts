import { beforeAll, describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { issueKey } from '../../src/auth/issue-key.ts';
import { regtest } from '../../src/params/regtest.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { parseAddress } from '../../src/script/address.ts';
import { broadcast, idOf, mempoolLoaded, mine, nodeWith, post, submit } from '../lib/mempool-node.ts';
import { ApiClient, type ErrorBody, type EventSocket, type Readiness, type WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

interface EventPage {
  readonly items: readonly WsMessage[];
  readonly lastSeq: number;
  readonly gap: { readonly scope: string } | null;
}

const COIN = 100_000_000n;
const ARGS = ['--wallet.keypool=20', '--metrics.walletBalances'];

const summary = ({ data }: WsMessage) => [data.wallet, data.phase, data.txid];
const isOfBlock = ({ data }: WsMessage) => ['confirmed', 'reverted', 'conflicted'].includes(data.phase as string);
const nameOf = ({ data }: WsMessage) => data.cursor as string;

describe('walletTransaction', () => {
  const chain = recentChain(130);
  const other = chain.fork(130);
  let node: NodeProcess;
  let socket: EventSocket;
  let deposit: Transaction;
  let seen = 0;
  let next = 1;
  const coin = () => chain.coin(next++);

  async function call<T>(wallet: string, method: string, params: unknown = []): Promise<T> {
    const { body, text } = await post<{ result: T; error?: object }>(node.api, `/wallet/${wallet}`, {
      jsonrpc: '2.0',
      id: 1,
      method,
      params,
    });
    if (body.error) throw new Error(`${method}: ${text}`);
    return body.result;
  }

  async function ownScript(): Promise<Uint8Array> {
    const parsed = parseAddress(await call<string>('default', 'getnewaddress', ['shop']), regtest.address);
    if (!parsed.ok) throw new Error(parsed.error);
    return parsed.script;
  }

  /** Returns the messages since the last call, once there are `count` of them. */
  async function messages(count: number): Promise<WsMessage[]> {
    const ours = () => socket.of('walletTransaction');
    await socket.until(`${seen + count} messages`, () => ours().length >= seen + count);
    const fresh = ours().slice(seen);
    seen += fresh.length;
    return fresh;
  }

  const page = (query: string) => node.api.json<EventPage>(`/api/events?types=walletTransaction&${query}`);

  beforeAll(async () => {
    node = await nodeWith(chain, ARGS);
    socket = await node.api.socket();
    socket.send({ type: 'subscribe', id: 1, data: { events: ['walletTransaction'] } });
    await socket.until('the answer', ({ id }) => id === 1);
  });

  test('reports a deposit in the mempool and in a block, with the members of gettransaction', async () => {
    const script = await ownScript();
    const waiting = page('wait=30');
    deposit = spend(coin(), [
      { to: 'p2wpkh', value: 47n * COIN - 10_000n },
      { to: script, value: 3n * COIN },
    ]);
    // This one is none of the wallet's.
    await broadcast(node.api, sweep(coin(), 'p2wpkh'));
    await broadcast(node.api, deposit);
    const [pending] = await messages(1);
    expect(pending!.data).toMatchObject({
      wallet: 'default',
      phase: 'mempool',
      reason: null,
      txid: idOf(deposit),
      amount: 300_000_000,
      fee: null,
      confirmations: 0,
      trusted: false,
      walletconflicts: [],
      details: [{ category: 'receive', amount: 300_000_000, label: 'shop', vout: 1, abandoned: false }],
    });
    expect(Object.keys(pending!.data).slice(0, 5)).toEqual(['cursor', 'seq', 'sub', 'time', 'wallet']);
    expect((await waiting).items).toEqual([pending!]);
    const block = await mine(node.api, chain, [deposit]);
    const [confirmed] = await messages(1);
    expect(confirmed!.data).toMatchObject({
      phase: 'confirmed',
      txid: idOf(deposit),
      confirmations: 1,
      blockhash: hashToHex(block.hash),
      blockheight: 131,
      blockindex: 1,
    });
    const cause = socket.of('newBlock').at(-1)!;
    expect([confirmed!.data.seq, confirmed!.data.time]).toEqual([cause.data.seq, cause.data.time]);
  });

  test('reports a payment between two wallets for each of them', async () => {
    await node.api.rpc('createwallet', ['other']);
    const destination = await call<string>('other', 'getnewaddress');
    const txid = await call<string>('default', 'sendtoaddress', [destination, 1]);
    const both = await messages(2);
    expect(both.map(summary).sort()).toEqual([
      ['default', 'mempool', txid],
      ['other', 'mempool', txid],
    ]);
    expect(both[0]!.data.seq).toBe(both[1]!.data.seq);
    expect(both.map(({ data }) => data.sub)).toEqual([1, 2]);
    const of = (name: string) => both.find(({ data }) => data.wallet === name)!.data;
    expect(of('other')).toMatchObject({ amount: 100_000_000, fee: null, trusted: false });
    expect(of('default')).toMatchObject({
      amount: -100_000_000,
      trusted: true,
      details: [{ category: 'send', amount: -100_000_000, address: destination }],
    });
    expect(of('default').fee as number).toBeLessThan(0);
    await node.until('the wallets in the metrics', async () => {
      const { text } = await node.api.request('/metrics');
      return (
        /^obverse_wallet_balance_base_units\{wallet="default"\} 1999\d{5}$/m.test(text) &&
        text.includes('obverse_wallet_balance_base_units{wallet="other"} 0\n') &&
        text.includes('obverse_wallet_locked{wallet="other"} 0\n')
      );
    });
  });

  test('reports transactions that a reorg unconfirms, and a double spend in a block', async () => {
    const spent = coin();
    const paid = sweep(spent, await ownScript(), 1000n);
    await broadcast(node.api, paid);
    await messages(1);
    const rival = sweep(spent, 'p2wpkh', 5000n);
    await submit(node.api, other.mine(1, { txs: [rival] }));
    await submit(node.api, other.mine(1));
    const fates = await messages(4);
    expect(fates.map(summary)).toEqual([
      ['default', 'reverted', idOf(deposit)],
      ['default', 'conflicted', idOf(paid)],
      ['default', 'removed', idOf(paid)],
      ['default', 'mempool', idOf(deposit)],
    ]);
    expect(fates[0]!.data).toMatchObject({ confirmations: 0, details: [{ category: 'receive' }] });
    expect(fates[0]!.data.blockhash).toBeUndefined();
    expect(fates[1]!.data).toMatchObject({ confirmations: -1, amount: 4_999_999_000 });
    expect(fates[2]!.data).toMatchObject({ reason: 'conflict', confirmations: 0 });
    await submit(node.api, other.mine(1, { txs: [deposit] }));
    expect((await messages(1)).map(summary)).toEqual([['default', 'confirmed', idOf(deposit)]]);
  });

  test('reports a transaction that is replaced, and then abandoned', async () => {
    const spent = coin();
    const first = sweep(spent, await ownScript(), 1000n);
    await broadcast(node.api, first);
    const rival = sweep(spent, 'p2wpkh', 50_000n);
    await broadcast(node.api, rival);
    const [, removed] = await messages(2);
    expect(removed!.data).toMatchObject({ phase: 'removed', reason: 'replaced', replacedBy: idOf(rival) });
    await call('default', 'abandontransaction', [idOf(first)]);
    const [abandoned] = await messages(1);
    expect(abandoned!.data).toMatchObject({ phase: 'abandoned', txid: idOf(first), details: [{ abandoned: true }] });
  });

  test('is replayed, by WebSocket and by GET, and with the same cursors', async () => {
    const all = socket.of('walletTransaction');
    expect(new Set(all.map(nameOf)).size).toBe(all.length);
    const { items } = await page('after=0');
    expect(items.map(nameOf)).toEqual(all.map(nameOf));
    expect(items.map(summary)).toEqual(all.map(summary));
    const again = await node.api.socket();
    again.send({ type: 'subscribe', id: 1, data: { events: ['walletTransaction'], replace: true, after: 0 } });
    await again.until('all', () => again.of('walletTransaction').length >= all.length);
    expect(again.of('walletTransaction').map(nameOf)).toEqual(all.map(nameOf));
    again.close();
    // Behind any of them come those that follow it, also of another wallet in the same event.
    for (const [at, { data }] of all.entries()) {
      const rest = await page(`after=${data.cursor}`);
      expect(rest.items.map(nameOf)).toEqual(all.slice(at + 1).map(nameOf));
    }
    expect([...socket.of('walletAbandoned'), ...again.of('walletAbandoned')]).toEqual([]);
  });

  test('needs the scope wallet.read', async () => {
    const store = new AuthStore(join(node.networkDir, 'auth.db'));
    const { key } = issueKey(store, { label: '', scopes: ['read'] }, 1);
    store.close();
    const reader = new ApiClient(node.api.url, key);
    await node.until('the key', async () => (await reader.request('/api/watches')).status === 200, 10_000, 500);
    const refused = await reader.request<ErrorBody>('/api/events?types=newBlock,walletTransaction');
    expect([refused.status, refused.body.error]).toMatchObject([
      403,
      { code: 'insufficient_scope', details: { required: 'wallet.read' } },
    ]);
    expect((await reader.request('/api/events?after=0')).text).not.toContain('walletTransaction');
    const strange = await reader.socket();
    strange.send({ type: 'subscribe', id: 1, data: { events: ['walletTransaction'] } });
    const { type, data } = await strange.until('the answer', ({ id }) => id === 1);
    expect([type, data]).toMatchObject(['error', { code: 'insufficient_scope', details: { required: 'wallet.read' } }]);
    strange.close();
  });

  test('is delivered after a restart for every block, including those that the wallet missed', async () => {
    const ofBlocks = socket.of('walletTransaction').filter(isOfBlock);
    const { lastSeq } = await page('after=0');
    await node.stop('SIGKILL');
    writeFileSync(join(node.networkDir, 'wallets/startup.json'), '["default","gone"]');
    node = await startNode({ datadir: node.datadir, args: ARGS });
    await mempoolLoaded(node);
    const replayed = (await page('after=0')).items.filter(isOfBlock);
    expect(replayed.map(nameOf)).toEqual(ofBlocks.map(nameOf));
    expect(replayed.map(summary)).toEqual(ofBlocks.map(summary));
    const late = sweep(coin(), await ownScript(), 1000n);
    await submit(node.api, other.mine(1, { txs: [late] }));
    const missed = await page(`after=${lastSeq}`);
    expect(missed.items.map(summary)).toContainEqual(['default', 'confirmed', idOf(late)]);
    const ready = await node.api.request<Readiness>('/readyz');
    expect(ready.body.checks.wallet).toMatchObject({
      status: 'fail',
      message: 'the file of a wallet is missing',
      loaded: 1,
    });
    // The gap is reported as missing: events of the mempool end with the process.
    expect(missed.gap).toMatchObject({ scope: 'mempool' });
  });
});
