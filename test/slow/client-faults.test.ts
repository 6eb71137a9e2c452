import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { resolve } from 'node:path';
import { coinsOf, ObverseClient, ObverseError, satoshisOf } from '../../clients/typescript/client.ts';
import { type DepositStore, watchDeposits } from '../../clients/typescript/deposit-watcher.ts';
import { type Fault, FaultProxy } from '../lib/fault-proxy.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, TEST_KEY, WITH_WALLET } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';
import { requirePython } from '../lib/programs.ts';

cleanUpAfterTests();

const PYTHON = resolve(import.meta.dir, '../../clients/python');

describe('clients behind a connection with faults', () => {
  let node: NodeProcess;
  let proxy: FaultProxy;
  let address: string;
  beforeAll(async () => {
    node = await startNode({ args: [WITH_WALLET] });
    proxy = await FaultProxy.start(() => node.api.url);
    address = await node.api.rpc<string>('getnewaddress');
    await node.api.rpc('generatetoaddress', [5, address]);
    await node.api.rpc('generatetoaddress', [100, MINING_ADDRESS]);
  });
  afterAll(() => proxy[Symbol.asyncDispose]());

  let names = 0;
  const through = (...faults: Fault[]) => {
    const name = `case${++names}`;
    const client = new ObverseClient({ url: proxy.urlWith(name, ...faults), key: TEST_KEY, timeoutMs: 2000 });
    return { client, requests: () => proxy.requests(name) };
  };
  const failure = async (call: Promise<unknown>): Promise<ObverseError> => {
    const error = await call.then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!(error instanceof ObverseError)) throw new Error(`no failure, or another one: ${error}`);
    return error;
  };
  const payments = async (to: string) =>
    (await node.api.rpc<{ address: string; category: string }[]>('listtransactions', ['*', 100])).filter(
      (entry) => entry.category === 'send' && entry.address === to,
    ).length;

  test('a read is repeated over refusals, replies of proxies, lost replies and time-outs', async () => {
    const { client, requests } = through('503', '502', 'drop', 'lost', 'hang');
    expect((await client.call('getInfo', {})).height).toBe(105);
    expect(requests()).toBe(6);
  });

  test('the pause of a 429 is that of Retry-After', async () => {
    const { client } = through('429');
    const from = performance.now();
    await client.call('getInfo', {});
    expect(performance.now() - from).toBeGreaterThanOrEqual(1000);
  });

  test('an error that a repetition does not mend is thrown at once', async () => {
    const { client, requests } = through();
    const error = await failure(client.call('getBlock', { hash: '00'.repeat(32) }));
    expect(error).toMatchObject({ code: 'block_not_found', status: 404, retryable: false, rpcCode: null });
    expect(error.requestId).not.toBeNull();
    expect(requests()).toBe(1);
  });

  test('a payment whose reply is lost is sent once with a request_id, and not repeated without one', async () => {
    const to = await node.api.rpc<string>('getnewaddress');
    const payment = { address: to, amount: coinsOf(12_345_678) };
    const first = through('lost', 'drop');
    const txid = await first.client.rpc<string>('sendtoaddress', { ...payment, request_id: 'one' });
    expect(first.requests()).toBe(3);
    const { details } = await node.api.rpc<{ details: { amount: number; category: string }[] }>('gettransaction', [
      txid,
    ]);
    const received = details.find(({ category }) => category === 'receive')!;
    expect(satoshisOf(received.amount)).toBe(12_345_678);
    expect(await payments(to)).toBe(1);
    const second = through('lost');
    expect(await failure(second.client.rpc('sendtoaddress', payment))).toMatchObject({
      code: 'no_reply',
      retryable: true,
    });
    expect(second.requests()).toBe(1);
    expect(await payments(to)).toBe(2);
    // A node that stops may have carried out the call.
    for (const fault of ['500', '503'] as const) {
      const third = through(fault);
      expect(await failure(third.client.rpc('sendtoaddress', payment))).toMatchObject({ status: Number(fault) });
      expect(third.requests()).toBe(1);
    }
    expect(await payments(to)).toBe(2);
  });

  test('a list whose cursor a reorg has removed is read again', async () => {
    const { client, requests } = through();
    const old = await node.api.rpc<string>('getblockhash', [5]);
    let pages = 0;
    proxy.beforeForward = async (path) => {
      // Two pages have ended at the blocks 1 and 2, and the third at the block that the reorg disconnects.
      if (path.includes('/txs') && ++pages === 4)
        await node.api.rpc('invalidateblock', [await node.api.rpc('getblockhash', [3])]);
    };
    const txs = await client.list('getAddressTxs', { address, order: 'asc', confirmed: true, limit: 1 });
    proxy.beforeForward = () => Promise.resolve();
    expect(txs.map(({ status }) => status.blockHeight)).toEqual([1, 2]);
    // Three pages, the refused one, and two pages again.
    expect(requests()).toBe(6);
    await node.api.rpc('reconsiderblock', [old]);
  });

  test('calls beyond the rate of a key succeed later, and a revoked key ends the watcher', async () => {
    const options = { rate: { perSecond: 4, burst: 1 } };
    const { key, id } = await node.api.rpc<{ key: string; id: string }>('createapikey', ['limited', ['read'], options]);
    const limited = new ObverseClient({ url: node.api.url, key });
    const replies = await Promise.all([1, 2, 3, 4].map(() => limited.call('getBlocksTip', {})));
    expect(new Set(replies.map(({ hash }) => hash)).size).toBe(1);

    for (const transport of ['pages', 'websocket'] as const) {
      const created = await node.api.rpc<{ key: string; id: string }>('createapikey', [transport, ['read']]);
      const { promise: applied, resolve: onApplied } = Promise.withResolvers<void>();
      const store = new MemoryStore(onApplied);
      const client = new ObverseClient({ url: node.api.url, key: created.key });
      const watching = failure(watchDeposits(client, store, { signal: new AbortController().signal, transport }));
      await node.until('the first position', () => store.position() !== null);
      await node.api.rpc('generatetoaddress', [1, MINING_ADDRESS]);
      await applied;
      await node.api.rpc('revokeapikey', [created.id]);
      expect(await watching).toMatchObject({ retryable: false });
    }
    await node.api.rpc('revokeapikey', [id]);
  });

  test('the tests of the Python client pass', async () => {
    const child = Bun.spawn([requirePython(), '-m', 'unittest', 'discover', '-s', 'tests'], {
      cwd: PYTHON,
      env: {
        ...process.env,
        PROXY: proxy.url,
        NODE: node.api.url,
        KEY: TEST_KEY,
        PYTHONPATH: PYTHON,
        PYTHONDONTWRITEBYTECODE: '1',
      },
      stdout: 'ignore',
      stderr: 'pipe',
    });
    const report = await new Response(child.stderr).text();
    expect([await child.exited, report]).toEqual([0, expect.stringMatching(/Ran (?!0 )\d+ tests/)]);
  });
});

/** A ledger without deposits; `onApplied` is called with each stored batch. */
class MemoryStore implements DepositStore {
  readonly confirmations = 3;
  readonly #onApplied: () => void;
  #position: string | null = null;

  constructor(onApplied: () => void) {
    this.#onApplied = onApplied;
  }

  position(): string | null {
    return this.#position;
  }

  addresses(): string[] {
    return [];
  }

  unconfirmed(): string[] {
    return [];
  }

  apply(_changes: unknown, position: string): void {
    this.#position = position;
    this.#onApplied();
  }

  reconcile(_deposits: unknown, position: string): void {
    this.#position = position;
  }
}
