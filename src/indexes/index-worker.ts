import { lowerThreadPriority } from '../util/nice.ts';
import { noteProgress } from '../util/progress.ts';
import { announceStart } from '../util/worker.ts';
import { type IndexJob, type IndexJobResult, runIndexJob } from './index-job.ts';

/** The result, or the message of the error. */
export type IndexReply = { readonly result: IndexJobResult } | { readonly error: string };

const INDEX_NICE = 10;

declare const self: Worker;

if (!Bun.isMainThread) {
  announceStart();
  // Validation and replies come first.
  lowerThreadPriority(INDEX_NICE);
  self.onmessage = ({ data: job }: MessageEvent<IndexJob>) => {
    let reply: IndexReply;
    try {
      reply = { result: runIndexJob(job, noteProgress) };
    } catch (error) {
      reply = { error: error instanceof Error ? error.message : String(error) };
    }
    self.postMessage(reply);
  };
}
