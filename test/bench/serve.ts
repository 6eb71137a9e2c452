import { readdirSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SQL } from 'bun';
import { importFiles, type NodeProcess, SHORT_LIVED, startNode, TEST_KEY, tempDir } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { type ServeProcess, startServe } from '../lib/serve-process.ts';
import { sinkAt } from '../lib/sink-rows.ts';
import { runLoad, type Wire } from './http/load.ts';
import { processorTime } from './http/processor-time.ts';
import { grouped, percentile, printGrid } from './report.ts';

/** Servers are compiled as the product is. */
const PATIENT = Object.fromEntries(Object.keys(SHORT_LIVED).map((name) => [name, undefined]));
/** More than servers keep in memory, as far as the chain has them. */
const SAMPLES = 20_000;
const CONNECTIONS = 16;
const WARM_UP_MS = 2000;
const WINDOW_MS = 5000;
const FILL_MS = 3_600_000;

/** Requests of one kind, which alternate over many transactions, scripts or blocks. */
interface ReadRow {
  readonly name: string;
  readonly paths: readonly string[];
}

interface Measured {
  readonly name: string;
  readonly requests: number;
  readonly seconds: number;
  readonly latencies: readonly number[];
  /** Microseconds of processor time of all servers, and of the database. */
  readonly ofServers: number;
  readonly ofDatabase: number;
}

/**
 * Measures reads of servers without a node: the chain is imported and written to a PostgreSQL, the node ends, and 1, 2 and 4 servers
 * answer the same mix. The servers, the database and the client share the machine.
 */
export async function benchServe(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: { servers: { type: 'string', default: '1,2,4' } },
    allowPositionals: true,
  });
  const [chain] = positionals;
  if (chain === undefined || positionals.length > 1)
    throw new Error('bench serve needs one chain: npm run bench -- serve CHAIN');
  const datadir = tempDir('bench-serve');
  await importFiles('regtest', datadir, [chain]);
  await using postgres = await PostgresServer.start();
  const node = await startNode({
    datadir,
    // A chain of the past would count as one in initial sync.
    args: ['--chain.initialSyncAge=2000000000'],
    env: { ...PATIENT, OBVERSE_SINK_POSTGRES: postgres.url },
  });
  const { height, bestBlockHash } = await node.api.json<{ height: number; bestBlockHash: string }>('/api/info');
  await using sql = new SQL(postgres.url, { max: 1 });
  await sinkAt(sql, bestBlockHash, FILL_MS);
  await sql`VACUUM ANALYZE`;
  const rows = await readRows(sql, height);
  const lines = (await measureRows([node], rows, null)).map((measured) => lineOf('node', measured));
  await node.stop();
  for (const count of values.servers.split(',').map(Number)) {
    const servers = await Promise.all(
      Array.from({ length: count }, () => startServe({ url: postgres.url, env: PATIENT })),
    );
    for (const measured of await measureRows(servers, rows, postgres.pid)) lines.push(lineOf(String(count), measured));
    await Promise.all(servers.map((server) => server.stop()));
  }
  printGrid(['servers', 'reads', 'requests/s', 'p50 ms', 'p99 ms', '/s of CPU, servers', '/s of CPU, database'], lines);
}

/** Returns the kinds of reads, each of many rows that are spread over the chain. */
async function readRows(sql: SQL, height: number): Promise<ReadRow[]> {
  const every = async (query: string): Promise<string[]> =>
    (await sql.unsafe(query)).map((row: { text: string }) => row.text);
  const txids = await every(
    `SELECT encode(txid, 'hex') AS text FROM obverse.transactions ORDER BY md5(txid::text) LIMIT ${SAMPLES}`,
  );
  const scripts = await every(
    `SELECT encode(script, 'hex') AS text FROM obverse.outputs WHERE script_hash IS NOT NULL ORDER BY md5(script_hash::text) LIMIT ${SAMPLES}`,
  );
  const hashes = await every(
    `SELECT encode(hash, 'hex') AS text FROM obverse.blocks WHERE height <= ${height} ORDER BY md5(hash::text) LIMIT ${SAMPLES}`,
  );
  const ofScripts = (rest: string) => scripts.map((script) => `/api/address/script:${script}${rest}`);
  return [
    { name: 'tip', paths: ['/api/blocks/tip'] },
    { name: 'transaction', paths: txids.map((txid) => `/api/tx/${txid}`) },
    { name: 'address', paths: ofScripts('') },
    { name: 'transactions of an address', paths: ofScripts('/txs?limit=25') },
    { name: 'outputs of an address', paths: ofScripts('/utxos') },
    { name: 'block without txids', paths: hashes.map((hash) => `/api/block/${hash}?fields=summary`) },
    { name: 'events, pages of 100', paths: Array.from({ length: 50 }, (_, i) => `/api/events?after=${i}&limit=100`) },
  ];
}

async function measureRows(
  servers: readonly (NodeProcess | ServeProcess)[],
  rows: readonly ReadRow[],
  database: number | null,
): Promise<Measured[]> {
  const results: Measured[] = [];
  for (const row of rows) {
    await loadAll(servers, row, WARM_UP_MS);
    const before = times(servers, database);
    const { requests, seconds, latencies } = await loadAll(servers, row, WINDOW_MS);
    const after = times(servers, database);
    const spent = { ofServers: after.ofServers - before.ofServers, ofDatabase: after.ofDatabase - before.ofDatabase };
    results.push({ name: row.name, requests, seconds, latencies, ...spent });
  }
  return results;
}

async function loadAll(servers: readonly (NodeProcess | ServeProcess)[], row: ReadRow, ms: number) {
  const each = Math.max(1, Math.floor(CONNECTIONS / servers.length));
  const windows = await Promise.all(
    servers.map(({ api }, i) => {
      const { host, port } = new URL(api.url);
      const texts = row.paths.map((path) =>
        Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${TEST_KEY}\r\n\r\n`),
      );
      // Each server begins elsewhere.
      const from = Math.floor((texts.length * i) / servers.length);
      const wire: Wire = {
        texts: [...texts.slice(from), ...texts.slice(0, from)],
        status: 200,
        connectionEach: false,
        atMost: Number.POSITIVE_INFINITY,
      };
      return runLoad(Number(port), wire, each, ms);
    }),
  );
  return {
    requests: windows.reduce((sum, { requests }) => sum + requests, 0),
    seconds: Math.max(...windows.map(({ seconds }) => seconds)),
    latencies: windows.flatMap(({ latencies }) => [...latencies]),
  };
}

function times(servers: readonly (NodeProcess | ServeProcess)[], database: number | null) {
  const ofServers = servers.reduce((sum, { pid }) => sum + processorTime(pid), 0);
  return { ofServers, ofDatabase: database === null ? 0 : timeOfSessions(database) };
}

/** Returns the microseconds of processor time of a PostgreSQL and of its sessions, which are its children. */
function timeOfSessions(postgres: number): number {
  let sum = processorTime(postgres);
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      if (Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === postgres) sum += processorTime(Number(name));
    } catch {
      // The process has ended.
    }
  }
  return sum;
}

function lineOf(servers: string, { name, requests, seconds, latencies, ofServers, ofDatabase }: Measured): string[] {
  const sorted = [...latencies].sort((a, b) => a - b);
  const perSecond = (microseconds: number) => (microseconds > 0 ? grouped(requests / (microseconds / 1e6)) : '');
  return [
    ...[servers, name, grouped(requests / seconds)],
    ...[grouped(percentile(sorted, 0.5), 2), grouped(percentile(sorted, 0.99), 2)],
    ...[perSecond(ofServers), perSecond(ofDatabase)],
  ];
}
