import { beforeAll, describe, expect, test } from 'bun:test';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { EXPORT_TABLES } from '../../src/queries/export/export-tables.ts';
import { directoryOf } from '../lib/backup-commands.ts';
import { describeWithVectors } from '../lib/chain-api.ts';
import { mixedDirectory } from '../lib/chain-directory.ts';
import { cleanUpAfterTests, type NodeProcess, runProgram, startNode, tempDir } from '../lib/node-process.ts';
import { runCommand } from '../lib/run-command.ts';

cleanUpAfterTests();

type Table = keyof typeof EXPORT_TABLES;
type Row = Readonly<Record<string, string | number | bigint | boolean | null | undefined>>;

/** The chain creates and spends coins of all kinds up to here. */
const TIP = 112;

let node: NodeProcess;
let folder: string;
let count = 0;

beforeAll(async () => {
  folder = tempDir('export');
  node = await startNode({ datadir: await mixedDirectory(TIP), args: ['--wallet.enabled=false'] });
});

const exported = (table: Table, format: 'csv' | 'parquet', ...flags: string[]) =>
  exportedBy(runCommand, table, format, ...flags);

/** Runs an export beside the node, and returns the path of the file. */
async function exportedBy(
  run: typeof runCommand,
  table: Table,
  format: 'csv' | 'parquet',
  ...flags: string[]
): Promise<string> {
  const file = join(folder, `${table}-${++count}.${format}`);
  const where = directoryOf(node.datadir);
  const { status, stdout, stderr } = await run([
    'export',
    table,
    '--format',
    format,
    '--out',
    file,
    ...flags,
    ...where,
  ]);
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('; the chain up to height ');
  return file;
}

/** Reads a CSV file without quoted fields, by the types of its columns. */
function readCsv(table: Table, file: string): Row[] {
  const { columns } = EXPORT_TABLES[table];
  const [names, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\r\n');
  expect(names).toBe(columns.map(({ name }) => name).join(','));
  return lines.map((line) => {
    const fields = line.split(',');
    if (fields.length !== columns.length) throw new Error(`${fields.length} fields in ${line}`);
    return Object.fromEntries(columns.map(({ name, type }, i) => [name, readField(type, fields[i]!)]));
  });
}

function readField(type: string, text: string): Row[string] {
  if (text === '') return null;
  if (type === 'boolean') return text === 'true';
  if (type === 'int32') return Number(text);
  return type === 'int64' ? BigInt(text) : text;
}

async function readParquet(file: string): Promise<Row[]> {
  return (await parquetReadObjects({ file: await asyncBufferFromFile(file) })) as Row[];
}

async function rowsOf(table: Table, ...flags: string[]): Promise<Row[]> {
  const rows = readCsv(table, await exported(table, 'csv', ...flags));
  // Faster than the matcher, which prepares a difference of 100,000 rows.
  expect(Bun.deepEquals(await readParquet(await exported(table, 'parquet', ...flags)), rows)).toBe(true);
  return rows;
}

const sum = (rows: readonly Row[], name: string): bigint =>
  rows.reduce((total, row) => total + (row[name] as bigint), 0n);

describeWithVectors('obverse export', () => {
  test('blocks has the figures of each block, in CSV and Parquet', async () => {
    const rows = await rowsOf('blocks');
    expect(rows).toHaveLength(TIP + 1);
    for (const height of [0, 1, 101, 108, TIP]) {
      const hash = await node.api.rpc<string>('getblockhash', [height]);
      const block = await node.api.rpc<Record<string, number>>('getblock', [hash, 1]);
      const row = rows[height]!;
      expect(row).toMatchObject({ height, hash, merkle_root: block.merkleroot, transactions: block.nTx });
      expect([row.size, row.weight, row.time, row.nonce, row.version]).toEqual([
        ...[block.size!, block.weight!, BigInt(block.time!), BigInt(block.nonce!), block.version!],
      ]);
      if (height === 0) continue;
      const stats = await node.api.rpc<Record<string, number>>('getblockstats', [height]);
      expect([row.fees, row.output_value, row.inputs, row.outputs]).toEqual([
        ...[BigInt(stats.totalfee!), BigInt(stats.total_out!), stats.ins!, stats.outs!],
      ]);
    }
  });

  test('utxos has the coins of the tip, whose sum is that of gettxoutsetinfo', async () => {
    const rows = await rowsOf('utxos');
    const info = await node.api.rpc<{ txouts: number; total_amount: number }>('gettxoutsetinfo', ['none']);
    expect(rows).toHaveLength(info.txouts);
    expect(sum(rows, 'value')).toBe(BigInt(Math.round(info.total_amount * 1e8)));
    const { txid, vout, height, coinbase } = rows[7]!;
    const coin = await node.api.rpc<Record<string, unknown>>('gettxout', [txid!, Number(vout)]);
    expect([TIP + 1 - (coin.confirmations as number), coin.coinbase]).toEqual([height as number, coinbase as boolean]);
    const range = await rowsOf('utxos', '--from', '106', '--to', '110');
    expect(range).toEqual(rows.filter((row) => Number(row.height) >= 106 && Number(row.height) <= 110));
  });

  test('address-history has the same rows from the blocks as from the address index', async () => {
    const rows = await rowsOf('address-history');
    const balance = sum(rows, 'received') - sum(rows, 'sent');
    expect(balance).toBe(sum(await rowsOf('utxos'), 'value') + 5_000_000_000n);
    const counts = new Map<string, number>();
    for (const { address } of rows)
      if (typeof address === 'string') counts.set(address, (counts.get(address) ?? 0) + 1);
    const busy = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 3);
    for (const [address] of busy) {
      const own = rows.filter((row) => row.address === address);
      expect(await rowsOf('address-history', '--address', address)).toEqual(own);
      const { confirmed } = await node.api.json<{ confirmed: number }>(`/api/balance/${address}`);
      expect(sum(own, 'received') - sum(own, 'sent')).toBe(BigInt(confirmed));
      if (address !== busy[0]![0]) continue;
      const later = own.filter(({ height }) => Number(height) > 104 && Number(height) <= 110);
      expect(await rowsOf('address-history', '--address', address, '--from', '105', '--to', '110')).toEqual(later);
    }
  });

  test('a Parquet file has the documented types, and is made by this program', async () => {
    const file = await asyncBufferFromFile(await exportedBy(runProgram, 'utxos', 'parquet'));
    const { schema, created_by: creator } = await parquetMetadataAsync(file);
    expect(creator).toMatch(/^obverse /);
    expect(schema.slice(1).map(({ name, type, repetition_type: repetition }) => [name, type, repetition])).toEqual([
      ['txid', 'BYTE_ARRAY', 'REQUIRED'],
      ['vout', 'INT64', 'REQUIRED'],
      ['height', 'INT32', 'REQUIRED'],
      ['coinbase', 'BOOLEAN', 'REQUIRED'],
      ['value', 'INT64', 'REQUIRED'],
      ['script', 'BYTE_ARRAY', 'REQUIRED'],
      ['address', 'BYTE_ARRAY', 'OPTIONAL'],
    ]);
  });
});

