import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { join, resolve } from 'node:path';
import { nodeWith, post } from '../lib/mempool-node.ts';
import {
  cleanUpAfterTests,
  freePort,
  type NodeProcess,
  poll,
  TEST_KEY,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';
import { requireProgram } from '../lib/programs.ts';
import { recentChain } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const examples = resolve(import.meta.dir, '../../examples');

describe('the programs of examples/', () => {
  let node: NodeProcess;
  let address: string;
  const env = (more: Readonly<Record<string, string>>) => ({
    PATH: process.env.PATH ?? '',
    URL: node.api.url,
    KEY: TEST_KEY,
    ...more,
  });
  const rpc = <T>(method: string, params: unknown) => node.api.rpc<T>(method, params as unknown[]);

  async function run(command: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<string> {
    const child = Bun.spawn([...command], { env: env(more), stdout: 'pipe', stderr: 'pipe' });
    const [out, err, status] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    if (status !== 0) throw new Error(err);
    return out.trim();
  }

  beforeAll(async () => {
    node = await nodeWith(recentChain(1), [WITH_WALLET, '--webhooks.allowedNetworks=127.0.0.1']);
    const coinbase = await rpc<string>('getnewaddress', []);
    await rpc('generatetoaddress', [101, coinbase]);
    address = await rpc<string>('getnewaddress', ['deposits']);
  });

  test('withdraw.ts sends a withdrawal once, and deposits.ts and deposits.py credit it once', async () => {
    const withdraw = ['withdrawal-1', address, '0.25'];
    const first = await run([process.execPath, join(examples, 'withdraw.ts'), ...withdraw]);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(await run([process.execPath, join(examples, 'withdraw.ts'), ...withdraw])).toBe(first);

    const dir = tempDir();
    const consumers = (
      [
        [process.execPath, join(examples, 'deposits.ts')],
        [requireProgram('python3'), join(examples, 'deposits.py')],
      ] as const
    ).map((command, i) => {
      const LEDGER = join(dir, `${i}.db`);
      return { LEDGER, ended: run(command, { LEDGER, ADDRESS: address, UNTIL_CREDITS: '1' }) };
    });
    await rpc('generatetoaddress', [1, await rpc<string>('getnewaddress', [])]);
    for (const { LEDGER, ended } of consumers) {
      expect(await ended).toMatch(new RegExp(`^credit ${first}:\\d 25000000$`));
      const ledger = new Database(LEDGER, { readonly: true });
      expect(ledger.query('SELECT txid, satoshis FROM credits').all()).toEqual([{ txid: first, satoshis: 25_000_000 }]);
      ledger.close();
    }
  });

  test('webhook.ts accepts deliveries with its secret alone, and credits a repeated deposit once', async () => {
    const SECRET = `whsec_${Buffer.alloc(32, 5).toString('base64')}`;
    const port = await freePort();
    const LEDGER = join(tempDir(), 'webhook.db');
    const ended = run([process.execPath, join(examples, 'webhook.ts')], {
      ...{ SECRET, LEDGER },
      PORT: String(port),
      UNTIL_CREDITS: '2',
    });
    const url = `http://127.0.0.1:${port}/`;
    const isRefused = async () => (await fetch(url, { method: 'POST', body: '{}' })).status === 401;
    await poll('the receiver', isRefused);
    // A deposit that another test has left in the mempool would be confirmed by the blocks below.
    await rpc('generatetoaddress', [1, await rpc<string>('getnewaddress', [])]);
    const to = await rpc<string>('getnewaddress', []);
    await post(node.api, '/api/watches', { kind: 'address', value: to });
    const hook = { url, types: ['addressTransaction'] };
    const wrong = await post<{ id: string }>(node.api, '/api/webhooks', hook);
    const tested = await post(node.api, `/api/webhooks/${wrong.body.id}/test`, {});
    expect(tested.body).toMatchObject({ delivered: false, status: 401 });
    const right = await post<{ id: string; cursor: string }>(node.api, '/api/webhooks', { ...hook, secret: SECRET });
    const { id, cursor } = right.body;
    for (const _ of [1, 2]) {
      const txid = await rpc<string>('sendtoaddress', [to, 0.5]);
      await rpc('generatetoaddress', [1, await rpc<string>('getnewaddress', [])]);
      await poll('the credit', () => {
        using ledger = new Database(LEDGER, { readonly: true });
        return ledger.query('SELECT 1 FROM credits WHERE txid = ?').get(txid) !== null;
      });
      // The receiver ends with the second credit.
      if (_ === 1) await post(node.api, `/api/webhooks/${id}/replay`, { after: cursor });
    }
    expect((await ended).split('\n')).toHaveLength(2);
  });
});
