import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { ObverseClient, ObverseError } from '../../clients/typescript/client.ts';
import {
  type KnownDeposit,
  type PrunedTransaction,
  watchAddresses,
  watchDeposits,
} from '../../clients/typescript/deposit-watcher.ts';
import { Ledger } from '../../clients/typescript/examples/ledger.ts';
import { cleanUpAfterTests, type NodeProcess, poll, startNode, tempDir, WITH_WALLET } from '../lib/node-process.ts';
import { MINING_ADDRESS } from '../lib/peer-node.ts';

cleanUpAfterTests();

const COIN = 100_000_000;

describe('the watcher of deposits', () => {
  let node: NodeProcess;
  let client: ObverseClient;
  let path: string;
  let address: string;
  beforeAll(async () => {
    node = await startNode({ args: [WITH_WALLET] });
    await node.api.rpc('generatetoaddress', [110, await node.api.rpc('getnewaddress')]);
  });

  const mine = (blocks: number) => node.api.rpc('generatetoaddress', [blocks, MINING_ADDRESS]);
  const pay = (coins: string) => node.api.rpc<string>('sendtoaddress', [address, coins]);

  /** A ledger with one watched address and a key of its own. */
  async function begin(confirmations: number): Promise<Ledger> {
    const { key } = await node.api.rpc<{ key: string }>('createapikey', ['watcher', ['read']]);
    client = new ObverseClient({ url: node.api.url, key });
    path = join(tempDir('ledger'), 'ledger.db');
    address = await node.api.rpc<string>('getnewaddress');
    const ledger = await Ledger.open(path, confirmations);
    ledger.addAddress(address, 'alice');
    await watchAddresses(client, [address], confirmations);
    return ledger;
  }

  /** Follows deposits until the ledger has processed one more block, and returns the reasons to reconcile. */
  async function follow(ledger: Ledger): Promise<string[]> {
    await mine(1);
    const ended = new AbortController();
    const reasons: string[] = [];
    const { signal } = ended;
    const watching = watchDeposits(client, ledger, { signal, onReconcile: (reason) => reasons.push(reason) });
    const { lastCursor } = await client.call('getEvents', { limit: 1 });
    const failed = watching.then(() => Promise.reject(new Error('the watcher has ended')));
    const processed = poll('the tip is processed', () => ledger.position() === `${ledger.confirmations}:${lastCursor}`);
    await Promise.race([processed, failed]);
    ended.abort();
    await failed.catch(() => {});
    await watching;
    return reasons;
  }

  test.each([
    ['the watch has the new number only after the change', false],
    ['the watch has both numbers before and after', true],
  ])('makes the ledger follow a changed number of confirmations where %s', async (_, hasAll) => {
    const ledger = await begin(3);
    await follow(ledger);
    await pay('1');
    await mine(2);
    await pay('0.5');
    await mine(1);
    if (hasAll)
      await client.call('putWatches', { body: { kind: 'address', value: address, confirmations: [2, 3, 6] } });
    expect(await follow(ledger)).toEqual([]);
    expect(ledger.balance('alice')).toBe(COIN);
    // The deposit of one coin has four confirmations, and the other one two. Each call of follow adds one.
    const higher = await Ledger.open(path, 6);
    expect(await follow(higher)).toHaveLength(1);
    expect(higher.balance('alice')).toBe(0);
    const lower = await Ledger.open(path, 2);
    expect(await follow(lower)).toHaveLength(1);
    expect(lower.balance('alice')).toBe(1.5 * COIN);
    expect(await follow(lower)).toEqual([]);
  });

  test('reconciles after the node has lost a watch, also where it is killed before the ledger is compared', async () => {
    const ledger = await begin(1);
    await follow(ledger);
    await client.call('removeWatches', { all: 'true' });
    await pay('1');
    await mine(1);
    class Crash extends Error {}
    const dying: Ledger = Object.create(ledger, {
      reconcile: {
        value: () => {
          throw new Crash();
        },
      },
      ...Object.fromEntries(
        (['confirmations', 'position', 'addresses', 'unconfirmed', 'apply'] as const).map((name) => {
          const value = ledger[name];
          return [name, { value: typeof value === 'function' ? value.bind(ledger) : value }];
        }),
      ),
    });
    await expect(watchDeposits(client, dying, { signal: new AbortController().signal })).rejects.toThrow(Crash);
    // The watch exists again, so that only the ledger knows what it has missed.
    expect((await client.call('getWatches', {})).items).toHaveLength(1);
    expect(await follow(ledger)).toHaveLength(1);
    expect(ledger.balance('alice')).toBe(COIN);
  });

  test('credits a deposit whose block has been pruned, and keeps its outputs', async () => {
    const ledger = await begin(3);
    const txid = '11'.repeat(32);
    const place = { txid, blockHash: '22'.repeat(32), height: 7, confirmations: 2 };
    const deposit: KnownDeposit = { ...place, n: 0, address, value: COIN, isCoinbase: false };
    ledger.reconcile([deposit], 'a', []);
    const pruned: PrunedTransaction[] = [{ ...place, confirmations: 400 }];
    for (let i = 0; i < 2; i++) ledger.reconcile([], 'b', pruned);
    expect(ledger.balance('alice')).toBe(COIN);
  });
});

describe('a redirect', () => {
  test('is a failure, and its target does not receive the key', async () => {
    const received: (string | null)[] = [];
    await using target = serve((request) => {
      received.push(request.headers.get('authorization'));
      return Response.json({ result: 1 });
    });
    await using redirecting = serve(() => Response.redirect(target.url, 307));
    const client = new ObverseClient({ url: redirecting.url, key: 'secret' });
    for (const call of [client.call('getInfo', {}), client.rpc('getblockcount')]) {
      const error = await call.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ObverseError);
      expect(error).toMatchObject({ code: 'http_307', status: 307, retryable: false });
    }
    expect(received).toEqual([]);
  });
});

function serve(fetch: (request: Request) => Response) {
  const server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch });
  return {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}
