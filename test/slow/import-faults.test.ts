import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashToHex } from '../../src/primitives/hash.ts';
import { FAULTS, goodChain, MAGIC, record } from '../lib/block-faults.ts';
import { directoryWith } from '../lib/chain-directory.ts';
import type { Info } from '../lib/node-client.ts';
import {
  cleanUpAfterTests,
  copyDatadir,
  NodeProcess,
  Program,
  runProgram,
  startNode,
  tempDir,
} from '../lib/node-process.ts';
import { insertOldRows, withOldTables } from '../lib/old-chain-database.ts';
import { recentChain, tipHash } from '../lib/sample-chains.ts';

cleanUpAfterTests();

function importInto(datadir: string, ...files: string[]) {
  return runProgram(['import', '--network', 'regtest', '--datadir', datadir, '--workers.verify=1', ...files]);
}

/** Returns the lines of stderr apart from progress and the log. */
function complaints(stderr: string): string[] {
  return stderr.split('\n').filter((line) => line.startsWith('obverse:'));
}

const good = goodChain();
/** One of each stage of validation: the table of all faults is in test/node/import-faults.test.ts. */
const STAGES = ['no work', 'a coinbase that takes too much', 'a bad signature'];

describe('an invalid block in a file', () => {
  test.each(FAULTS.filter(([name]) => STAGES.includes(name)))(
    '%s ends the program with its place',
    async (name, reason, change) => {
      const folder = tempDir();
      const chain = good.fork();
      const bad = chain.build(change(chain));
      const file = join(folder, 'blocks.dat');
      const before = good.bootstrap();
      writeFileSync(file, before);
      // Zeros as files have that are made in steps, then the bad block, then one that builds on it.
      appendFileSync(file, new Uint8Array(1000));
      appendFileSync(file, record(bad));
      chain.append(bad);
      appendFileSync(file, record(chain.mine(1)));

      const { status, stdout, stderr } = await importInto(folder, file);
      expect(status).toBe(1);
      const [line, ...more] = complaints(stderr);
      expect(more).toEqual([]);
      const start = `obverse: ${file}, offset ${before.length + 1000}: block ${hashToHex(bad.hash)} refused: `;
      expect(line).toStartWith(start);
      expect(line!.slice(start.length)).toMatch(reason);
      expect(stdout).toEndWith(`tip at height ${good.height}, ${tipHash(good)}\n`);

      // The valid blocks are kept, and the import of another file continues from there.
      if (name !== 'a bad signature') return;
      const next = join(folder, 'next.dat');
      const onwards = good.fork();
      onwards.mine(2);
      onwards.writeBootstrap(next, good.height + 1);
      const after = await importInto(folder, next);
      expect(after).toMatchObject({
        status: 0,
        stdout: `2 blocks connected; tip at height ${good.height + 2}, ${tipHash(onwards)}\n`,
      });
    },
  );

  test('is reported with its file, among several', async () => {
    const folder = tempDir();
    const chain = good.fork();
    const bad = chain.build({ coinbaseValue: 51_0000_0000n });
    const files = ['a.dat', 'b.dat', 'c.dat'].map((name) => join(folder, name));
    writeFileSync(files[0]!, good.bootstrap());
    writeFileSync(files[1]!, record(bad));
    writeFileSync(files[2]!, record(good.fork().mine(1)));
    const { status, stderr, stdout } = await importInto(folder, ...files);
    expect(status).toBe(1);
    expect(complaints(stderr)).toEqual([
      `obverse: ${files[1]}, offset 0: block ${hashToHex(bad.hash)} refused: bad-cb-amount`,
    ]);
    // The import stops there.
    expect(stdout).toEndWith(`tip at height ${good.height}, ${tipHash(good)}\n`);
  });

  test('ends start --import as an import, not as a node', async () => {
    const folder = tempDir();
    const chain = good.fork();
    const bad = chain.build({ coinbaseValue: 51_0000_0000n });
    const file = join(folder, 'blocks.dat');
    writeFileSync(file, Buffer.concat([good.bootstrap(), record(bad)]));
    const node = await new NodeProcess({ datadir: folder, args: ['--import', file] }).ready();
    await node.output(
      'stderr',
      new RegExp(`"msg":"import stopped at an invalid block".*"hash":"${hashToHex(bad.hash)}"`),
    );
    await node.height(good.height);
    expect(await node.api.json<Info>('/api/info')).toMatchObject({ bestBlockHash: tipHash(good) });
    expect(await node.stop()).toMatchObject({ status: 0 });
  });
});

