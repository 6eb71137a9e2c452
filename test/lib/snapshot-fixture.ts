import { expect } from 'bun:test';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.ts';
import { runPull } from '../../src/node/snapshot/run-pull.ts';
import { runPush } from '../../src/node/snapshot/run-push.ts';
import type { SnapshotReport } from '../../src/node/snapshot/snapshot-request.ts';
import { ObjectStore, type RequestLimits } from '../../src/util/object-store.ts';
import { mixedDirectory } from './chain-directory.ts';
import { ObjectServer } from './object-server.ts';

/** Bytes of a part: the chain of the tests has 49 of them. */
export const PART = 1 << 18;
const LIMITS: RequestLimits = { quickMs: 10_000, transferMs: 10_000, attempts: 2, pauseMs: 1 };
export const NEVER = new AbortController().signal;

interface Manifest {
  readonly tip: { readonly height: number };
  readonly files: readonly { readonly path: string; readonly bytes: number; readonly parts: readonly string[] }[];
}

export function configOf(datadir: string, ...args: string[]) {
  return loadConfig(['--network', 'regtest', '--datadir', datadir, ...args]).config;
}

export function chainOf(datadir: string): string {
  return join(datadir, 'regtest', 'chain');
}

export function filesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dir.length + 1))
    .sort();
}

/** The text of a manifest, whose checksum is right. */
export function checkedManifest(content: object): string {
  const sha256 = new Bun.CryptoHasher('sha256').update(JSON.stringify(content)).digest('hex');
  return JSON.stringify({ ...content, sha256 });
}

/** Starts a server of objects, makes a chain of 160 blocks, which no test changes, and pushes it to `whole`. */
export async function startSnapshots() {
  const server = await ObjectServer.start();
  const source = await mixedDirectory();

  function storeAt(prefix: string, at = server): ObjectStore {
    const [accessKeyId, secretAccessKey] = ['S3RVER', 'S3RVER'];
    const access = { endpoint: at.url, region: 'us-east-1', accessKeyId, secretAccessKey, sessionToken: null };
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

  function manifestOf(prefix: string, name = 'manifest.json'): Manifest {
    return JSON.parse(readFileSync(server.fileOf(`${prefix}/${name}`), 'utf8'));
  }

  /** The files of `datadir` are those of the source; chain.db is another copy of the same content. */
  function expectSameFiles(datadir: string): void {
    const files = filesIn(chainOf(datadir));
    expect(files).toEqual(filesIn(chainOf(source)).filter((path) => !/^events\.mark$|^chain\.db-/.test(path)));
    for (const path of files.filter((name) => name !== 'chain.db')) {
      const expected = readFileSync(join(chainOf(source), path)).subarray(
        0,
        statSync(join(chainOf(datadir), path)).size,
      );
      expect([path, readFileSync(join(chainOf(datadir), path)).equals(expected)]).toEqual([path, true]);
    }
  }

  function objectsOf(prefix: string): string[] {
    const folder = join(server.directory, 'snapshots', prefix, 'files');
    return readdirSync(folder).flatMap((name) => /^([0-9a-f]{64})\._S3rver_object$/.exec(name)?.[1] ?? []);
  }

  const pushed = await push(source, 'whole');
  return { server, source, pushed, storeAt, push, pull, manifestOf, expectSameFiles, objectsOf };
}
