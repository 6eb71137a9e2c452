import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { SQL } from 'bun';
import { CREATE_TABLES } from '../../src/sink/sink-schema.ts';
import { importFiles, SHORT_LIVED, startNode, tempDir } from '../lib/node-process.ts';
import { PostgresServer } from '../lib/postgres-server.ts';
import { grouped, printGrid } from './report.ts';

const TABLES = ['blocks', 'transactions', 'outputs', 'inputs', 'address_history', 'events'];

/** The node is compiled as the product is. */
const PATIENT = Object.fromEntries(Object.keys(SHORT_LIVED).map((name) => [name, undefined]));

interface Fill {
  readonly rows: number;
  readonly fillSeconds: number;
  readonly buildSeconds: number;
  readonly bytes: number;
}

/**
 * Measures the first fill of a sink with each chain, beside psql that copies the same rows from files into equal tables of the
 * same server.
 */
export async function benchSink(chains: readonly string[]): Promise<void> {
  const lines: string[][] = [];
  const sizes: string[][] = [];
  for (const chain of chains) {
    const datadir = tempDir('bench-sink');
    const files = tempDir('bench-rows');
    try {
      await importFiles('regtest', datadir, [chain]);
      await using postgres = await PostgresServer.start();
      const filled = await fill(postgres, datadir);
      sizes.push(...(await tableSizes(postgres)));
      const copySeconds = copyRows(postgres, files);
      const rate = filled.rows / filled.fillSeconds;
      const copyRate = filled.rows / copySeconds;
      lines.push([
        ...[grouped(filled.rows), grouped(filled.bytes / 1e6)],
        ...[grouped(filled.fillSeconds, 1), grouped(rate), grouped(copySeconds, 1), grouped(copyRate)],
        ...[(rate / copyRate).toFixed(2), grouped(filled.buildSeconds, 1)],
      ]);
    } finally {
      rmSync(datadir, { recursive: true, force: true });
      rmSync(files, { recursive: true, force: true });
    }
  }
  printGrid(['', 'rows', 'bytes a row', 'of them rows', 'keys', 'look-up indexes'], sizes);
  printGrid(['rows', 'MB', 'fill, s', 'rows/s', '\\copy, s', 'rows/s', 'of \\copy', 'indexes and balances, s'], lines);
}

async function fill(postgres: PostgresServer, datadir: string): Promise<Fill> {
  const node = await startNode({
    datadir,
    // A chain of the past would count as one in initial sync.
    args: ['--chain.initialSyncAge=2000000000'],
    env: { ...PATIENT, OBVERSE_SINK_POSTGRES: postgres.url },
  });
  const timeOf = async (text: string) => {
    const [line] = await node.output('stderr', new RegExp(`^.*"msg":"${text}".*$`, 'm'), 3_600_000);
    return Date.parse((JSON.parse(line) as { time: string }).time) / 1000;
  };
  const begun = await timeOf('the sink is filled');
  const built = await timeOf('the sink creates its look-up indexes');
  const live = await timeOf('the sink follows the chain');
  await node.stop();
  await using sql = new SQL(postgres.url, { max: 1 });
  let rows = 0;
  for (const table of TABLES) {
    const [{ count }] = await sql.unsafe(`SELECT count(*) AS count FROM obverse.${table}`);
    rows += Number(count);
  }
  const [{ bytes }] = await sql.unsafe(`SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'obverse' AND c.relkind = 'r'`);
  return { rows, fillSeconds: built - begun, buildSeconds: live - built, bytes: Number(bytes) };
}

/** Returns the bytes of each table that grows with the chain, by its parts. */
async function tableSizes(postgres: PostgresServer): Promise<string[][]> {
  await using sql = new SQL(postgres.url, { max: 1 });
  const lines: string[][] = [];
  for (const table of [...TABLES, 'balances']) {
    const [row] = await sql.unsafe(`SELECT (SELECT count(*) FROM obverse.${table}) AS rows,
      pg_table_size('obverse.${table}') AS heap,
      coalesce(sum(pg_relation_size(indexrelid)) FILTER (WHERE indisprimary), 0) AS keys,
      coalesce(sum(pg_relation_size(indexrelid)) FILTER (WHERE NOT indisprimary), 0) AS lookups
      FROM pg_index WHERE indrelid = 'obverse.${table}'::regclass`);
    const [rows, heap, keys, lookups] = [row.rows, row.heap, row.keys, row.lookups].map(Number) as [
      ...[number, number, number, number],
    ];
    const each = (bytes: number) => grouped(bytes / rows, 1);
    lines.push([table, grouped(rows), each(heap + keys + lookups), each(heap), each(keys), each(lookups)]);
  }
  return lines;
}

/** Returns the seconds that psql takes to copy all rows into tables without look-up indexes, in one transaction. */
function copyRows(postgres: PostgresServer, files: string): number {
  mkdirSync(files, { recursive: true });
  const file = (table: string) => join(files, table);
  postgres.psql(TABLES.map((table) => `\\copy obverse.${table} TO '${file(table)}'\n`).join(''));
  postgres.psql(`DROP SCHEMA obverse CASCADE;\n${CREATE_TABLES.join(';\n')};\nCHECKPOINT;`);
  const from = performance.now();
  postgres.psql(`BEGIN;\n${TABLES.map((table) => `\\copy obverse.${table} FROM '${file(table)}'\n`).join('')}COMMIT;`);
  return (performance.now() - from) / 1000;
}
