import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { refuseUnfinishedReindex } from '../../src/storage/reindex-folder.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import { differences, dumpState } from '../lib/chain-state.ts';
import {
  cleanUpAfterTests,
  copyDatadir,
  Program,
  runProgram,
  startNode,
  tempDir,
  WITH_WALLET,
} from '../lib/node-process.ts';
import { runCommand } from '../lib/run-command.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests();

const chain = recentChain(200, { payments: 25 });
const datadir = directoryWith(chain);

const settings = (at: string) => ['--network', 'regtest', '--datadir', at];
const reindex = (at: string) => ['reindex', ...settings(at)];
const folderOf = (at: string) => join(at, 'regtest/chain');

function flipBit(path: string, at: number): void {
  const bytes = readFileSync(path);
  bytes[at]! ^= 16;
  writeFileSync(path, bytes);
}

/** Height that a reader sees while a reindex runs; -1 without a chain. */
function committedHeight(at: string): number {
  const db = new Database(join(folderOf(at), 'chain.db'), { readonly: true });
  try {
    return db.query<{ height: number | null }, []>('SELECT max(height) AS height FROM chain').get()!.height ?? -1;
  } finally {
    db.close();
  }
}

/** Starts a reindex and kills it once `reached` holds. A reindex that ends before the signal arrives is repeated. */
async function killReindex(at: string, name: string, reached: () => boolean): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const program = new Program(reindex(at));
    await program.until(name, reached, 60_000, 1);
    program.kill('SIGKILL');
    const { signal } = await program.end();
    if (signal === 'SIGKILL') return;
    flipBit(join(folderOf(at), 'chain.db'), 3);
  }
  throw new Error(`every reindex ended before it was killed at ${name}`);
}

test('kill -9 at several moments of a reindex is completed by the next one', async () => {
  const at = copyDatadir(await datadir);
  const state = dumpState(folderOf(at));
  const blocks = readFileSync(join(folderOf(at), 'blocks/blk00000.dat'));
  flipBit(join(folderOf(at), 'chain.db'), 3);
  const moments: [string, () => boolean][] = [
    ['the marker', () => existsSync(join(folderOf(at), 'reindex'))],
    ['the new database', () => existsSync(join(folderOf(at), 'chain.db-wal'))],
    ...[20, 110, 150].map((height): [string, () => boolean] => [
      `height ${height}`,
      () => committedHeight(at) >= height,
    ]),
  ];
  const refusal = `a reindex of ${folderOf(at)} was interrupted: run obverse reindex with the same settings to complete it`;
  for (const [name, reached] of moments) {
    await killReindex(at, name, reached);
    // The check of every command that opens a chain.
    expect(() => refuseUnfinishedReindex(folderOf(at))).toThrow(refusal);
  }
  const refused = await runProgram(['import', ...settings(at), join(folderOf(at), 'blocks/blk00000.dat')]);
  expect(refused.status).toBe(1);
  expect(refused.stderr).toContain(`obverse: ${refusal}\n`);
  const started = await runProgram(['start', ...settings(at), '--http.listen', '127.0.0.1:0', '--p2p.enabled=false']);
  expect(started.status).toBe(1);
  expect(started.stderr).toContain('was interrupted: run obverse reindex');
  const done = await runProgram(reindex(at));
  expect([done.status, done.stdout]).toEqual([
    0,
    expect.stringMatching(new RegExp(`^\\d+ blocks connected, \\d+ known .*; tip at height 200, ${tipHash(chain)}\n$`)),
  ]);
  expect(differences(dumpState(folderOf(at)), state)).toEqual([]);
  expect(readFileSync(join(folderOf(at), 'blocks/blk00000.dat')).equals(blocks)).toBe(true);
  expect(existsSync(join(folderOf(at), 'reindex'))).toBe(false);
});

test('a reindex keeps wallets, keys and event numbers, and rejects cursors of the old history', async () => {
  const at = copyDatadir(await datadir);
  let node = await startNode({ datadir: at, args: [WITH_WALLET] });
  const address = await node.api.rpc<string>('getnewaddress');
  const events = () =>
    node.api.json<{ items: { data: { seq: number } }[]; lastCursor: string }>('/api/events?after=0&limit=1000');
  const before = await events();
  await node.stop();
  const kept = readdirSync(join(at, 'regtest/wallets'));
  expect((await runProgram(reindex(at))).status).toBe(0);
  expect(readdirSync(join(at, 'regtest/wallets'))).toEqual(kept);
  node = await startNode({ datadir: at, args: [WITH_WALLET] });
  expect(await node.api.rpc('getaddressinfo', [address])).toMatchObject({ ismine: true });
  expect(await node.api.rpc('getbestblockhash')).toBe(tipHash(chain));
  const after = await events();
  expect(after.items.length).toBeGreaterThan(0);
  expect(after.items[0]!.data.seq).toBeGreaterThan(before.items.at(-1)!.data.seq);
  const lost = await node.api.request(`/api/events?after=${before.lastCursor}`);
  expect(lost.body).toMatchObject({ error: { code: 'invalid_cursor' } });
  await node.stop();
});

