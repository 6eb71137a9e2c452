import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../../src/config/load.ts';
import { runPull } from '../../../src/node/snapshot/run-pull.ts';
import { runPush } from '../../../src/node/snapshot/run-push.ts';
import type { SnapshotReport } from '../../../src/node/snapshot/snapshot-request.ts';
import { ObjectStore, type RequestLimits } from '../../../src/util/object-store.ts';
import { cleanUpAfterTests, copyDatadir, importFiles, MIXED_FILE, tempDir } from '../../lib/node-process.ts';
import { ObjectServer } from '../../lib/object-server.ts';

cleanUpAfterTests();

const PART = 1 << 18;
const LIMITS: RequestLimits = { quickMs: 10_000, transferMs: 10_000, attempts: 2, pauseMs: 1 };
const NEVER = new AbortController().signal;
let server: ObjectServer;
/** The chain of 160 blocks, which no test changes. */
let source: string;
/** The report of its push to `whole`. */
let pushed: SnapshotReport;

beforeAll(async () => {
  server = await ObjectServer.start();
  source = tempDir();
  await importFiles('regtest', source, [MIXED_FILE]);
  pushed = await push(source, 'whole');
});
afterAll(() => server[Symbol.asyncDispose]());

function configOf(datadir: string, ...args: string[]) {
  return loadConfig(['--network', 'regtest', '--datadir', datadir, ...args]).config;
}

function storeAt(prefix: string, at = server): ObjectStore {
  const [accessKeyId, secretAccessKey] = ['S3RVER', 'S3RVER'];
  const access = { endpoint: at.url, region: null, accessKeyId, secretAccessKey, sessionToken: null };
  return new ObjectStore({ bucket: 'snapshots', prefix }, access, LIMITS);
}

async function push(datadir: string, prefix: string, { at = server, signal = NEVER } = {}): Promise<SnapshotReport> {
  const options = { store: storeAt(prefix, at), signal, progress: () => {}, partBytes: PART };
  const report = await runPush(configOf(datadir), options);
  if (report === 'aborted') throw new Error('the push was aborted');
  return report;
}

async function pull(
  datadir: string,
  prefix: string,
  { at = server, height = null, args = [] }: { at?: ObjectServer; height?: number | null; args?: string[] } = {},
): Promise<SnapshotReport> {
  const options = { store: storeAt(prefix, at), signal: NEVER, progress: () => {}, height };
  const report = await runPull(configOf(datadir, ...args), options);
  if (report === 'aborted') throw new Error('the pull was aborted');
  return report;
}

interface Manifest {
  readonly tip: { readonly height: number };
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly parts: readonly string[] }[];
}

function manifestOf(prefix: string, name = 'manifest.json'): Manifest {
  return JSON.parse(readFileSync(server.fileOf(`${prefix}/${name}`), 'utf8'));
}

function chainOf(datadir: string): string {
  return join(datadir, 'regtest', 'chain');
}

function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}

/** The files of `datadir` are those of the source; chain.db is another copy of the same content. */
function expectSameFiles(datadir: string): void {
  const files = filesIn(chainOf(datadir));
  expect(files).toEqual(filesIn(chainOf(source)).filter((path) => !/^events\.mark$|^chain\.db-/.test(path)));
  for (const path of files.filter((name) => name !== 'chain.db')) {
    const expected = readFileSync(join(chainOf(source), path)).subarray(0, statSync(join(chainOf(datadir), path)).size);
    expect([path, readFileSync(join(chainOf(datadir), path)).equals(expected)]).toEqual([path, true]);
  }
}

