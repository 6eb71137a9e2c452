import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
  for (const [name, reached] of moments) {
    const program = new Program(reindex(at));
    await program.until(name, reached, 60_000, 1);
    program.kill('SIGKILL');
    expect(await program.end()).toMatchObject({ signal: 'SIGKILL' });
    const refused = await runProgram(['import', ...settings(at), join(folderOf(at), 'blocks/blk00000.dat')]);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toContain(
      `obverse: a reindex of ${folderOf(at)} was interrupted: run obverse reindex with the same settings to complete it\n`,
    );
  }
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

test('a reindex without block files changes nothing', async () => {
  const at = tempDir();
  const { status, stderr } = await runProgram(reindex(at));
  expect([status, stderr]).toEqual([
    1,
    `obverse: ${folderOf(at)}/blocks holds no block file: there is nothing to reindex; obverse start downloads the chain\n`,
  ]);
  expect(existsSync(folderOf(at))).toBe(false);
});
