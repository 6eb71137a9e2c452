import { join } from 'node:path';
import { type Finding, Findings } from '../../chain/integrity/findings.ts';
import { type BackupManifest, readManifest } from '../../storage/backup/backup-manifest.ts';
import { checkBackup } from '../../storage/backup/check-backup.ts';
import type { CopyStep } from '../../storage/backup/copy-file.ts';
import { checkFile, checkStores, type StoreCounts } from '../integrity/check-stores.ts';
import { finishSteps } from './finish-steps.ts';

/** The result of a check of a backup. */
export interface BackupCheck {
  readonly manifest: BackupManifest;
  readonly findings: readonly Finding[];
  /** Number of all findings, of which only the first are listed. */
  readonly total: number;
  readonly stores: StoreCounts;
}

/** Checks the files of a backup, then its databases, and changes none. Throws OperatorError without a complete backup. */
export function runVerifyBackup(dir: string, signal: AbortSignal): Promise<BackupCheck | 'aborted'> {
  return finishSteps(verifyBackup(dir), signal);
}

function* verifyBackup(dir: string): Generator<CopyStep | undefined, BackupCheck> {
  const manifest = readManifest(dir);
  const findings = new Findings();
  for (const { path, problem } of yield* checkBackup(dir, manifest))
    findings.addFinding(join(dir, path), 'the file', problem);
  const stores = yield* checkStores({ networkDir: dir, walletDir: null, isBackup: true }, findings);
  const chain = join(dir, 'chain/chain.db');
  if (manifest.tip !== null) checkFile(chain, findings, () => {});
  return { manifest, findings: findings.list, total: findings.total, stores };
}
