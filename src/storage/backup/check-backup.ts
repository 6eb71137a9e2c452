import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { BackupManifest } from './backup-manifest.ts';
import { type CopyStep, hashFile } from './copy-file.ts';

/** A file of a backup that is not as the manifest says. */
export interface BackupDamage {
  /** Relative to the directory of the backup. */
  readonly path: string;
  readonly problem: string;
}

/** Compares all files of a backup with its manifest, and yields after each chunk. */
export function* checkBackup(dir: string, { files }: BackupManifest): Generator<CopyStep, BackupDamage[]> {
  const damages: BackupDamage[] = [];
  for (const { path, bytes, sha256 } of files) {
    const full = join(dir, path);
    const found = statSync(full, { throwIfNoEntry: false });
    if (!found?.isFile()) damages.push({ path, problem: 'the file is missing' });
    else if (found.size !== bytes) damages.push({ path, problem: `it has ${found.size} bytes, not ${bytes}` });
    else if ((yield* hashFile(full)) !== sha256)
      damages.push({ path, problem: 'its content does not match its SHA-256' });
  }
  return damages;
}
