import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import type { LogEntry } from '../../src/feed/log-entry.ts';
import { walletBlockEndpoint, walletTxEndpoint } from '../../src/feed/wallet-event-lines.ts';
import { type WalletNotificationOptions, WalletNotifications } from '../../src/feed/wallet-notifications.ts';
import { regtest } from '../../src/params/regtest.ts';
import { type ParsedTransaction, parseBlock } from '../../src/primitives/block.ts';
import { hashToHex } from '../../src/primitives/hash.ts';
import type { ReadEnv } from '../../src/queries/read-env.ts';
import type { Wallet } from '../../src/wallet/wallet.ts';
import type { WalletState } from '../../src/wallet/wallet-state.ts';
import { RegtestChain, type TestBlock } from '../lib/chain-builder.ts';
import { TestNode, trustingVerifier } from '../lib/chain-fixture.ts';
import { idOf } from '../lib/mempool-node.ts';
import { coinOf, spend, sweep } from '../lib/tx-builder.ts';
import { parsed, WalletFixture } from '../wallet/wallet-fixture.ts';

const TXID = 'ab'.repeat(32);

function entryOf(type: string, data: object = {}, reason: LogEntry['reason'] = null): LogEntry {
  return {
    seq: 7,
    type,
    text: JSON.stringify({ type, data }),
    tx: null,
    feeRate: 0,
    reason,
  };
}

function stateOf(name: string, settled = true): WalletState {
  const sound = { integrity: 'sound', unencrypted: false, warnings: [] } as const;
  return {
    name,
    load: 1,
    path: `/wallets/${name}.db`,
    unlockedUntil: null,
    scanning: null,
    live: true,
    settled,
    height: 0,
    ...sound,
  };
}

/** Messages of wallets whose results the test provides; `asked` holds the jobs. */
function notificationsOf(options: Partial<WalletNotificationOptions> & { answers?: string[] } = {}) {
  const asked: [string, object][] = [];
  const notifications = new WalletNotifications({
    states: () => [stateOf('a'), stateOf('b')],
    knows: ({ name }) => name === 'b',
    run: async (name, input) => {
      asked.push([name, input]);
      return new TextEncoder().encode(options.answers?.shift() ?? '5\t"wallet":"b"}');
    },
    ...options,
  });
  /** Returns the messages that a client finally receives. */
  const lines = async (entry: LogEntry) => {
    for (;;) {
      const found = notifications.lines(entry);
      if (!(found instanceof Promise)) return found;
      await found;
    }
  };
  return { notifications, asked, lines };
}

