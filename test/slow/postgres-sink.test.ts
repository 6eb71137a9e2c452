import { afterAll, beforeAll, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { hashToHex } from '../../src/primitives/hash.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { mine, submit } from '../lib/mempool-node.ts';
import { cleanUpAfterTests, type NodeProcess, startNode } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { extend, recentChain, tipHash } from '../lib/sample-chains.ts';
import { brokenEvents, expectedTables, sinkAt, sinkEvents, sinkTables } from '../lib/sink-rows.ts';

cleanUpAfterTests();

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres[Symbol.asyncDispose]());

/** A database of its own for a test. */
function database(name: string): { url: string; sql: SQL } {
  const url = postgres.createDatabase(name);
  return { url, sql: new SQL(url, { max: 1 }) };
}

const withSink = (url: string) => ({ env: { OBVERSE_SINK_POSTGRES: url } });

async function expectEqual(sql: SQL, node: NodeProcess): Promise<void> {
  const [rows, expected] = await Promise.all([sinkTables(sql), expectedTables(node.api)]);
  expect(rows).toEqual(expected);
}

test('the first fill has the rows of the chain, with look-up indexes and balances', async () => {
  const { url, sql } = database('fill');
  const chain = recentChain(125, { payments: 12 });
  const node = await startNode({ datadir: await directoryWith(chain), ...withSink(url) });
  await sinkAt(sql, tipHash(chain));
  await expectEqual(sql, node);
  const indexes = await sql`SELECT indexname FROM pg_indexes WHERE schemaname = 'obverse' AND indexname LIKE '%_by_%'`;
  expect(indexes.map(({ indexname }: { indexname: string }) => indexname).sort()).toEqual([
    ...[
      'address_history_by_script',
      'blocks_by_hash',
      'blocks_by_median_time',
      'inputs_by_prevout',
      'outputs_by_script',
      'transactions_by_txid',
    ],
  ]);
  await sql.close();
});

test('tables that an operator has partitioned are filled, and follow a reorg', async () => {
  const { url, sql } = database('partitioned');
  const guide = readFileSync(join(import.meta.dir, '../../docs/sink.md'), 'utf8');
  const [, statements] = /^## Partitions\n[^#]*?\n\n((?: {4}.*\n)+)/m.exec(guide)!;
  await sql.unsafe(statements!.replaceAll('500000', '60'));
  const chain = recentChain(110, { payments: 2 });
  const node = await startNode({ datadir: await directoryWith(chain), ...withSink(url) });
  await sinkAt(sql, tipHash(chain));
  await expectEqual(sql, node);
  await node.api.rpc('invalidateblock', [hashToHex(chain.at(55).hash)]);
  await sinkAt(sql, hashToHex(chain.at(54).hash));
  await expectEqual(sql, node);
  await node.api.rpc('reconsiderblock', [hashToHex(chain.at(55).hash)]);
  await sinkAt(sql, tipHash(chain));
  await expectEqual(sql, node);
  const parts = ['transactions_0', 'transactions_1', 'outputs_0', 'outputs_1'];
  for (const part of parts) expect((await sql.unsafe(`SELECT 1 FROM obverse.${part} LIMIT 1`)).length).toBe(1);
  await sql.close();
});

test('a database of another network or of a newer version is not written', async () => {
  const { url, sql } = database('refused');
  // All signets have the same genesis block.
  const signet = { network: 'signet', ...withSink(url) };
  const node = await startNode({ ...signet, args: ['--consensus.signetChallenge=51'] });
  await node.until(
    'the first block',
    async () => (await sql`SELECT height FROM obverse.sink_position`)[0].height === 0,
  );
  await node.stop();
  for (const [network, options] of [
    ['regtest', withSink(url)],
    ['signet', signet],
  ] as const) {
    const other = await startNode(options);
    const [line] = await other.output('stderr', /^.*"msg":"the sink cannot be written".*$/m);
    expect(line).toContain(`the database holds the chain of network signet-54d26fbd, not of ${network}`);
    await other.stop();
  }
  await sql`UPDATE obverse.sink_position SET network = 'regtest', version = 99`;
  const older = await startNode(withSink(url));
  const [newer] = await older.output('stderr', /^.*"msg":"the sink cannot be written".*$/m);
  expect(newer).toContain('it was made by a newer version');
  await sql.close();
});