describe('unusual files that hold a valid chain', () => {
  test('several in disorder, with something else between', async () => {
    const folder = tempDir();
    const records = good.blocks.map((block) => record(block));
    const files = [records.slice(50).toReversed(), [], [new Uint8Array(333), ...records.slice(0, 50), MAGIC]].map(
      (parts, i) => {
        const file = join(folder, `${i}.dat`);
        writeFileSync(file, Buffer.concat(parts));
        return file;
      },
    );
    const { status, stdout, stderr } = await importInto(folder, ...files);
    expect(complaints(stderr)).toEqual([]);
    expect(status).toBe(0);
    expect(stdout).toEndWith(`tip at height ${good.height}, ${tipHash(good)}\n`);
  });

  test('a block whose parent is missing is left out and reported', async () => {
    const folder = tempDir();
    const file = join(folder, 'blocks.dat');
    const records = good.blocks.map((block) => record(block));
    writeFileSync(file, Buffer.concat([...records.slice(0, 50), ...records.slice(51)]));
    const { status, stdout, stderr } = await importInto(folder, file);
    expect(status).toBe(0);
    expect(stdout).toContain('tip at height 49, ');
    expect(stderr).toContain('"msg":"blocks skipped: their ancestors are in none of the files","blocks":55');
  });
});

describe('files that cannot be imported', () => {
  const folder = tempDir();
  const own = join(folder, 'own.dat');
  const foreign = join(folder, 'foreign.dat');
  const text = join(folder, 'notes.txt');
  writeFileSync(own, good.bootstrap());
  writeFileSync(foreign, record(good.at(0), Uint8Array.of(0xf9, 0xbe, 0xb4, 0xd9)));
  writeFileSync(text, 'not a block file\n');

  test.each([
    ['missing', [join(folder, 'missing.dat')], `cannot read ${join(folder, 'missing.dat')}: no such file`],
    ['a folder', [folder], `cannot read ${folder}: not a file`],
    ['of another network', [foreign], `${foreign} holds no block of network regtest: its blocks are of network main`],
    ['something else', [text], `${text} holds no block of network regtest`],
    [
      'the second is missing',
      [own, join(folder, 'missing.dat')],
      `cannot read ${join(folder, 'missing.dat')}: no such file`,
    ],
  ])('%s', async (_, files, message) => {
    const { status, stderr } = await importInto(tempDir(), ...files);
    expect(complaints(stderr)).toEqual([`obverse: ${message}`]);
    expect(status).toBe(1);
  });

  test('an import without a file is refused', async () => {
    const { status, stderr } = await importInto(tempDir());
    expect(complaints(stderr)[0]).toBe('obverse: import needs at least one file');
    expect(status).toBe(2);
  });

  test('start --import of a missing file reports it and does not start', async () => {
    const { status, stderr } = await runProgram(
      [
        ...['start', '--network', 'regtest', '--datadir', tempDir(), '--http.listen', '127.0.0.1:0'],
        ...['--import', join(folder, 'missing.dat')],
      ],
      { timeoutMs: 20_000 },
    );
    expect(complaints(stderr)).toHaveLength(1);
    expect(complaints(stderr)[0]).toContain(join(folder, 'missing.dat'));
    expect(status).not.toBe(0);
  });
});

test('a node serves the chain that an import left, and recent blocks bring it in sync', async () => {
  const folder = tempDir();
  const file = join(folder, 'blocks.dat');
  const recent = recentChain(20);
  recent.writeBootstrap(file);
  expect(await importInto(folder, file)).toMatchObject({ status: 0 });
  const node = await startNode({ datadir: folder });
  expect(await node.api.json<Info>('/api/info')).toMatchObject({
    height: 20,
    synced: true,
    initialBlockDownload: false,
  });
  await node.stop();
});

test('Ctrl-C ends an import that converts a directory of an earlier version, and the next one converts it again', async () => {
  const made = await directoryWith(good);
  withOldTables(join(made, 'regtest/chain'), (db) => insertOldRows(db, 150_000));
  // Statements of this process may keep the original open.
  const datadir = copyDatadir(made);
  const folder = join(datadir, 'regtest/chain');
  const file = join(tempDir(), 'blocks.dat');
  good.writeBootstrap(file);
  const program = new Program(['import', '--network', 'regtest', '--datadir', datadir, file]);
  await program.output('stderr', /converting the chain database to the current format/);
  expect(await program.stop('SIGINT')).toMatchObject({ status: 1, signal: null });
  expect(complaints(program.stderr)).toEqual([
    'obverse: the conversion of the chain database was interrupted; the next start begins it again',
  ]);
  const db = new Database(join(folder, 'chain.db'), { readonly: true });
  expect(db.query("SELECT value FROM meta WHERE key = 'schema'").get()).toEqual({ value: 1 });
  db.close();
  const again = new Program(['import', '--network', 'regtest', '--datadir', datadir, file]);
  await again.output('stderr', /the chain database is converted/);
  await again.stop('SIGKILL');
});
