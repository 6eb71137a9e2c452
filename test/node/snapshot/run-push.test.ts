import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/load.ts';
import { runPush } from '../../../src/node/snapshot/run-push.ts';
import { cleanUpAfterTests, copyDatadir, startNode, tempDir } from '../../lib/node-process.ts';
import { ObjectServer } from '../../lib/object-server.ts';
import {
  chainOf,
  checkedManifest,
  configOf,
  filesIn,
  NEVER,
  PART,
  startSnapshots,
} from '../../lib/snapshot-fixture.ts';

cleanUpAfterTests();

const { server, source, pushed, storeAt, push, pull, manifestOf, expectSameFiles, objectsOf } = await startSnapshots();
afterAll(() => server[Symbol.asyncDispose]());

describe('a push', () => {
  test('writes each part of each file once, under its SHA-256, and the manifest after them', async () => {
    const manifest = manifestOf('whole');
    const parts = manifest.files.flatMap((file) => file.parts);
    expect(parts.length).toBeGreaterThan(40);
    expect(objectsOf('whole').sort()).toEqual([...new Set(parts)].sort());
    for (const hash of objectsOf('whole')) {
      const bytes = readFileSync(server.fileOf(`whole/files/${hash}`));
      expect(new Bun.CryptoHasher('sha256').update(bytes).digest('hex')).toBe(hash);
      expect(bytes.length).toBeLessThanOrEqual(PART);
    }
    const written = await server.writtenKeys();
    expect(written.slice(-2)).toEqual(['whole/manifest-160.json', 'whole/manifest.json']);
    expect(written).toHaveLength(objectsOf('whole').length + 2);
    expect(pushed.bytes).toBe(manifest.files.reduce((sum, { bytes }) => sum + bytes, 0));
    expect(filesIn(join(source, 'regtest')).filter((path) => path.includes('snapshot'))).toEqual([]);
  });

  test('sends nothing but the manifests where all parts are there, and replaces an object of another size', async () => {
    await server.writtenKeys();
    expect((await push(source, 'whole')).moved).toBe(0);
    expect(await server.writtenKeys()).toEqual(['whole/manifest-160.json', 'whole/manifest.json']);
    const [hash] = objectsOf('whole');
    truncateSync(server.fileOf(`whole/files/${hash}`), 10);
    await push(source, 'whole');
    expect(await server.writtenKeys()).toEqual([
      `whole/files/${hash}`,
      'whole/manifest-160.json',
      'whole/manifest.json',
    ]);
  });

  test('that is cut leaves the former snapshot whole, and the next one sends only the rest', async () => {
    const earlier = JSON.stringify(manifestOf('whole'));
    const changed = copyDatadir(source);
    // Bytes behind the last block that the database refers to are none of the snapshot; these are a part of it.
    const grown = join(chainOf(changed), 'blocks', 'blk00000.dat');
    const bytes = readFileSync(grown);
    bytes[PART * 2 + 5]! ^= 1;
    bytes[PART * 9 + 5]! ^= 1;
    bytes[PART * 12 + 5]! ^= 1;
    writeFileSync(grown, bytes);
    const changes = [2, 9, 12].map((part) =>
      new Bun.CryptoHasher('sha256').update(bytes.subarray(part * PART, (part + 1) * PART)).digest('hex'),
    );
    const dying = await ObjectServer.start({ directory: server.directory, killAt: ['PUT', 2] });
    await expect(push(changed, 'whole', { at: dying })).rejects.toThrow(/cannot be reached|answered/);
    await dying.exited;
    expect(JSON.stringify(manifestOf('whole'))).toBe(earlier);
    // The server died at the second request, whose part it has not written; the first one may still have been running.
    const isWhole = (hash: string) =>
      objectsOf('whole').includes(hash) && statSync(server.fileOf(`whole/files/${hash}`)).size === PART;
    const missing = changes.filter((hash) => !isWhole(hash));
    expect(missing.length).toBeGreaterThanOrEqual(2);
    const target = tempDir();
    await pull(target, 'whole');
    expectSameFiles(target);
    await server.writtenKeys();
    const { moved } = await push(changed, 'whole');
    const sent = (await server.writtenKeys()).filter((key) => key.includes('/files/'));
    // The server may have died between the bytes of a part and its metadata, without which it does not have the part.
    const hashes = sent.map((key) => key.replace('whole/files/', ''));
    expect(missing.filter((hash) => !hashes.includes(hash))).toEqual([]);
    expect(hashes.filter((hash) => !changes.includes(hash))).toEqual([]);
    expect(moved).toBe(sent.length * PART);
    await push(source, 'whole');
  });

  test('ends on an abort, and writes no manifest then', async () => {
    const abort = new AbortController();
    const options = { store: storeAt('aborted'), signal: abort.signal, partBytes: PART };
    const report = await runPush(configOf(source), { ...options, progress: () => abort.abort() });
    expect(report).toBe('aborted');
    expect(existsSync(server.fileOf('aborted/manifest.json'))).toBe(false);
    expect(objectsOf('aborted').length).toBeLessThan(objectsOf('whole').length);
    expect(readdirSync(join(source, 'regtest'))).not.toContain('snapshot.push');
  });

  test('refuses a place with a snapshot of another network, and a directory without a chain', async () => {
    const foreign = `${JSON.stringify({ ...manifestOf('whole'), network: 'signet' })}`;
    mkdirSync(join(server.directory, 'snapshots', 'foreign'), { recursive: true });
    const { sha256: _, ...content } = JSON.parse(foreign);
    await storeAt('foreign').putObject('manifest.json', Buffer.from(checkedManifest(content)), NEVER);
    await expect(push(source, 'foreign')).rejects.toThrow(
      's3://snapshots/foreign/manifest.json is a snapshot of the network signet, and the settings name regtest',
    );
    const empty = tempDir();
    await expect(push(empty, 'empty')).rejects.toThrow(`${chainOf(empty)} holds no chain`);
  });

  test('is not changed by files that a kill has left in its folder, such as a journal of SQLite', async () => {
    const killed = copyDatadir(source);
    const folder = join(killed, 'regtest', 'snapshot.push');
    mkdirSync(folder);
    const half = join(tempDir(), 'chain.db');
    copyFileSync(join(chainOf(source), 'chain.db'), half);
    using db = new Database(half);
    db.run('PRAGMA journal_mode = DELETE');
    // With a cache of one page, SQLite writes pages before the commit, and the journal must be rolled back.
    db.run('PRAGMA cache_size = 1');
    db.run('BEGIN');
    db.run('UPDATE headers SET header = zeroblob(80)');
    for (const suffix of ['', '-journal']) copyFileSync(`${half}${suffix}`, join(folder, `chain.db${suffix}`));
    expect(statSync(join(folder, 'chain.db-journal')).size).toBeGreaterThan(512);
    db.run('ROLLBACK');
    expect((await push(killed, 'whole')).moved).toBe(0);
    expect(existsSync(folder)).toBe(false);
  });

  test('replaces a manifest that is damaged, which a pull refuses', async () => {
    await push(source, 'replaced');
    await storeAt('replaced').putObject('manifest.json', Buffer.from('{"format":1'), NEVER);
    await expect(pull(tempDir(), 'replaced')).rejects.toThrow(
      's3://snapshots/replaced/manifest.json is damaged: it is no JSON; push the snapshot again',
    );
    expect((await push(source, 'replaced')).moved).toBe(0);
    expect(manifestOf('replaced').tip.height).toBe(160);
  });

  test('stops where a file has become shorter than its rows say, and where a reindex is unfinished', async () => {
    const pruned = copyDatadir(source);
    truncateSync(join(chainOf(pruned), 'blocks', 'blk00000.dat'), PART * 3 + 7);
    await expect(push(pruned, 'pruned')).rejects.toThrow(/blk00000\.dat has become shorter while it was pushed/);
    expect(existsSync(server.fileOf('pruned/manifest.json'))).toBe(false);
    writeFileSync(join(chainOf(pruned), 'reindex'), 'building\n');
    await expect(push(pruned, 'pruned')).rejects.toThrow(/a reindex of .* was interrupted/);
  });
});

test('a chain of a custom signet is pushed, and is not that of the public one', async () => {
  const datadir = tempDir();
  const args = ['--consensus.signetChallenge=51'];
  await (await startNode({ network: 'signet', datadir, args })).stop();
  const config = (...more: string[]) => loadConfig(['--network', 'signet', '--datadir', datadir, ...more]).config;
  const options = { store: storeAt('signet'), signal: NEVER, progress: () => {} };
  expect(await runPush(config(...args), options)).toMatchObject({ network: 'signet-54d26fbd' });
  await expect(runPush(config(), options)).rejects.toThrow('signet-54d26fbd');
});
