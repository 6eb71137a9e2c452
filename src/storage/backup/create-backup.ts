import { closeSync, existsSync, mkdirSync, openSync, renameSync, statfsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { withDescriptors } from '../../util/descriptors.ts';
import { OperatorError } from '../../util/operator-error.ts';
import { syncDirectory } from '../../util/sync-directory.ts';
import type { ChainDatabaseIdentity } from '../database.ts';
import { WALLET_FOLDER, walletFilesOf } from '../wallet-folder.ts';
import { type BackupFile, type BackupManifest, MANIFEST_FILE, manifestText } from './backup-manifest.ts';
import { HeldRuns } from './chain-files.ts';
import { copyChainDatabase, copyDatabase } from './copy-database.ts';
import { type CopyStep, copyBytes, hashFile } from './copy-file.ts';
import { assertTargetFree, keepOnly, openPart, readSmallFile, writeSmallFile } from './part-folder.ts';

/** The source of a backup, and where it is written. */
export interface BackupRequest {
  readonly networkDir: string;
  readonly chainDir: string;
  /** Directory that the operator has named for the wallets; null for the folder in that of the network. */
  readonly walletDir: string | null;
  /** Absolute path of the backup. */
  readonly target: string;
  readonly withChain: boolean;
  /** The file of settings; null without one. */
  readonly settingsFile: string | null;
  readonly identity: ChainDatabaseIdentity;
  readonly version: string;
  /** Bytes that must stay free where the node writes to the same file system. */
  readonly reserveBytes: number;
  /** Files that are not copied, for the report. */
  readonly omitted: readonly OmittedFile[];
}

/** A file outside of the data directory that a setting names. */
export interface OmittedFile {
  readonly setting: string;
  /** Absolute path. */
  readonly path: string;
}

/** A backup that is complete. */
export interface BackupReport {
  readonly path: string;
  /** The tip of the chain in it; null where it holds no chain. */
  readonly tip: BackupManifest['tip'];
  readonly files: number;
  readonly bytes: number;
  /** Bytes that this call has written; the others were there from an interrupted one. */
  readonly written: number;
  /** Files that settings name and that are not part of it. */
  readonly omitted: readonly OmittedFile[];
}

/**
 * The databases beside the chain, in the order in which they are copied. Positions of webhooks come before the event log,
 * so that none is ahead of it. A wallet may stand on a later block than the chain, and goes back to the last common one.
 */
const DATABASES = ['webhooks.db', 'watches.db', 'auth.db'] as const;
/** Copied after the wallets, since it has the names of all of them, and the highest event number. */
const NODE_DATABASE = 'node.db';
const SMALL_FILES = ['wallet-mac.key', 'initial.key'] as const;
/** The file of settings within a backup. */
export const SETTINGS_FILE = 'settings.toml';
/** Bytes that are written between two checks of the free space. */
const SPACE_EVERY = 16 << 20;

/**
 * Writes a backup, and yields after each chunk. Each database is copied in one transaction of its own. The backup has a
 * temporary name until it is complete; an interrupted one is continued by the next call with the same target. Throws
 * OperatorError where the target cannot be used or has no room.
 */
export function* createBackup(request: BackupRequest): Generator<CopyStep, BackupReport> {
  return yield* new BackupWriter(request).writeBackup();
}

class BackupWriter {
  readonly #request: BackupRequest;
  readonly #part: string;
  readonly #files: BackupFile[] = [];
  /** Whether the node writes to the same file system. */
  readonly #isShared: boolean;
  #written = 0;
  /** Bytes that may be written until the free space is checked again. */
  #allowance = 0;

  constructor(request: BackupRequest) {
    const { networkDir, identity, target } = request;
    this.#request = request;
    assertTargetFree(target);
    this.#part = openPart(target, JSON.stringify({ ...identity, networkDir }));
    this.#isShared = statSync(this.#part).dev === statSync(networkDir).dev;
  }

  *writeBackup(): Generator<CopyStep, BackupReport> {
    const { networkDir, chainDir, target, withChain, settingsFile, identity, version, omitted } = this.#request;
    for (const name of DATABASES) yield* this.#copyDatabase(join(networkDir, name), name);
    const onProblem = (path: string, error: unknown): never => {
      throw new OperatorError(
        `${path}: ${error instanceof Error ? error.message : error}: wallets there cannot be copied`,
      );
    };
    for (const { path, inBackup } of walletFilesOf({ ...this.#request, onProblem }))
      yield* this.#copyDatabase(path, inBackup);
    yield* this.#copyDatabase(join(networkDir, NODE_DATABASE), NODE_DATABASE);
    for (const name of SMALL_FILES) yield* this.#copySmallFile(join(networkDir, name), name);
    const walletDir = this.#request.walletDir ?? join(networkDir, WALLET_FOLDER);
    yield* this.#copySmallFile(join(walletDir, 'startup.json'), `${WALLET_FOLDER}/startup.json`);
    if (settingsFile !== null) yield* this.#copySmallFile(settingsFile, SETTINGS_FILE);
    const tip = withChain ? yield* this.#copyChain(chainDir) : null;

    keepOnly(this.#part, new Set(this.#files.map(({ path }) => path)));
    const bytes = this.#files.reduce((sum, file) => sum + file.bytes, 0);
    const manifest: BackupManifest = {
      format: 1,
      id: crypto.randomUUID(),
      version,
      network: identity.network,
      genesis: identity.genesisHash,
      createdAt: Math.floor(Date.now() / 1000),
      tip,
      files: this.#files,
    };
    writeSmallFile(join(this.#part, MANIFEST_FILE), Buffer.from(manifestText(manifest)));
    syncDirectory(this.#part);
    renameSync(this.#part, target);
    syncDirectory(dirname(target));
    return { path: target, tip, files: this.#files.length, bytes, written: this.#written, omitted };
  }

  /** Copies a database that other connections may use meanwhile; nothing where it does not exist. */
  *#copyDatabase(from: string, path: string): Generator<CopyStep> {
    // A wallet can be removed after the folder was read.
    if (!existsSync(from)) return;
    this.#copyInto(from, path);
    yield* this.#addWritten(path);
  }

  #copyInto(from: string, path: string): void {
    this.#assertRoom(statSync(from).size);
    const to = join(this.#part, path);
    copyDatabase(from, to);
    this.#written += statSync(to).size;
  }

  *#copySmallFile(from: string, path: string): Generator<CopyStep> {
    const bytes = readSmallFile(from);
    if (bytes === null) return;
    const to = join(this.#part, path);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    writeSmallFile(to, bytes);
    this.#written += bytes.length;
    yield* this.#addWritten(path);
  }

  *#addWritten(path: string): Generator<CopyStep> {
    const full = join(this.#part, path);
    this.#files.push({ path, bytes: statSync(full).size, sha256: yield* hashFile(full) });
  }

  /** Copies chain.db first: the files that its copy refers to are immutable, or only grow behind what it refers to. */
  *#copyChain(chainDir: string): Generator<CopyStep, NonNullable<BackupManifest['tip']>> {
    using held = new HeldRuns(chainDir);
    const path = 'chain/chain.db';
    const content = copyChainDatabase(chainDir, join(this.#part, path), held, (from) => this.#copyInto(from, path));
    yield* this.#addWritten(path);
    for (const name of content.runs) {
      const { fd, bytes } = held.find(name)!;
      yield* this.#copyOpenFile(fd, bytes, `chain/runs/${name}`);
    }
    for (const { path, bytes } of content.records) {
      const fd = withDescriptors(() => openSync(join(chainDir, path), 'r'));
      try {
        yield* this.#copyOpenFile(fd, bytes, `chain/${path}`);
      } finally {
        closeSync(fd);
      }
    }
    return { height: content.height, hash: content.hash };
  }

  *#copyOpenFile(fd: number, bytes: number, path: string): Generator<CopyStep> {
    const to = join(this.#part, path);
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    const sha256 = yield* copyBytes(fd, bytes, to, (count) => {
      if (count > this.#allowance) this.#assertRoom(SPACE_EVERY);
      this.#allowance = (count > this.#allowance ? SPACE_EVERY : this.#allowance) - count;
      this.#written += count;
    });
    this.#files.push({ path, bytes, sha256 });
  }

  /** The node must not run out of space because of its backup. On another file system the copy itself finds the end. */
  #assertRoom(bytes: number): void {
    if (!this.#isShared) return;
    const { bavail, bsize } = statfsSync(this.#part);
    const { target, reserveBytes } = this.#request;
    if (bavail * bsize >= bytes + reserveBytes) return;
    const free = Math.floor((bavail * bsize) / 2 ** 20);
    throw new OperatorError(
      `the backup ${target} stopped: ${free} MiB are free, and the node needs ${Math.ceil(reserveBytes / 2 ** 20)} MiB (ready.disk.fail) of the same file system: free some space and run the same command again, or name a directory on another disk`,
    );
  }
}