test('a reindex names what it cannot use', async () => {
  const at = copyDatadir(await datadir);
  const file = join(folderOf(at), 'blocks/blk00000.dat');
  const block = chain.at(150);
  const offset = readFileSync(file).indexOf(block.raw);
  flipBit(file, offset + block.raw.length - 30);
  const { status, stdout, stderr } = await runProgram(reindex(at));
  expect(status).toBe(0);
  expect(stdout).toContain('tip at height 149, ');
  expect(stderr).toContain(
    `obverse: ${file}, offset ${offset}: block ${block.hash.toReversed().toHex()} of height 150 skipped: bad-`,
  );
  expect(stderr).toContain('obverse: blocks after height 149 follow when the node has downloaded what is missing\n');
});

test('a reindex of the indexes alone keeps the coins, and the node builds them again', async () => {
  const at = copyDatadir(await datadir);
  const folder = folderOf(at);
  const state = dumpState(folder);
  const db = new Database(join(folder, 'chain.db'));
  db.run('UPDATE runs SET image = zeroblob(300) WHERE family = 3 AND image IS NOT NULL');
  db.close();
  const refused = await runProgram(['import', ...settings(at), join(folder, 'blocks/blk00000.dat')]);
  expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('run obverse reindex')]);
  expect(await runProgram([...reindex(at), '--indexes'])).toMatchObject({
    status: 0,
    stdout: 'indexes removed; the node builds them again in the background after its next start\n',
  });
  const node = await startNode({ datadir: at });
  await node.until('the indexes', async () => {
    const indexes = await node.api.rpc<Record<string, { synced: boolean }>>('getindexinfo');
    return Object.keys(indexes).length > 0 && Object.values(indexes).every(({ synced }) => synced);
  });
  await node.stop();
  expect(differences(dumpState(folder), state)).toEqual([]);
  expect((await runProgram(['verify', ...settings(at)])).status).toBe(0);
});

test('a reindex without block files changes nothing', async () => {
  const at = tempDir();
  const { status, stderr } = await runProgram(reindex(at));
  expect([status, stderr]).toEqual([
    1,
    `obverse: ${folderOf(at)}/blocks holds no block file: there is nothing to reindex; obverse start downloads the chain\n`,
  ]);
  expect(existsSync(folderOf(at))).toBe(false);
});

describe('verify', () => {
  const verify = async (at: string, ...more: string[]) => {
    const result = await runCommand(['verify', ...settings(at), '--json', ...more]);
    return { ...result, report: result.stdout === '' ? null : (JSON.parse(result.stdout) as VerifyOutput) };
  };

  test('names one flipped bit in each kind of file, and reindex repairs all of them', async () => {
    const big = recentChain(104, { bigAt: 102, spacing: 600 });
    const file = join(tempDir(), 'blocks.dat');
    big.writeBootstrap(file);
    const at = tempDir();
    const withFilters = '--index.filter=true';
    expect((await runProgram(['import', ...settings(at), withFilters, file])).status).toBe(0);
    const folder = folderOf(at);
    const state = dumpState(folder);
    const utxoSet = await coinsHash(at);
    expect(await verify(at)).toMatchObject({ status: 0, report: { clean: true, level: 'full', height: 104 } });

    const [run] = readdirSync(join(folder, 'runs')).sort();
    const damaged = [`runs/${run}`, 'blocks/rev00000.dat', 'filters/flt00000.dat'];
    for (const name of damaged) flipBit(join(folder, name), 45);
    const db = new Database(join(folder, 'chain.db'));
    db.run('UPDATE chain SET utxos = utxos + 4 WHERE height = 104');
    db.run('UPDATE runs SET image = ? WHERE id = (SELECT max(id) FROM runs WHERE image IS NOT NULL)', [
      new Uint8Array(200),
    ]);
    db.close();
    const before = readFileSync(join(folder, 'chain.db'));
    for (const level of ['quick', 'full']) {
      const { status, report, stderr } = await verify(at, '--level', level);
      expect([status, report!.clean]).toEqual([1, false]);
      const files = new Set(report!.findings.map((finding) => finding.file));
      expect([...files].sort()).toEqual([...damaged, 'chain.db'].map((name) => join(folder, name)).sort());
      expect(stderr).toEndWith('obverse: damage found: run obverse reindex\n');
    }
    expect(readFileSync(join(folder, 'chain.db')).equals(before)).toBe(true);
    expect((await runProgram([...reindex(at), withFilters])).status).toBe(0);
    expect(await verify(at)).toMatchObject({ status: 0, report: { clean: true, total: 0 } });
    expect(differences(dumpState(folder), state)).toEqual([]);
    expect(await coinsHash(at)).toBe(utxoSet);
  });

  test('gives exit status 2 for a directory in use, without a chain, or in an unfinished reindex', async () => {
    const at = copyDatadir(await datadir);
    const node = await startNode({ datadir: at });
    expect(await verify(at)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('is in use by another process'),
    });
    await node.stop();
    expect(await verify(tempDir())).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('chain.db does not exist: there is nothing to verify'),
    });
    writeFileSync(join(folderOf(at), 'reindex'), 'building\n');
    expect(await verify(at)).toMatchObject({ status: 2, stderr: expect.stringContaining('was interrupted') });
    expect(await verify(at, '--level', 'deep')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--level is quick or full, not deep'),
    });
  });
});

interface VerifyOutput {
  readonly clean: boolean;
  readonly findings: readonly { readonly file: string }[];
}

/** The hash of the UTXO set, as the node reports it. */
async function coinsHash(at: string): Promise<string> {
  const node = await startNode({ datadir: at, args: ['--index.filter=true'] });
  const { hash_serialized_3: hash } = await node.api.rpc<{ hash_serialized_3: string }>('gettxoutsetinfo');
  await node.stop();
  return hash;
}
