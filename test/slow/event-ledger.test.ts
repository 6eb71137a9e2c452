import { Database } from 'bun:sqlite';
import { beforeAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Transaction } from '../../src/primitives/transaction.ts';
import { addressOf } from '../../src/script/address.ts';
import type { RegtestChain } from '../lib/chain-builder.ts';
import { broadcast, idOf, mempoolLoaded, mine, nodeWith } from '../lib/mempool-node.ts';
import type { AddressTx, EventSocket, WsMessage } from '../lib/node-client.ts';
import { cleanUpAfterTests, type NodeProcess, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { recentChain } from '../lib/sample-chains.ts';
import { lockOf, spend, sweep } from '../lib/tx-builder.ts';

cleanUpAfterTests();

const SHOP = lockOf('p2wpkh', 9);
const STEPS_OF_EVENT = 3;

const consumer = join(import.meta.dir, '../lib/ledger-consumer.ts');

describe('a ledger that is killed at every step', () => {
  const chain: RegtestChain = recentChain(130);
  const address = addressOf(SHOP.scriptPubKey, chain.params.address)!;
  const ledger = join(tempDir(), 'ledger.db');
  /** Numbers of all events that a witness saw, over all runs of the node. */
  const seen: number[] = [];
  let node: NodeProcess;
  let witness: EventSocket;
  let coin = 1;
  /** Number of the last event before the first deposit. */
  let start = 0;

  const deposit = (value: number, fee = 1000n): Transaction => {
    const from = chain.coin(coin++);
    return spend(from, [
      { to: SHOP, value: BigInt(value) },
      { to: 'p2tr', value: from.output.value - BigInt(value) - fee },
    ]);
  };

  async function watch(): Promise<void> {
    witness = await node.api.socket();
    witness.send({ type: 'subscribe', id: 1, data: { events: ['blockDisconnected', 'reorg', 'transactionRemoved'] } });
    await witness.until('ack', ({ type }) => type === 'ack');
  }

  /** Lets the consumer catch up, killed in each run one step later than in the one before. */
  async function catchUp(): Promise<number> {
    const { height } = await node.api.json<{ height: number }>('/api/info');
    const isOfTip = ({ type, data }: WsMessage) =>
      type === 'mempoolUpdate' && (data.tip as { height: number }).height === height;
    const until = (await witness.until('what follows the last block', isOfTip)).data.seq as number;
    for (let run = 0; ; run++) {
      const dieAt = (run % STEPS_OF_EVENT) + 1;
      const child = Bun.spawn(
        [
          process.execPath,
          consumer,
          node.api.url,
          TEST_KEY,
          ledger,
          address,
          'ws',
          ...[start, until, dieAt].map(String),
        ],
        { stdout: 'ignore', stderr: 'pipe' },
      );
      const status = await child.exited;
      if (status === 0) return run;
      if (child.signalCode !== 'SIGKILL') throw new Error(await new Response(child.stderr).text());
    }
  }

  /** The ledger holds each deposit that is in a block, once, and nothing else. */
  async function agrees(): Promise<Map<string, number>> {
    const { items } = await node.api.all<AddressTx>(`/api/address/${address}/txs?confirmed=true`);
    const inChain = items.flatMap(({ txid, outputs }) =>
      outputs.map(({ n, value }) => [`${txid}:${n}`, value] as const),
    );
    const db = new Database(ledger, { readonly: true });
    try {
      const rows = db.query<{ txid: string; n: number; value: number }, []>('SELECT * FROM credits').all();
      const credited = new Map(rows.map(({ txid, n, value }) => [`${txid}:${n}`, value]));
      expect(Object.fromEntries(credited)).toEqual(Object.fromEntries(inChain));
      const sums = db
        .query<{ txid: string; n: number; sum: number }, []>(
          'SELECT txid, n, sum(amount) AS sum FROM moves GROUP BY txid, n HAVING sum(amount) <> 0',
        )
        .all();
      expect(Object.fromEntries(sums.map(({ txid, n, sum }) => [`${txid}:${n}`, sum]))).toEqual(
        Object.fromEntries(inChain),
      );
      return credited;
    } finally {
      db.close();
    }
  }

  beforeAll(async () => {
    node = await nodeWith(chain);
    await watch();
    witness.send({ type: 'status', id: 2, data: {} });
    start = (await witness.until('status', ({ type }) => type === 'status')).data.seq as number;
  });

  test('credits deposits, and only the mined one of a replacement', async () => {
    const [first, second, old] = [deposit(1_0000), deposit(2_0000), deposit(3_0000)];
    for (const tx of [first, second, old]) await broadcast(node.api, tx);
    await mine(node.api, chain, [first, second]);
    await catchUp();
    coin--;
    const instead = deposit(3_5000, 9000n);
    expect((await broadcast(node.api, instead)).replaced).toEqual([idOf(old)]);
    await mine(node.api, chain, [instead]);
    expect(await catchUp()).toBeGreaterThanOrEqual(STEPS_OF_EVENT);
    expect([...(await agrees()).values()].sort()).toEqual([1_0000, 2_0000, 3_5000]);
  });

  test('follows a reorganization of six blocks', async () => {
    const fork = chain.height;
    const branch = chain.fork();
    const lost: Transaction[] = [];
    for (let i = 0; i < 6; i++) {
      const tx = deposit(10_0000 + i);
      lost.push(tx);
      await mine(node.api, chain, [tx]);
    }
    await catchUp();
    expect((await agrees()).size).toBe(9);
    // Two are mined again, elsewhere; the coin of one is double-spent to another address; three wait.
    const [again, later, stolen] = lost;
    const thief = sweep(chain.coin(coin - 4), 'p2wpkh', 5000n);
    expect(thief.inputs[0]!.prevout).toEqual(stolen!.inputs[0]!.prevout);
    const blocks = [branch.mine(1, { txs: [later!] }), branch.mine(1, { txs: [thief] }), branch.mine(), branch.mine()];
    blocks.push(branch.mine(1, { txs: [again!] }), branch.mine(), branch.mine());
    for (const block of blocks)
      await node.api.rpcBody({ jsonrpc: '2.0', id: 1, method: 'submitblock', params: [block.raw.toHex()] });
    await witness.until('the reorganization', ({ type }) => type === 'reorg');
    expect(await node.api.json<object>('/api/info')).toMatchObject({ height: fork + 7 });
    await catchUp();
    const credited = await agrees();
    expect(credited.size).toBe(5);
    const waiting = await node.api.rpc<string[]>('getrawmempool');
    expect(waiting.sort()).toEqual(lost.slice(3).map(idOf).sort());

    // The node dies in the midst of it, and what was waiting is mined when it is back.
    seen.push(...witness.messages.flatMap(({ data }) => (typeof data.seq === 'number' ? [data.seq] : [])));
    await node.api.rpc('savemempool');
    const { datadir } = node;
    await node.stop('SIGKILL');
    node = await startNode({ datadir });
    await mempoolLoaded(node);
    await watch();
    await mine(node.api, branch, lost.slice(3));
    await catchUp();
    expect((await agrees()).size).toBe(8);
    seen.push(...witness.messages.flatMap(({ data }) => (typeof data.seq === 'number' ? [data.seq] : [])));
    expect(seen).toEqual([...new Set(seen)].toSorted((a, b) => a - b));
  }, 120_000);
});
