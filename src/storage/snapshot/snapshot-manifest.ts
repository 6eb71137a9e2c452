import { OperatorError } from '../../util/operator-error.ts';
import type { BackupFile } from '../backup/backup-manifest.ts';
import { checkedText, readCheckedText } from '../backup/checked-text.ts';
import type { ChainDatabaseIdentity } from '../database.ts';

const FORMAT = 1;
/** The object that names the newest snapshot of a place. It is written last. */
export const NEWEST_MANIFEST = 'manifest.json';
/** The manifest of the main network has some 20,000 files and 50,000 parts, in 8 MB. */
export const MAX_MANIFEST_BYTES = 64 << 20;
/** Bytes of a part of a file, which is one object: a part is in memory while it is sent. */
export const PART_BYTES = 16 << 20;
const LEAST_PART_BYTES = 1 << 10;
const MOST_PART_BYTES = 64 << 20;
const MAX_FILES = 1_000_000;
const MAX_FILE_BYTES = 2 ** 42;
/** The paths of the files that a chain has, relative to its folder. No other path is pushed or pulled. */
const CHAIN_PATH =
  /^(?:chain\.db|runs\/[a-z]{1,20}-\d{8,12}\.run|blocks\/(?:blk|rev)\d{5,9}\.dat|filters\/flt\d{5,9}\.dat)$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** A file of a snapshot; its path is relative to the folder of the chain. */
export interface SnapshotFile extends BackupFile {
  /** SHA-256 of each part in order, hex. All but the last one have `partBytes`. */
  readonly parts: readonly string[];
}

/** The content of a snapshot: files of a chain, and nothing else. */
export interface SnapshotManifest {
  readonly format: typeof FORMAT;
  /** The version that wrote it. */
  readonly version: string;
  readonly network: string;
  /** Hash of the genesis block, hex in display order. */
  readonly genesis: string;
  /** Schema of chain.db. */
  readonly schema: number;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly tip: { readonly height: number; readonly hash: string };
  readonly partBytes: number;
  readonly files: readonly SnapshotFile[];
}

/** A manifest cannot be read; a push replaces it. */
export class DamagedManifest extends OperatorError {
  constructor(name: string, problem: string) {
    super(`${name} is damaged: ${problem}; push the snapshot again`);
  }
}

/** Returns the name of the object that keeps the manifest of a height. */
export function manifestAt(height: number): string {
  return `manifest-${height}.json`;
}

/** Returns the name of the object with the part of this hash. */
export function partObject(sha256: string): string {
  return `files/${sha256}`;
}

/** Returns the text of a manifest. */
export function snapshotText(manifest: SnapshotManifest): string {
  return checkedText(manifest);
}

/**
 * Reads a manifest; `name` is its place, for errors. Throws DamagedManifest where it is damaged or names files that a chain
 * does not have, and OperatorError where it has another format or a newer schema.
 */
export function readSnapshotManifest(text: string, name: string, newestSchema: number): SnapshotManifest {
  const damaged = (what: string) => new DamagedManifest(name, what);
  const { content: manifest, problem } = readCheckedText<SnapshotManifest>(text);
  if (manifest === null) throw damaged(problem);
  const { format, schema, version } = manifest;
  if (format !== FORMAT)
    throw new OperatorError(`${name} has format ${shown(format)}; this version reads format ${FORMAT}`);
  if (problem !== null) throw damaged(problem);
  if (!Number.isSafeInteger(schema) || schema > newestSchema)
    throw new OperatorError(
      `${name} has schema ${shown(schema)}, made by version ${shown(version)}; this version reads up to ${newestSchema}: run the newer one`,
    );
  const content = contentProblem(manifest);
  if (content !== null) throw damaged(content);
  return manifest;
}

/** Throws OperatorError where a manifest is one of another chain. */
export function assertSnapshotOf(
  { network, genesis }: SnapshotManifest,
  identity: ChainDatabaseIdentity,
  name: string,
): void {
  if (network !== identity.network)
    throw new OperatorError(
      `${name} is a snapshot of the network ${shown(network)}, and the settings name ${identity.network}`,
    );
  if (genesis !== identity.genesisHash)
    throw new OperatorError(
      `${name} is a snapshot of a chain with the genesis block ${shown(genesis)}, not ${identity.genesisHash}`,
    );
}

/** The values of a manifest are those of another machine, and must not rewrite the terminal. */
function shown(value: unknown): string {
  return /^[\w.+-]{1,64}$/.test(String(value)) ? String(value) : 'that cannot be shown';
}

function contentProblem({ tip, partBytes, files }: SnapshotManifest): string | null {
  if (!isWhole(tip?.height, MAX_FILES * 1000) || !SHA256.test(tip.hash)) return 'its tip is wrong';
  if (!isWhole(partBytes, MOST_PART_BYTES) || partBytes < LEAST_PART_BYTES) return 'the size of its parts is wrong';
  if (!Array.isArray(files) || files.length > MAX_FILES) return 'its list of files is wrong';
  const paths = new Set<string>();
  for (const file of files) {
    const path: unknown = file?.path;
    if (typeof path !== 'string' || !CHAIN_PATH.test(path) || paths.has(path))
      return `it names the file ${JSON.stringify(path)?.slice(0, 100)}`;
    paths.add(path);
    const { bytes, sha256, parts } = file;
    if (!isWhole(bytes, MAX_FILE_BYTES)) return `the size of ${path} is wrong`;
    if (!Array.isArray(parts) || parts.length !== Math.ceil(bytes / partBytes)) return `the parts of ${path} are wrong`;
    if (![sha256, ...parts].every((hash) => typeof hash === 'string' && SHA256.test(hash)))
      return `a hash of ${path} is wrong`;
  }
  return paths.has('chain.db') ? null : 'it has no chain.db';
}

function isWhole(value: unknown, most: number): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;
}
