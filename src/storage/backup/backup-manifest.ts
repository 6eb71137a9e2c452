import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../util/operator-error.ts';
import { checkedText, readCheckedText } from './checked-text.ts';

/** The file that ends a backup: without it no backup is complete. */
export const MANIFEST_FILE = 'backup.json';
const FORMAT = 1;
/** A manifest of the main network names some 20,000 files of blocks, undo data, filters and runs. */
const MAX_FILES = 1_000_000;

/** A file of a backup. */
export interface BackupFile {
  /** Relative to the directory of the backup, with `/`. */
  readonly path: string;
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
}

/** The content of a backup. */
export interface BackupManifest {
  readonly format: typeof FORMAT;
  /** Differs for each backup. */
  readonly id: string;
  /** The version that wrote it. */
  readonly version: string;
  readonly network: string;
  /** Hash of the genesis block, hex in display order. */
  readonly genesis: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The tip of the chain in the backup; null where it holds no chain. */
  readonly tip: { readonly height: number; readonly hash: string } | null;
  readonly files: readonly BackupFile[];
}

/** Returns the text of the manifest: its members, and a checksum over them. */
export function manifestText(manifest: BackupManifest): string {
  return checkedText(manifest);
}

/** Returns where an unfinished backup is written, which a rename completes. */
export function partOf(target: string): string {
  return `${target}.part`;
}

/** Reads the manifest of a backup. Throws OperatorError where the directory holds no complete one. */
export function readManifest(dir: string): BackupManifest {
  const path = join(dir, MANIFEST_FILE);
  if (!existsSync(path)) {
    if (dir.endsWith('.part') || existsSync(partOf(dir)))
      throw new OperatorError(
        `the backup ${dir} was not completed: write it to its end with obverse backup ${dir.replace(/\.part$/, '')}`,
      );
    throw new OperatorError(`${dir} holds no backup: it has no ${MANIFEST_FILE}`);
  }
  if (dir.endsWith('.part')) throw new OperatorError(`the backup ${dir} was not completed: run obverse backup again`);
  const damaged = (problem: string) => new OperatorError(`${path} is damaged: ${problem}; use another backup`);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw damaged(String(error));
  }
  const { content: manifest, problem } = readCheckedText<BackupManifest>(text);
  if (manifest === null) throw damaged(problem);
  if (manifest.format !== FORMAT)
    throw new OperatorError(`${path} has format ${manifest.format}; this version reads format ${FORMAT}`);
  if (problem !== null) throw damaged(problem);
  if (!Array.isArray(manifest.files) || manifest.files.length > MAX_FILES) throw damaged('its list of files is wrong');
  for (const file of manifest.files)
    if (!isRelative(file.path)) throw damaged(`it names the file ${JSON.stringify(file.path)}`);
  return manifest;
}

/** Whether a path stays within the directory. */
function isRelative(path: unknown): boolean {
  return typeof path === 'string' && path.split('/').every((name) => name !== '' && name !== '.' && name !== '..');
}
