import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { withDescriptors } from '../../util/descriptors.ts';
import type { ObjectSink } from '../../util/object-store.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import { readChainContent } from '../backup/chain-files.ts';
import { type CopyStep, hashFile, readFully } from '../backup/copy-file.ts';
import { keepOnly } from '../backup/part-folder.ts';
import { hasEarlierChainData } from '../chain-folder.ts';
import { SCHEMA_VERSION } from '../chain-schema.ts';
import { type ChainDatabaseIdentity, isOfChain, openReadOnly, readMeta, refuseNewer } from '../database.ts';
import type { SnapshotFile, SnapshotManifest } from './snapshot-manifest.ts';

const READER_CACHE_MIB = 4;

/** A part that is not in the staging folder yet. */
export interface MissingPart {
  readonly file: SnapshotFile;
  readonly sha256: string;
  readonly offset: number;
  readonly bytes: number;
}

/** Throws OperatorError where the directory of a network has chain data. */
export function assertNoChain(chainDir: string): void {
  const isFilled = lstatSync(chainDir, { throwIfNoEntry: false })?.isDirectory() && readdirSync(chainDir).length > 0;
  if (isFilled || hasEarlierChainData(chainDir))
    throw new OperatorError(`${dirname(chainDir)} already has chain data: name an empty data directory with --datadir`);
}

/** Removes an empty folder of the chain. Throws OperatorError where a rename cannot make the folder, such as at a link. */
function clearPlace(chainDir: string): void {
  if (lstatSync(chainDir, { throwIfNoEntry: false }) === undefined) return;
  try {
    rmdirSync(chainDir);
  } catch (error) {
    throw new OperatorError(
      `${chainDir} cannot be replaced by the snapshot (${(error as NodeJS.ErrnoException).code}): move it away, and make it a link or a mount point after the pull`,
    );
  }
}

/** The folder beside the chain in which a snapshot is collected until it is complete. */
export class SnapshotStaging {
  readonly #chainDir: string;
  readonly #folder: string;
  readonly #manifest: SnapshotManifest;
  /** Number of parts of each file that are missing. */
  readonly #missing = new Map<SnapshotFile, number>();

