import { afterAll, beforeAll, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { hashToHex } from '../../src/primitives/hash.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, startNode } from '../lib/node-process.ts';
import { startPeer } from '../lib/peer-node.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';
import { sinkAt } from '../lib/sink-rows.ts';
import { utxoFileOf } from '../lib/utxo-file-model.ts';

cleanUpAfterTests();

const BASE = 112;
const chain = recentChain(125, { payments: 9 });

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

test('a node with a loaded UTXO set continues a database with the totals of the whole chain', async () => {
  const env = { OBVERSE_SINK_POSTGRES: postgres.url };
  await using sql = new SQL(postgres.url, { max: 1 });
  const lower = { blocks: chain.blocks.slice(0, BASE + 1) };
  const first = await startNode({ datadir: await directoryWith(lower), env });
  const base = hashToHex(chain.at(BASE).hash);
  await sinkAt(sql, base);
  await first.stop();

  const file = utxoFileOf(lower.blocks);
  const args = [`--chain.assumeUtxo=${BASE}:${file.hash}:${file.txs}:${base}`, '--wallet.enabled=false'];
  const node = await startNode({ args, env });
  for (const { raw } of chain.blocks.slice(1)) await node.api.rpc('submitheader', [raw.slice(0, 80).toHex()]);
  writeFileSync(join(node.networkDir, 'utxo.dat'), Uint8Array.fromHex(file.hex));
  await node.api.rpc('loadtxoutset', ['utxo.dat']);
  for (const { raw } of chain.blocks.slice(BASE + 1)) await node.api.rpc('submitblock', [raw.toHex()]);
  expect(await node.height(125)).toBe(125);
  // Before its lower blocks are validated.
  await node.until('the follower of the sink', async () => {
    const { text } = await node.api.request('/metrics');
    return (
      /^obverse_sink_lag_blocks(\{[^}]*\})? 13$/m.test(text) || /^obverse_sink_height(\{[^}]*\})? 125$/m.test(text)
    );
  });
  await node.stop();

  const source = await startPeer([], { datadir: await directoryWith(chain) });
  const { node: again } = await startPeer([source.address], { datadir: node.datadir, args, env });
  await sinkAt(sql, tipHash(chain));
  const sums = (column: string, of: string) => `${column} = sum(${of}) OVER (ORDER BY height) AS ${column}`;
  const rows = await sql.unsafe(
    `SELECT height, ${[
      sums('total_transactions', 'transactions'),
      sums('total_size', 'size'),
      sums('total_weight', 'weight'),
      sums('total_fees', 'fees'),
    ].join(', ')} FROM obverse.blocks ORDER BY height`,
  );
  const right = { total_transactions: true, total_size: true, total_weight: true, total_fees: true };
  expect([...rows]).toEqual(chain.blocks.map((_, height) => ({ height, ...right })));
  const lost = await sql`SELECT i.height FROM obverse.inputs i LEFT JOIN obverse.outputs o
    ON (o.height, o.position, o.vout) = (i.prev_height, i.prev_position, i.prev_vout) WHERE o.height IS NULL`;
  expect([...lost]).toEqual([]);
  await again.stop();
  await source.node.stop();
});