function objectsOf(prefix: string): string[] {
  const folder = join(server.directory, 'snapshots', prefix, 'files');
  return readdirSync(folder).flatMap((name) => /^([0-9a-f]{64})\._S3rver_object$/.exec(name)?.[1] ?? []);
}

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
    const dying = await ObjectServer.start({ directory: server.directory, killAt: ['PUT', 2] });
    await expect(push(changed, 'whole', { at: dying })).rejects.toThrow(/cannot be reached|answered/);
    await dying.exited;
    expect(JSON.stringify(manifestOf('whole'))).toBe(earlier);
    const target = tempDir();
    await pull(target, 'whole');
    expectSameFiles(target);
    await server.writtenKeys();
    const { moved } = await push(changed, 'whole');
    const sent = (await server.writtenKeys()).filter((key) => key.includes('/files/'));
    // One of the three was written before the server died; one may have been.
    expect(sent.length).toBeGreaterThanOrEqual(1);
    expect(sent.length).toBeLessThanOrEqual(2);
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
    await storeAt('foreign').putObject('manifest.json', Buffer.from(checked(content)), NEVER);
    await expect(push(source, 'foreign')).rejects.toThrow(
      's3://snapshots/foreign/manifest.json is a snapshot of the network signet, and the settings name regtest',
    );
    const empty = tempDir();
    await expect(push(empty, 'empty')).rejects.toThrow(`${chainOf(empty)} holds no chain`);
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

/** The text of a manifest, whose checksum is right. */
function checked(content: object): string {
  const sha256 = new Bun.CryptoHasher('sha256').update(JSON.stringify(content)).digest('hex');
  return JSON.stringify({ ...content, sha256 });
}

