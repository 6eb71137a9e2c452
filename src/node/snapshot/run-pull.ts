import type { Config } from '../../config/settings.ts';
import { copyProblem } from '../../storage/backup/backup-problem.ts';
import { chainIdentityOf } from '../../storage/database.ts';
import {
  manifestAt,
  NEWEST_MANIFEST,
  partObject,
  type SnapshotManifest,
} from '../../storage/snapshot/snapshot-manifest.ts';
import { assertNoChain, type MissingPart, SnapshotStaging } from '../../storage/snapshot/snapshot-staging.ts';
import type { ObjectStore } from '../../util/object-store.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { runParallel } from '../../util/parallel.ts';
import { finishSteps } from '../backup/finish-steps.ts';
import { paramsOfConfig } from '../config-params.ts';
import { lockDirectory } from '../lock.ts';
import { TransferCounter } from './snapshot-progress.ts';
import { fetchManifest, PARALLEL_TRANSFERS, type SnapshotOptions, type SnapshotReport } from './snapshot-request.ts';

interface PullOptions extends SnapshotOptions {
  /** Height of the snapshot; null for the newest one. */
  readonly height: number | null;
}

/**
 * Reads a snapshot from object storage into a data directory without a chain. The folder of the chain appears when all files
 * are there and verified; until then they are in a folder beside it, where the same call continues. Resolves to 'aborted'
 * after an abort. Throws OperatorError.
 */
export async function runPull(
  config: Config,
  { store, height, signal, progress }: PullOptions,
): Promise<SnapshotReport | 'aborted'> {
  const { networkDir, chainDir, ready } = config;
  const identity = chainIdentityOf(paramsOfConfig(config));
  try {
    assertNoChain(chainDir);
    // Before a directory is created.
    const key = height === null ? NEWEST_MANIFEST : manifestAt(height);
    const manifest = await fetchManifest(store, key, identity, signal);
    if (manifest === null)
      throw new OperatorError(
        `${store.name} holds no snapshot${height === null ? '' : ` of height ${height}`}: it has no ${key}`,
      );
    const release = lockDirectory(networkDir);
    try {
      const staging = new SnapshotStaging(chainDir, manifest);
      const totalBytes = manifest.files.reduce((sum, { bytes }) => sum + bytes, 0);
      const counter = new TransferCounter(totalBytes, progress);
      const missing = await finishSteps(countPresent(staging, counter), signal);
      if (missing === 'aborted') return 'aborted';
      staging.assertRoom(missing, ready.disk.fail * 2 ** 20);
      await runParallel(missing, PARALLEL_TRANSFERS, signal, async (part, ending) => {
        await pullPart(store, staging, part, ending);
        counter.countPart(part.bytes, true);
        if (staging.notePart(part)) await finishSteps(staging.finishFile(part.file), ending);
      });
      signal.throwIfAborted();
      staging.publish(identity);
      return reportOf(store, manifest, totalBytes, counter.moved);
    } finally {
      release();
    }
  } catch (error) {
    if (signal.aborted) return 'aborted';
    throw copyProblem(error, `the pull from ${store.name}`);
  }
}

function* countPresent(staging: SnapshotStaging, counter: TransferCounter): Generator<undefined, MissingPart[]> {
  const steps = staging.findMissing();
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (value.isThere) counter.countPart(value.bytes, false);
    yield;
  }
}

async function pullPart(
  store: ObjectStore,
  staging: SnapshotStaging,
  part: MissingPart,
  signal: AbortSignal,
): Promise<void> {
  const key = partObject(part.sha256);
  const sink = staging.partSink(part);
  try {
    const result = await store.readObject(key, sink, signal);
    if (result === 'read') return;
    const problem = result === 'missing' ? 'is missing' : 'does not match its size and SHA-256';
    throw new OperatorError(
      `${store.name}/${key}, a part of ${part.file.path}, ${problem}: remove the object and push the snapshot again`,
    );
  } finally {
    sink.close();
  }
}

function reportOf(
  store: ObjectStore,
  { network, tip, files }: SnapshotManifest,
  bytes: number,
  moved: number,
): SnapshotReport {
  return { place: store.name, network, tip, files: files.length, bytes, moved };
}
