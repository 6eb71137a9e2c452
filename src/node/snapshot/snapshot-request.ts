import { SCHEMA_VERSION } from '../../storage/chain-schema.ts';
import type { ChainDatabaseIdentity } from '../../storage/database.ts';
import {
  assertSnapshotOf,
  DamagedManifest,
  MAX_MANIFEST_BYTES,
  readSnapshotManifest,
  type SnapshotManifest,
} from '../../storage/snapshot/snapshot-manifest.ts';
import type { ObjectStore } from '../../util/object-store.ts';
import type { TransferProgress } from './snapshot-progress.ts';

/** Transfers that run at once. */
export const PARALLEL_TRANSFERS = 4;

/** A push or a pull. */
export interface SnapshotOptions {
  readonly store: ObjectStore;
  readonly signal: AbortSignal;
  readonly progress: (progress: TransferProgress) => void;
}

/** A push or a pull that is complete. */
export interface SnapshotReport {
  /** `s3://bucket/prefix` */
  readonly place: string;
  readonly network: string;
  readonly tip: SnapshotManifest['tip'];
  readonly files: number;
  readonly bytes: number;
  /** Bytes that this run has moved; the others were there. */
  readonly moved: number;
}

/** Reads a manifest of this chain; null where there is none. Throws OperatorError. */
export async function fetchManifest(
  store: ObjectStore,
  key: string,
  identity: ChainDatabaseIdentity,
  signal: AbortSignal,
): Promise<SnapshotManifest | null> {
  const name = `${store.name}/${key}`;
  let chunks: Uint8Array[] = [];
  let bytes = 0;
  const result = await store.readObject(
    key,
    {
      start() {
        chunks = [];
        bytes = 0;
      },
      write(chunk) {
        chunks.push(chunk.slice());
        bytes += chunk.length;
        return bytes <= MAX_MANIFEST_BYTES;
      },
      finish: () => true,
    },
    signal,
  );
  if (result === 'missing') return null;
  if (result === 'wrong') throw new DamagedManifest(name, `it has more than ${MAX_MANIFEST_BYTES} bytes`);
  const manifest = readSnapshotManifest(Buffer.concat(chunks).toString('utf8'), name, SCHEMA_VERSION);
  assertSnapshotOf(manifest, identity, name);
  return manifest;
}