describe('wallet notifications of events', () => {
  const added = entryOf('newTransaction', { txid: TXID });

  test('an event that concerns no wallet gives no notification and no job', () => {
    const { notifications, asked } = notificationsOf({ knows: () => false });
    expect(notifications.lines(added)).toEqual([]);
    for (const type of ['mempoolUpdate', 'reorg']) expect(notifications.lines(entryOf(type))).toEqual([]);
    // Confirmed transactions are reported with their block.
    expect(notifications.lines(entryOf('transactionRemoved', { txid: TXID }, 'block'))).toEqual([]);
    expect(notificationsOf({ states: () => [] }).notifications.lines(entryOf('newBlock', { hash: TXID }))).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('notifications are derived once for all clients, from the wallets that have the transaction', async () => {
    const { asked, lines } = notificationsOf();
    const found = await Promise.all([lines(added), lines(added)]);
    expect(found).toEqual([[{ within: '5', text: '"wallet":"b"}' }], [{ within: '5', text: '"wallet":"b"}' }]]);
    expect(await lines(added)).toBe(found[0]!);
    const question = { txid: TXID, phase: 'mempool', reason: null, replacedBy: null };
    expect(asked).toEqual([
      ['event-wallet-tx', { ...question, wallets: [{ name: 'b', load: 1, path: '/wallets/b.db' }] }],
    ]);
  });

  test('a notification has the reason of a removal, and the wallet that abandoned the transaction', async () => {
    const { asked, lines } = notificationsOf({ knows: () => true });
    await lines({ ...entryOf('transactionRemoved', { txid: TXID, replacedBy: '11' }, 'replaced'), seq: 1 });
    await lines({ ...entryOf('walletAbandoned', { txid: TXID, wallet: 'b' }), seq: 2 });
    expect(asked.map(([, question]) => question)).toMatchObject([
      { phase: 'removed', reason: 'replaced', replacedBy: '11', wallets: [{ name: 'a' }, { name: 'b' }] },
      { phase: 'abandoned', reason: null, wallets: [{ name: 'b' }] },
    ]);
  });

  test('a wallet that is behind the chain is awaited for a limited time', async () => {
    const block = entryOf('newBlock', { hash: TXID });
    const { asked, lines } = notificationsOf({ answers: ['behind', 'behind', ''] });
    expect(await lines(block)).toEqual([]);
    expect(asked).toHaveLength(3);
    const stuck = notificationsOf({ answers: ['behind', 'behind', '8\t}'], patienceMs: 0 });
    await expect(stuck.lines(block)).rejects.toThrow('has not followed');
    // The next attempt may succeed.
    expect(await notificationsOf({ answers: ['8\t}'] }).lines(block)).toEqual([{ within: '8', text: '}' }]);

    let settled = false;
    const young = notificationsOf({ states: () => [stateOf('a', settled)], knows: () => settled });
    const waiting = young.lines(added);
    settled = true;
    expect(await waiting).toHaveLength(1);
  });

  test('the stop of the server ends the waiting', async () => {
    const stop = new AbortController();
    const { asked, lines } = notificationsOf({
      answers: Array.from({ length: 200 }, () => 'behind'),
      stopping: stop.signal,
    });
    const waiting = lines(entryOf('newBlock', { hash: TXID }));
    while (asked.length === 0) await Promise.resolve();
    const reason = new Error('the server stops');
    stop.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(asked).toHaveLength(1);
  });

  test('a wallet that cannot be read makes the derivation fail', async () => {
    const { notifications } = notificationsOf({
      knows: () => {
        throw new Error('unloaded');
      },
    });
    await expect(notifications.lines(added)).rejects.toThrow('unloaded');
  });
});

interface Said {
  /** Its place within the event. */
  readonly within: string;
  readonly wallet: string;
  readonly txid: string;
  readonly phase: string;
  readonly amount: number;
  readonly confirmations: number;
  readonly details: { category: string; abandoned: boolean }[];
}

/** A real chain, and a wallet that follows it. */
class Scene implements AsyncDisposable {
  readonly it = new WalletFixture();
  readonly chain = new RegtestChain({ to: 'p2wpkh' });
  readonly node = new TestNode({ verifier: trustingVerifier });
  readonly script = this.it.script();

  get wallet(): Wallet {
    return this.it.wallet;
  }

  /** The node takes a block, and the wallet follows it unless it is to lag behind. */
  async take(block: TestBlock, { follow = true } = {}): Promise<void> {
    await this.node.take([block]);
    if (follow) this.follow(block);
  }

  follow({ raw, height, hash }: TestBlock): void {
    const { store, ledger } = this.wallet;
    store.writeRelaxed(() => {
      for (const [index, tx] of parseBlock(raw).txs.entries())
        ledger.syncTransaction(tx, { in: 'block', block: { height, hash, index, time: 1 } });
      store.setCursor({ height, hash });
    });
  }

  unconfirmed(tx: ParsedTransaction): void {
    this.wallet.store.writeRelaxed(() => this.wallet.ledger.syncTransaction(tx, { in: 'mempool' }));
  }

  /** Null where the wallet is behind. */
  ofBlock(block: TestBlock, connected: boolean, names = ['default']): Said[] | null {
    const wallets = names.map((name) => ({ name, load: 1, path: '' }));
    return this.#ask((env) => walletBlockEndpoint.run(env, { hash: hashToHex(block.hash), connected, wallets }));
  }

  ofTx(txid: string, phase: 'mempool' | 'removed' | 'abandoned'): Said[] | null {
    const wallets = [{ name: 'default', load: 1, path: '' }];
    return this.#ask((env) => walletTxEndpoint.run(env, { txid, phase, reason: null, replacedBy: null, wallets }));
  }

  #ask(ask: (env: ReadEnv) => { body: unknown }): Said[] | null {
    return this.node.read((reads) => {
      const wallets = () => this.wallet.store.reads;
      const settings = { wallet: { trustsOwn: true, replaceable: true } };
      const env = {
        reads,
        tip: reads.tip(),
        params: regtest,
        settings,
        wallets,
        expectWork() {},
      } as unknown as ReadEnv;
      const body = String(ask(env).body);
      if (body === 'behind') return null;
      return body === '' ? [] : body.split('\n').map(saidIn);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.it[Symbol.dispose]();
    await this.node[Symbol.asyncDispose]();
  }
}

function saidIn(line: string): Said {
  const [within, rest] = line.split('\t') as [string, string];
  return { ...(JSON.parse(`{${rest}`) as Said), within };
}

const brief = (said: Said[] | null) => said?.map(({ phase, txid, confirmations }) => [phase, txid, confirmations]);

describe('wallet notifications of a block', () => {
  test('notifications derive from the block alone, with the same places at any later time', async () => {
    await using it = new Scene();
    const { chain, script } = it;
    chain.mine(101);
    await it.node.take(chain.blocks.slice(1));
    it.follow(chain.tip);
    const paid = sweep(chain.coin(1), script);
    const other = chain.fork();
    const block = chain.mine(1, { txs: [paid], to: script });
    await it.take(block, { follow: false });
    // The wallet lacks the block: it would say that there is nothing.
    expect(it.ofBlock(block, true)).toBeNull();
    it.follow(block);
    const [mined, received] = it.ofBlock(block, true)!;
    expect(mined).toMatchObject({ phase: 'confirmed', confirmations: 1, details: [{ category: 'immature' }] });
    expect(received).toMatchObject({ phase: 'confirmed', txid: idOf(paid), confirmations: 1, wallet: 'default' });
    const placeIn = (wallet: string) => `w${createHash('sha256').update(wallet).digest('hex').slice(0, 16)}`;
    expect([mined!.within, received!.within]).toEqual([`${placeIn('default')}b0000`, `${placeIn('default')}b0001`]);

    // The other branch is longer, and has it too.
    for (const next of [other.mine(1), other.mine(1, { txs: [paid] })]) await it.take(next, { follow: false });
    it.wallet.store.writeRelaxed(() => it.wallet.ledger.disconnectAbove(101));
    for (const next of other.blocks.slice(102)) it.follow(next);
    expect(it.ofBlock(block, true)).toEqual([mined!, received!]);
    const reverted = it.ofBlock(block, false)!;
    expect(reverted.map(({ within }) => within)).toEqual([mined!.within, received!.within]);
    expect(reverted).toMatchObject([
      { phase: 'reverted', confirmations: 0, details: [{ category: 'orphan', abandoned: true }] },
      { phase: 'reverted', confirmations: 0, details: [{ category: 'receive', abandoned: false }] },
    ]);
    expect(brief(it.ofBlock(other.tip, true))).toEqual([['confirmed', idOf(paid), 1]]);
    // A block that is on no branch any more is not waited for.
    it.wallet.store.writeRelaxed(() => it.wallet.store.setCursor({ height: 101, hash: chain.at(101).hash }));
    expect(it.ofBlock(block, true)).toHaveLength(2);
    expect(it.ofBlock(other.tip, true)).toBeNull();
  });

  test('a block conflicts with the transactions it contradicts and with their descendants', async () => {
    await using it = new Scene();
    const { chain, script } = it;
    chain.mine(101);
    await it.node.take(chain.blocks.slice(1));
    it.follow(chain.tip);
    const first = sweep(chain.coin(1), script);
    const rival = sweep(chain.coin(1), 'p2wpkh', 5000n);
    const child = spend(coinOf(first, 0), [{ to: 'p2wpkh', value: 1000n }], { sign: false });
    it.unconfirmed(parsed(first));
    it.unconfirmed(parsed(child));
    expect(brief(it.ofTx(idOf(child), 'mempool'))).toEqual([['mempool', idOf(child), 0]]);
    expect(it.ofTx(idOf(rival), 'mempool')).toEqual([]);
    const block = chain.mine(1, { txs: [rival] });
    await it.take(block);
    const notifications = it.ofBlock(block, true)!;
    const inOrder = [first, child].map(idOf).sort();
    expect(brief(notifications)).toEqual(inOrder.map((txid) => ['conflicted', txid, -1]));
    expect(it.ofBlock(block, false)!.map(({ within, phase }) => [within, phase])).toEqual(
      notifications.map(({ within }) => [within, 'reverted']),
    );
    // As with gettransaction, the amount leaves the fee out.
    const fee = 1000 - Number(first.outputs[0]!.value);
    expect(notifications[inOrder.indexOf(idOf(child))]).toMatchObject({
      amount: -1000,
      fee,
      details: [{ category: 'send', amount: -1000 }],
    });
  });

  test('each conflict has its own place, whatever transactions the wallet has learnt since', async () => {
    await using it = new Scene();
    const { chain, script } = it;
    chain.mine(101);
    await it.node.take(chain.blocks.slice(1));
    it.follow(chain.tip);
    const first = sweep(chain.coin(1), script);
    const child = spend(coinOf(first, 0), [{ to: 'p2wpkh', value: 1000n }], { sign: false });
    const rival = sweep(chain.coin(1), 'p2wpkh', 5000n);
    it.unconfirmed(parsed(first));
    it.unconfirmed(parsed(child));
    const block = chain.mine(1, { txs: [rival] });
    await it.take(block);
    const places = () => new Map(it.ofBlock(block, true)!.map(({ txid, within }) => [txid, within]));
    const before = places();
    const others = [6000n, 7000n, 8000n, 9000n].map((fee) => sweep(chain.coin(1), script, fee));
    for (const other of others) it.unconfirmed(parsed(other));
    const after = places();
    expect(after.size).toBe(6);
    for (const [txid, within] of before) expect(after.get(txid)).toBe(within);
    expect([...after.values()]).toEqual([...after.values()].sort());
  });

  test('places depend on the wallet only by its name', async () => {
    await using it = new Scene();
    const { chain, script } = it;
    const block = chain.mine(1, { to: script });
    await it.take(block);
    const places = (names: string[]) =>
      Object.fromEntries(it.ofBlock(block, true, names)!.map(({ wallet, within }) => [wallet, within]));
    const all = places(['default', 'hot', 'cold']);
    expect(new Set(Object.values(all)).size).toBe(3);
    expect(places(['hot'])).toEqual({ hot: all.hot! });
    const said = it.ofBlock(block, true, ['hot', 'default', 'cold'])!;
    expect(said.map(({ within }) => within)).toEqual(Object.values(all).sort());
  });
});
