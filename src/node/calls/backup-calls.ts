import { resolve } from 'node:path';
import type { Chain } from '../../chain/chain.ts';
import type { Config } from '../../config/settings.ts';
import type { NetworkParams } from '../../params/network-params.ts';
import type { BackupCalls, CallTable } from '../../port/node-calls.ts';
import type { Log } from '../../util/log.ts';
import { backupRequestOf } from '../backup/backup-request.ts';
import { backupThread } from '../backup/backup-thread.ts';
import type { BackupJob, BackupOutcome } from '../backup/backup-worker.ts';

interface BackupDeps {
  readonly config: Config;
  readonly params: NetworkParams;
  readonly chain: Chain;
  readonly log: Log;
}

const MEBIBYTE = 1024 * 1024;

/** Returns the call that writes a backup. It runs on a thread of its own, and one backup is written at a time. */
export function backupCalls({ config, params, chain, log }: BackupDeps): CallTable<BackupCalls> {
  let isRunning = false;
  let keepsBlocks = false;
  // A pruned file is cut to nothing, also for those who have it open.
  chain.pruner?.addLock('backup', () => (keepsBlocks ? 0 : null));
  const write = async (job: BackupJob, signal: AbortSignal): Promise<BackupOutcome> => {
    const thread = backupThread();
    const cancel = () => {
      Atomics.store(job.cancel, 0, 1);
      Atomics.notify(job.cancel, 0);
    };
    signal.addEventListener('abort', cancel, { once: true });
    try {
      return signal.aborted ? null : await thread.runJob(job);
    } finally {
      signal.removeEventListener('abort', cancel);
      thread.close();
    }
  };
  return {
    async backupNode({ target, withChain, mebibytesPerSecond }, signal) {
      if (isRunning) return { refused: 'misc', message: 'Another backup is being written: wait until it is complete' };
      isRunning = true;
      keepsBlocks = withChain;
      const path = resolve(target);
      log.info('a backup begins', { path, chain: withChain });
      try {
        const request = backupRequestOf(config, params, { target: path, withChain });
        const cancel = new Int32Array(new SharedArrayBuffer(4));
        const outcome = await write({ request, bytesPerSecond: mebibytesPerSecond * MEBIBYTE, cancel }, signal);
        if (outcome === null) {
          log.info('a backup was interrupted', { path });
          return { refused: 'misc', message: 'The backup was interrupted: the same call continues it' };
        }
        if ('problem' in outcome) {
          log.error('a backup has failed', { path, reason: outcome.problem });
          return { refused: 'misc', message: outcome.problem };
        }
        log.info('a backup is complete', { ...outcome.report });
        return outcome.report;
      } finally {
        isRunning = false;
        keepsBlocks = false;
      }
    },
  };
}