describe('mistakes', () => {
  test.each([
    [2, ['coins', '--out', 'x'], 'export needs a table: blocks, utxos, address-history, not coins'],
    [2, ['blocks'], 'export needs --out FILE'],
    [2, ['blocks', '--out', 'x', '--format', 'json'], '--format is csv or parquet, not json'],
    [2, ['blocks', '--out', 'x', '--from', 'one'], '--from is a height, not one'],
    [2, ['blocks', '--out', 'x', '--address', 'y'], '--address goes with address-history alone'],
    [1, ['blocks', '--out', 'x', '--to', '113'], '--to 113 is above the tip, 112'],
    [1, ['blocks', '--out', 'x', '--from', '5', '--to', '4'], '--from 5 is above the last block, 4'],
    [1, ['address-history', '--out', 'x', '--address', 'bc1x'], '--address bc1x: '],
  ])('exit status %d for %j', async (expected, args, sentence) => {
    const [table, ...flags] = args.map((arg) => (arg === 'x' ? join(folder, 'x') : arg));
    const { status, stderr } = await runCommand(['export', table!, ...flags, ...directoryOf(node.datadir)]);
    expect([status, stderr]).toEqual([expected, expect.stringContaining(`obverse: ${sentence}`)]);
    expect(existsSync(join(folder, 'x')) || existsSync(join(folder, 'x.part'))).toBe(false);
  });

  test('an existing file is not replaced', async () => {
    const file = join(folder, 'there');
    writeFileSync(file, 'mine');
    const { status, stderr } = await runProgram(['export', 'blocks', '--out', file, ...directoryOf(node.datadir)]);
    expect([status, stderr]).toEqual([1, `obverse: ${file} already exists: name another file\n`]);
    expect(readFileSync(file, 'utf8')).toBe('mine');
  });
});