describe('a pull', () => {
  test('writes the files of the source, for the owner alone, and leaves nothing beside them', async () => {
    const target = tempDir();
    const report = await pull(target, 'whole');
    expect(report).toMatchObject({
      network: 'regtest',
      tip: { height: 160 },
      moved: pushed.bytes,
      files: pushed.files,
    });
    expectSameFiles(target);
    expect(readdirSync(join(target, 'regtest')).sort()).toEqual(['chain', 'lock']);
    expect(statSync(chainOf(target)).mode & 0o777).toBe(0o700);
    for (const path of filesIn(chainOf(target))) expect(statSync(join(chainOf(target), path)).mode & 0o777).toBe(0o600);
  });

  test('of a height reads the snapshot of that height, and names one that is missing', async () => {
    const target = tempDir();
    await expect(pull(target, 'whole', { height: 159 })).rejects.toThrow(
      's3://snapshots/whole holds no snapshot of height 159: it has no manifest-159.json',
    );
    expect(readdirSync(target)).toEqual([]);
    expect((await pull(target, 'whole', { height: 160 })).tip.height).toBe(160);
  });

  test('that is cut by the death of the server continues with what is missing', async () => {
    const target = tempDir();
    const dying = await ObjectServer.start({ directory: server.directory, killAt: ['GET', 20] });
    await expect(pull(target, 'whole', { at: dying })).rejects.toThrow(/cannot be reached|answered/);
    await dying.exited;
    const staging = `${chainOf(target)}.pull`;
    expect(existsSync(chainOf(target))).toBe(false);
    // A crash may leave a damaged part, files that are too long, and files of an earlier snapshot.
    const chain = join(staging, 'chain.db');
    const whole = readFileSync(chain);
    whole[100]! ^= 1;
    writeFileSync(chain, whole);
    writeFileSync(join(staging, 'runs', 'coins-00000999.run'), 'of an earlier snapshot');
    appendFileSync(join(staging, 'blocks', 'blk00000.dat'), Buffer.alloc(30 << 20));
    await server.newRequests();
    const { moved, bytes } = await pull(target, 'whole');
    expect(moved).toBeLessThan(bytes);
    const read = (await server.newRequests()).filter((line) => line.includes('/files/'));
    const parts = manifestOf('whole').files.flatMap((file) => file.parts);
    // At least 15 of the 19 that were answered were complete, and one was damaged since.
    expect(read.length).toBeLessThanOrEqual(parts.length - 14);
    expect(read).toContain(`GET whole/files/${parts[0]}`);
    expectSameFiles(target);
    expect(existsSync(staging)).toBe(false);
  });

  test('names a damaged and a missing object with its file, and keeps what it has', async () => {
    await push(source, 'damaged');
    const file = manifestOf('damaged').files.find(({ path }) => path.startsWith('blocks/blk'))!;
    const hash = file.parts[3]!;
    const path = server.fileOf(`damaged/files/${hash}`);
    const bytes = readFileSync(path);
    bytes[1000]! ^= 1;
    writeFileSync(path, bytes);
    const target = tempDir();
    const name = `s3://snapshots/damaged/files/${hash}, a part of blocks/blk00000.dat,`;
    await expect(pull(target, 'damaged')).rejects.toThrow(
      `${name} does not match its size and SHA-256: remove the object and push the snapshot again`,
    );
    expect(existsSync(chainOf(target))).toBe(false);
    rmSync(path);
    rmSync(path.replace(/_object$/, '_metadata.json'));
    await expect(pull(target, 'damaged')).rejects.toThrow(`${name} is missing`);
    await push(source, 'damaged');
    const { moved, bytes: all } = await pull(target, 'damaged');
    expect(moved).toBeLessThan(all);
    expectSameFiles(target);
  });

  test('refuses a directory with chain data of any version, and a place that a rename cannot replace', async () => {
    const refused = /already has chain data: name an empty data directory with --datadir$/;
    await expect(pull(copyDatadir(source), 'whole')).rejects.toThrow(refused);
    const earlier = tempDir();
    mkdirSync(join(earlier, 'regtest', 'blocks'), { recursive: true });
    await expect(pull(earlier, 'whole')).rejects.toThrow(refused);
    const linked = tempDir();
    mkdirSync(join(linked, 'regtest'));
    symlinkSync(tempDir(), chainOf(linked));
    await expect(pull(linked, 'whole')).rejects.toThrow(/cannot be replaced by the snapshot \(ENOTDIR\)/);
    const empty = tempDir();
    mkdirSync(chainOf(empty), { recursive: true });
    await pull(empty, 'whole');
    expectSameFiles(empty);
  });

  test('checks the free space before it reads a part', async () => {
    const target = tempDir();
    await server.newRequests();
    // No disk has a reserve of a billion MiB.
    await expect(
      pull(target, 'whole', { args: ['--ready.disk.fail=1000000000', '--ready.disk.degraded=1000000000'] }),
    ).rejects.toThrow(
      /chain\.pull has no room for the snapshot: \d+ MiB are free, and \d+ MiB and 1000000000 MiB in reserve \(ready\.disk\.fail\) are needed$/,
    );
    expect((await server.newRequests()).filter((line) => line.includes('/files/'))).toEqual([]);
  });

  test('publishes no snapshot whose chain.db needs a file that it does not have', async () => {
    const { sha256: _, ...content } = JSON.parse(readFileSync(server.fileOf('whole/manifest.json'), 'utf8'));
    const files = content.files.filter(({ path }: { path: string }) => !path.startsWith('blocks/rev'));
    await storeAt('whole').putObject('manifest-1.json', Buffer.from(checked({ ...content, files })), NEVER);
    const target = tempDir();
    await expect(pull(target, 'whole', { height: 1 })).rejects.toThrow(
      /the snapshot is damaged: chain\.db needs \d+ bytes of blocks\/rev00000\.dat, and it has 0; push it again/,
    );
    const tip = { ...content.tip, height: 150 };
    await storeAt('whole').putObject('manifest-1.json', Buffer.from(checked({ ...content, tip })), NEVER);
    await expect(pull(target, 'whole', { height: 1 })).rejects.toThrow(
      /the snapshot is damaged: chain\.db has the tip [0-9a-f]{64} at height 160/,
    );
    expect(existsSync(chainOf(target))).toBe(false);
    // All parts of the whole snapshot have arrived by then.
    expect((await pull(target, 'whole')).moved).toBe(0);
    expectSameFiles(target);
  });

  test('of a file whose hash differs from its parts publishes nothing', async () => {
    const { sha256: _, ...content } = JSON.parse(readFileSync(server.fileOf('whole/manifest.json'), 'utf8'));
    const files = content.files.map((file: { path: string }) =>
      file.path.startsWith('blocks/blk') ? { ...file, sha256: 'ab'.repeat(32) } : file,
    );
    await storeAt('whole').putObject('manifest-2.json', Buffer.from(checked({ ...content, files })), NEVER);
    const target = tempDir();
    const refused = /blk00000\.dat does not match the SHA-256 of the snapshot, and its parts do/;
    await expect(pull(target, 'whole', { height: 2 })).rejects.toThrow(refused);
    // The second call finds all parts of the file at their place.
    await expect(pull(target, 'whole', { height: 2 })).rejects.toThrow(refused);
    expect(existsSync(chainOf(target))).toBe(false);
    renameSync(`${chainOf(target)}.pull`, `${chainOf(target)}.gone`);
  });
});
