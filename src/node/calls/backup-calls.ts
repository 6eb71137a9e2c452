import { resolve as resolvePath } from 'node:path';
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
  /** Runs a job to its end on a thread. After an abort it resolves to null at once, and the job ends with its next step. */
  const write = (job: BackupJob, signal: AbortSignal): Promise<BackupOutcome> => {
    const { promise, resolve, reject } = Promise.withResolvers<BackupOutcome>();
    const cancel = () => {
      Atomics.store(job.cancel, 0, 1);
      Atomics.notify(job.cancel, 0);
      // The reply must be sent before the node thread ends.
      resolve(null);
    };
    signal.addEventListener('abort', cancel, { once: true });
    const thread = backupThread();
    isRunning = true;
    keepsBlocks = job.request.withChain;
    const run = async () => {
      try {
        const outcome = await thread.runJob(job);
        if (outcome === null) log.info('a backup was interrupted', { path: job.request.target });
        return outcome;
      } finally {
        signal.removeEventListener('abort', cancel);
        // The reply of a complete backup allows the next one, which has a thread of its own.
        await thread.close();
        isRunning = false;
        keepsBlocks = false;
      }
    };
    run().then(resolve, reject);
    if (signal.aborted) cancel();
    return promise;
  };
  return {
    async backupNode({ target, withChain, mebibytesPerSecond }, signal) {
      if (isRunning) return { refused: 'misc', message: 'Another backup is being written: wait until it is complete' };
      const path = resolvePath(target);
      log.info('a backup begins', { path, chain: withChain });
      const request = backupRequestOf(config, params, { target: path, withChain });
      const cancel = new Int32Array(new SharedArrayBuffer(4));
      const outcome = await write({ request, bytesPerSecond: mebibytesPerSecond * MEBIBYTE, cancel }, signal);
      if (outcome === null)
        return { refused: 'misc', message: 'The backup was interrupted: the same call continues it' };
      if ('problem' in outcome) {
        log.error('a backup has failed', { path, reason: outcome.problem });
        return { refused: 'misc', message: outcome.problem };
      }
      log.info('a backup is complete', { ...outcome.report });
      return outcome.report;
    },
  };
}