  /**
   * Opens the folder, also that of an interrupted pull, and removes files that the snapshot does not name. This process has
   * locked the directory of the network. Throws OperatorError where there is a chain.
   */
  constructor(chainDir: string, manifest: SnapshotManifest) {
    assertNoChain(chainDir);
    clearPlace(chainDir);
    this.#chainDir = chainDir;
    this.#folder = `${chainDir}.pull`;
    this.#manifest = manifest;
    mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    for (const { path } of manifest.files) mkdirSync(dirname(this.#pathOf(path)), { recursive: true, mode: 0o700 });
    keepOnly(this.#folder, new Set(manifest.files.map(({ path }) => path)));
  }

  /**
   * Reads the files that are there, compares their parts with the snapshot, and yields the bytes of each part. Completes the
   * files that have all parts. Returns the parts that are missing or differ.
   */
  *findMissing(): Generator<{ readonly bytes: number; readonly isThere: boolean }, MissingPart[]> {
    const found: MissingPart[] = [];
    const buffer = Buffer.alloc(this.#manifest.partBytes);
    for (const file of this.#manifest.files) {
      const before = found.length;
      const whole = new Bun.CryptoHasher('sha256');
      const fd = this.#openFile(file);
      try {
        for (const part of this.#partsOf(file)) {
          const bytes = buffer.subarray(0, part.bytes);
          const isThere = isPartThere(fd, part, bytes);
          if (isThere) whole.update(bytes);
          else found.push(part);
          yield { bytes: part.bytes, isThere };
        }
        if (found.length === before) this.#completeFile(fd, file, whole.digest('hex'));
      } finally {
        closeSync(fd);
      }
      this.#missing.set(file, found.length - before);
    }
    return found;
  }

  /** Throws OperatorError where the disk has no room for the missing parts and `reserveBytes` more. */
  assertRoom(missing: readonly MissingPart[], reserveBytes: number): void {
    const needed = missing.reduce((sum, { bytes }) => sum + bytes, 0);
    const { bavail, bsize } = statfsSync(this.#folder);
    if (bavail * bsize >= needed + reserveBytes) return;
    const mebibytes = (bytes: number) => Math.ceil(bytes / 2 ** 20);
    throw new OperatorError(
      `${this.#folder} has no room for the snapshot: ${Math.floor((bavail * bsize) / 2 ** 20)} MiB are free, and ${mebibytes(needed)} MiB and ${mebibytes(reserveBytes)} MiB in reserve (ready.disk.fail) are needed`,
    );
  }

  /** Returns a sink that writes a part to its place and compares it with its hash. `close` ends it. */
  partSink(part: MissingPart): ObjectSink & { close(): void } {
    const fd = this.#openFile(part.file);
    let hasher = new Bun.CryptoHasher('sha256');
    let written = 0;
    return {
      start() {
        hasher = new Bun.CryptoHasher('sha256');
        written = 0;
      },
      write(bytes) {
        if (written + bytes.length > part.bytes) return false;
        hasher.update(bytes);
        for (let done = 0; done < bytes.length; )
          done += writeSync(fd, bytes, done, bytes.length - done, part.offset + written + done);
        written += bytes.length;
        return true;
      },
      finish: () => written === part.bytes && hasher.digest('hex') === part.sha256,
      close: () => closeSync(fd),
    };
  }

  /** Notes that a part is there. Returns whether its file has all parts now. */
  notePart({ file }: MissingPart): boolean {
    const left = this.#missing.get(file)! - 1;
    this.#missing.set(file, left);
    return left === 0;
  }

  /** Reads a file whose missing parts have arrived, and completes it. Throws OperatorError where the snapshot is damaged. */
  *finishFile(file: SnapshotFile): Generator<CopyStep, void> {
    const fd = this.#openFile(file);
    try {
      if (fstatSync(fd).size > file.bytes) ftruncateSync(fd, file.bytes);
      this.#completeFile(fd, file, yield* hashFile(this.#pathOf(file.path)));
    } finally {
      closeSync(fd);
    }
  }

  /** The length and the SHA-256 of the file are those of the snapshot from here on, and it is durable. */
  #completeFile(fd: number, { path, bytes, sha256 }: SnapshotFile, digest: string): void {
    if (digest !== sha256)
      throw new OperatorError(
        `${this.#pathOf(path)} does not match the SHA-256 of the snapshot, and its parts do: the snapshot is damaged; push it again`,
      );
    if (fstatSync(fd).size > bytes) ftruncateSync(fd, bytes);
    fsyncSync(fd);
  }

  /** Makes the complete folder that of the chain. Throws OperatorError where chain.db needs other files than there are. */
  publish(identity: ChainDatabaseIdentity): void {
    this.#checkContent(identity);
    const folders = new Set(this.#manifest.files.map(({ path }) => dirname(this.#pathOf(path))));
    for (const folder of folders) syncDirectory(folder);
    syncDirectory(this.#folder);
    renameSync(this.#folder, this.#chainDir);
    syncDirectory(dirname(this.#chainDir));
  }

  #checkContent(identity: ChainDatabaseIdentity): void {
    const path = this.#pathOf('chain.db');
    const damaged = (what: string) => new OperatorError(`the snapshot is damaged: ${what}; push it again`);
    const db = openReadOnly(path, READER_CACHE_MIB);
    try {
      const meta = readMeta(db);
      refuseNewer(path, Number(meta.get('schema')), SCHEMA_VERSION);
      if (!isOfChain(meta, identity)) throw damaged(`chain.db belongs to the network ${meta.get('network')}`);
      const { height, hash, runs, records } = readChainContent(db, this.#folder);
      const { tip } = this.#manifest;
      if (height !== tip.height || hash !== tip.hash) throw damaged(`chain.db has the tip ${hash} at height ${height}`);
      for (const { path: needed, bytes } of [...runs.map((name) => ({ path: `runs/${name}`, bytes: 1 })), ...records]) {
        const size = statSync(this.#pathOf(needed), { throwIfNoEntry: false })?.size ?? 0;
        if (size < bytes) throw damaged(`chain.db needs ${bytes} bytes of ${needed}, and it has ${size}`);
      }
    } finally {
      db.close();
    }
  }

  *#partsOf(file: SnapshotFile): Generator<MissingPart> {
    const { partBytes } = this.#manifest;
    for (const [i, sha256] of file.parts.entries()) {
      const offset = i * partBytes;
      yield { file, sha256, offset, bytes: Math.min(partBytes, file.bytes - offset) };
    }
  }

  #openFile({ path }: SnapshotFile): number {
    return withDescriptors(() =>
      openSync(this.#pathOf(path), constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600),
    );
  }

  #pathOf(path: string): string {
    return join(this.#folder, path);
  }
}

/** Reads a part into `bytes`, which has its length, and compares it with its hash. */
function isPartThere(fd: number, { offset, sha256 }: MissingPart, bytes: Buffer<ArrayBuffer>): boolean {
  return readFully(fd, bytes, offset) && new Bun.CryptoHasher('sha256').update(bytes).digest('hex') === sha256;
}