test('tables of version 1 get the tag of the log once', async () => {
  const { url, sql } = database('version1');
  const tagOf = async () => (await sql`SELECT version, log_tag FROM obverse.sink_position`)[0];
  const node = await startNode(withSink(url));
  const first = await node.until('the tag', async () => {
    const row = await tagOf();
    return row?.log_tag ? row : null;
  });
  expect(first).toEqual({ version: 2, log_tag: expect.stringMatching(/^[0-9a-z]{8}$/) });
  await node.stop();
  await sql`ALTER TABLE obverse.sink_position DROP COLUMN log_tag`;
  await sql`UPDATE obverse.sink_position SET version = 1`;

  let tag: string | null = null;
  for (let starts = 0; starts < 2; starts++) {
    const again = await startNode(withSink(url));
    await again.output('stderr', /"msg":"the sink (?:is filled|follows the chain)"/);
    const found = await tagOf();
    expect(found).toEqual({ version: 2, log_tag: tag ?? expect.stringMatching(/^[0-9a-z]{8}$/) });
    tag = found.log_tag;
    await again.stop();
  }
  await sql.close();
});

test('blocks of tables of version 1 get the totals of the chain', async () => {
  const { url, sql } = database('totals');
  const chain = recentChain(115, { payments: 4 });
  const datadir = await directoryWith(chain);
  const columns = ['total_transactions', 'total_size', 'total_weight', 'total_fees', 'supply', 'unspent'];
  const totals = () => sql.unsafe(`SELECT ${['height', ...columns].join(', ')} FROM obverse.blocks ORDER BY height`);
  const node = await startNode({ datadir, ...withSink(url) });
  await sinkAt(sql, tipHash(chain));
  const written = await totals();
  const supply = await node.api.request<string>('/api/supply/circulating');
  expect(Number(written.at(-1).supply)).toBe(Math.round(Number(supply.text) * 1e8));
  await node.stop();
  for (const column of columns) await sql.unsafe(`ALTER TABLE obverse.blocks DROP COLUMN ${column}`);
  await sql`UPDATE obverse.sink_position SET version = 1`;

  const again = await startNode({ datadir, ...withSink(url) });
  await again.until('the totals', async () => {
    const [{ version }] = await sql`SELECT version FROM obverse.sink_position`;
    return version === 2 && (await totals()).every(({ supply }: { supply: string | null }) => supply !== null);
  });
  expect([...(await totals())]).toEqual([...written]);
  await again.stop();
  await sql.close();
});

test('no error names the password of the database', async () => {
  const { url } = database('secrets');
  const password = 'correct-horse-battery-staple';
  const node = await startNode(withSink(url.replace('obverse@127.0.0.1', `nobody:${password}@127.0.0.1`)));
  await node.output('stderr', /"msg":"the sink cannot be written"/);
  const { text } = await node.api.request('/readyz');
  expect(text).not.toContain(password);
  await node.stop();
  expect(node.stderr).not.toContain(password);
});

test('new blocks and a reorg change the rows in the order of the chain, and their events have one numbering', async () => {
  const { url, sql } = database('reorg');
  const base = recentChain(115, { payments: 5 });
  const node = await startNode({ datadir: await directoryWith(base), ...withSink(url) });
  await sinkAt(sql, tipHash(base));
  const winner = base.fork();
  extend(base, 3, 4);
  for (const block of base.blocks.slice(-3)) await submit(node.api, block);
  await sinkAt(sql, tipHash(base));
  await expectEqual(sql, node);

  extend(winner, 5, 6);
  for (const block of winner.blocks.slice(-5)) await submit(node.api, block);
  await sinkAt(sql, tipHash(winner));
  await expectEqual(sql, node);

  expect((await brokenEvents(sql)).faults).toEqual([]);
  const events = (await sinkEvents(sql)).filter(({ height }) => height !== null && height > 115);
  const types = events.map(({ type, height }) => `${type} ${height}`);
  expect(types.slice(0, 6)).toEqual([
    ...['newBlock 116', 'newBlock 117', 'newBlock 118'],
    ...['blockDisconnected 118', 'blockDisconnected 117', 'blockDisconnected 116'],
  ]);
  expect(types.filter((each) => each.startsWith('reorg'))).toHaveLength(1);
  const log = await node.api.json<{ items: { type: string; data: object }[] }>('/api/events?after=0&types=newBlock');
  // The node's own event of a block has the same members, but for what differs in time.
  const own = log.items.at(-1)!.data as Record<string, unknown>;
  const sunk = JSON.parse(events.findLast(({ type }) => type === 'newBlock')!.data);
  for (const name of ['cursor', 'seq', 'sub', 'time', 'reorg', 'confirmations']) delete own[name];
  expect(sunk).toMatchObject(own);
  await sql.close();
});

