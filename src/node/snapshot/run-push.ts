import { existsSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../config/settings.ts';
import { copyProblem } from '../../storage/backup/backup-problem.ts';
import { SCHEMA_VERSION } from '../../storage/chain-schema.ts';
import { type ChainDatabaseIdentity, chainIdentityOf } from '../../storage/database.ts';
import { refuseUnfinishedReindex } from '../../storage/reindex-folder.ts';
import {
  DamagedManifest,
  manifestAt,
  NEWEST_MANIFEST,
  PART_BYTES,
  partObject,
  type SnapshotManifest,
  snapshotText,
} from '../../storage/snapshot/snapshot-manifest.ts';
import { SnapshotSource } from '../../storage/snapshot/snapshot-source.ts';
import { VERSION } from '../../util/build-version.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { runParallel } from '../../util/parallel.ts';
import { paramsOfConfig } from '../config-params.ts';
import { DirectoryInUse, lockDirectory } from '../lock.ts';
import { TransferCounter } from './snapshot-progress.ts';
import { fetchManifest, PARALLEL_TRANSFERS, type SnapshotOptions, type SnapshotReport } from './snapshot-request.ts';

/** The folder of the copy of chain.db in the directory of the network, while a push runs. */
const PUSH_FOLDER = 'snapshot.push';

interface PushOptions extends SnapshotOptions {
  /** Bytes of a part; tests use small ones. */
  readonly partBytes?: number;
}

/**
 * Writes the chain of a stopped or running node to object storage; only objects that are not there are sent. The manifest is
 * written last, so that an interrupted push leaves the former snapshot whole. Resolves to 'aborted' after an abort. Throws
 * OperatorError.
 */
export async function runPush(config: Config, options: PushOptions): Promise<SnapshotReport | 'aborted'> {
  const { networkDir, chainDir } = config;
  if (!existsSync(join(chainDir, 'chain.db')))
    throw new OperatorError(`${chainDir} holds no chain: name its --datadir and --network`);
  const releases = [lockStopped(networkDir)];
  try {
    refuseUnfinishedReindex(chainDir);
    const identity = chainIdentityOf(paramsOfConfig(config));
    await checkPlace(options, identity);
    const folder = join(networkDir, PUSH_FOLDER);
    releases.push(lockPush(folder), () => rmSync(folder, { recursive: true, force: true }));
    assertRoomForCopy(config);
    using source = new SnapshotSource(chainDir, folder, identity);
    return await pushSource(source, identity, options);
  } catch (error) {
    if (options.signal.aborted) return 'aborted';
    throw copyProblem(error, `the push to ${options.store.name}`);
  } finally {
    for (const release of releases.reverse()) release();
  }
}

/** Throws OperatorError where the place has a snapshot of another chain or of a newer schema. A damaged one is replaced. */
async function checkPlace({ store, signal }: SnapshotOptions, identity: ChainDatabaseIdentity): Promise<void> {
  try {
    await fetchManifest(store, NEWEST_MANIFEST, identity, signal);
  } catch (error) {
    if (!(error instanceof DamagedManifest)) throw error;
  }
}

async function pushSource(
  source: SnapshotSource,
  { network, genesisHash }: ChainDatabaseIdentity,
  { store, signal, progress, partBytes = PART_BYTES }: PushOptions,
): Promise<SnapshotReport> {
  const { tip, files, totalBytes } = source;
  const counter = new TransferCounter(totalBytes, progress);
  const parts = source.readParts(partBytes, PARALLEL_TRANSFERS);
  await runParallel(parts, PARALLEL_TRANSFERS, signal, async ({ sha256, bytes, release }, ending) => {
    const key = partObject(sha256);
    // Another push may have sent it, or this one before an interruption.
    const isThere = (await store.sizeOf(key, ending)) === bytes.length;
    if (!isThere) await store.putObject(key, bytes, ending);
    counter.countPart(bytes.length, !isThere);
    release();
  });
  const manifest: SnapshotManifest = {
    format: 1,
    version: VERSION,
    network,
    genesis: genesisHash,
    schema: SCHEMA_VERSION,
    createdAt: Math.floor(Date.now() / 1000),
    tip,
    partBytes,
    files,
  };
  const text = Buffer.from(snapshotText(manifest));
  await store.putObject(manifestAt(tip.height), text, signal);
  await store.putObject(NEWEST_MANIFEST, text, signal);
  return { place: store.name, network, tip, files: files.length, bytes: totalBytes, moved: counter.moved };
}

/** Locks the directory of a stopped node. A running one keeps its lock: the files of a snapshot may be read beside it. */
function lockStopped(networkDir: string): () => void {
  try {
    return lockDirectory(networkDir);
  } catch (error) {
    if (error instanceof DirectoryInUse) return () => {};
    throw error;
  }
}

function lockPush(folder: string): () => void {
  try {
    return lockDirectory(folder);
  } catch (error) {
    if (!(error instanceof DirectoryInUse)) throw error;
    throw new OperatorError(`another push of this data directory is running (pid ${error.owner})`);
  }
}

/** The node must not run out of space because of the copy of chain.db. */
function assertRoomForCopy({ chainDir, networkDir, ready }: Config): void {
  const needed = Math.ceil(statSync(join(chainDir, 'chain.db')).size / 2 ** 20);
  const { bavail, bsize } = statfsSync(networkDir);
  const free = Math.floor((bavail * bsize) / 2 ** 20);
  if (free < needed + ready.disk.fail)
    throw new OperatorError(
      `${networkDir} has no room for a copy of chain.db: ${free} MiB are free, and ${needed} MiB and ${ready.disk.fail} MiB in reserve (ready.disk.fail) are needed`,
    );
}
