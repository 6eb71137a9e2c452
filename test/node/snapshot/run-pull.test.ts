import { afterAll, describe, expect, test } from 'bun:test';
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
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cleanUpAfterTests, copyDatadir, tempDir } from '../../lib/node-process.ts';
import { ObjectServer } from '../../lib/object-server.ts';
import { chainOf, checkedManifest, filesIn, NEVER, startSnapshots } from '../../lib/snapshot-fixture.ts';

cleanUpAfterTests();

const { server, source, pushed, storeAt, push, pull, manifestOf, expectSameFiles } = await startSnapshots();
afterAll(() => server[Symbol.asyncDispose]());

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
    await storeAt('whole').putObject('manifest-1.json', Buffer.from(checkedManifest({ ...content, files })), NEVER);
    const target = tempDir();
    await expect(pull(target, 'whole', { height: 1 })).rejects.toThrow(
      /the snapshot is damaged: chain\.db needs \d+ bytes of blocks\/rev00000\.dat, and it has 0; push it again/,
    );
    const tip = { ...content.tip, height: 150 };
    await storeAt('whole').putObject('manifest-1.json', Buffer.from(checkedManifest({ ...content, tip })), NEVER);
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
    await storeAt('whole').putObject('manifest-2.json', Buffer.from(checkedManifest({ ...content, files })), NEVER);
    const target = tempDir();
    const refused = /blk00000\.dat does not match the SHA-256 of the snapshot, and its parts do/;
    await expect(pull(target, 'whole', { height: 2 })).rejects.toThrow(refused);
    // The second call finds all parts of the file at their place.
    await expect(pull(target, 'whole', { height: 2 })).rejects.toThrow(refused);
    expect(existsSync(chainOf(target))).toBe(false);
    renameSync(`${chainOf(target)}.pull`, `${chainOf(target)}.gone`);
  });
});