test('a reorg of more blocks than one change removes is several changes, and the events are those of one chain', async () => {
  const { url, sql } = database('deep');
  const chain = recentChain(4, { spacing: 10 });
  const winner = chain.fork();
  // Two changes remove these.
  extend(chain, 104, 3);
  const node = await startNode({ datadir: await directoryWith(chain), ...withSink(url) });
  await sinkAt(sql, tipHash(chain));
  extend(winner, 107, 2);
  for (const block of winner.blocks.slice(5)) await submit(node.api, block);
  await sinkAt(sql, tipHash(winner));
  await expectEqual(sql, node);
  expect((await brokenEvents(sql)).faults).toEqual([]);
  const reorgs = await sql`SELECT data FROM obverse.events WHERE type = 'reorg' ORDER BY seq`;
  expect(reorgs.map(({ data }: { data: string }) => JSON.parse(data).depth)).toEqual([100, 4]);
  await sql.close();
});

test('tables that are removed while the node runs are made and filled again', async () => {
  const { url, sql } = database('removed');
  const chain = recentChain(6, { payments: 1 });
  const node = await startNode({ datadir: await directoryWith(chain), ...withSink(url) });
  await sinkAt(sql, tipHash(chain));
  await sql`DROP SCHEMA obverse CASCADE`;
  await mine(node.api, chain);
  await sinkAt(sql, tipHash(chain));
  await expectEqual(sql, node);
  await sql.close();
});

test('the database is left and found again, by a node that was killed and by one whose database was', async () => {
  const { url, sql } = database('kills');
  const chain = recentChain(110, { payments: 3 });
  const datadir = await directoryWith(chain);
  let node = await startNode({ datadir, ...withSink(url) });
  await sinkAt(sql, tipHash(chain));
  await node.stop('SIGKILL');
  node = await startNode({ datadir, ...withSink(url) });
  await mine(node.api, chain);
  await sinkAt(sql, tipHash(chain));
  await sql.close();
  await postgres.kill();
  await mine(node.api, chain);
  await node.output('stderr', /"msg":"the sink cannot be written"/);
  await node.until('the check', async () => {
    const { body } = await node.api.request<{ checks: { sink: { status: string } } }>('/readyz');
    return body.checks.sink.status === 'degraded';
  });
  await postgres.run();
  const again = new SQL(url, { max: 1 });
  await sinkAt(again, tipHash(chain));
  await expectEqual(again, node);
  await again.close();
});

test('of two nodes one writes, and the other continues after its death without a lost or doubled row', async () => {
  const { url, sql } = database('leaders');
  const chain = recentChain(105, { payments: 3 });
  const start = async () => startNode({ datadir: await directoryWith(chain), ...withSink(url) });
  const leader = await start();
  await sinkAt(sql, tipHash(chain));
  const standby = await start();
  await standby.output('stderr', /"msg":"another node writes the sink"/);
  const isLeader = async ({ api }: NodeProcess) => {
    const { text } = await api.request('/metrics');
    return /^obverse_sink_leader(?:\{[^}]*\})? (\d)$/m.exec(text)?.[1];
  };
  await leader.until('the leader', async () => (await isLeader(leader)) === '1');
  expect(await isLeader(standby)).toBe('0');
  for (const block of [await mine(leader.api, chain), await mine(leader.api, chain)]) await submit(standby.api, block);
  await sinkAt(sql, tipHash(chain));

  await leader.stop('SIGKILL');
  await mine(standby.api, chain);
  const from = performance.now();
  await sinkAt(sql, tipHash(chain));
  expect(performance.now() - from).toBeLessThan(10_000);
  await expectEqual(sql, standby);
  await standby.until('the leader', async () => (await isLeader(standby)) === '1');
  await sql.close();
});
