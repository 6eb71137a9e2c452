import { lowerThreadPriority } from '../../util/nice.ts';
import { noteProgress } from '../../util/progress.ts';
import { announceStart } from '../../util/worker.ts';
import { type MergeJob, mergeRuns } from './merge-runs.ts';
import type { BuiltRun } from './run-builder.ts';

/** The result, or the message of the error. */
export type MergeReply = { readonly result: BuiltRun } | { readonly error: string };

const MERGE_NICE = 10;

declare const self: Worker;

if (!Bun.isMainThread) {
  announceStart();
  // Merges may take long and nothing waits for a single one.
  lowerThreadPriority(MERGE_NICE);
  self.onmessage = ({ data: job }: MessageEvent<MergeJob>) => {
    let reply: MergeReply;
    try {
      reply = { result: mergeRuns(job, noteProgress) };
    } catch (error) {
      reply = { error: error instanceof Error ? error.message : String(error) };
    }
    self.postMessage(reply);
  };
}
