import type { ReadSources } from './read-settings.ts';
import type { ReaderJob, ReaderResult } from './reader-jobs.ts';

/** The messages to a worker; `open` comes first and once. */
export type ToReader =
  | {
      readonly type: 'open';
      readonly chainDir: string;
      readonly sources: ReadSources;
      /** The id of the cancelled job, or 0. */
      readonly cancelled: SharedArrayBuffer;
      /** The nice value of the thread. */
      readonly nice: number;
    }
  /** The job is ended after `maxMs`; null for no limit. */
  | { readonly type: 'job'; readonly id: number; readonly job: ReaderJob; readonly maxMs: number | null }
  | { readonly type: 'close' };

/** In place of a job's id: the connection is closed, and the thread may be terminated. */
export const READER_CLOSED = 0;

export interface FromReader {
  readonly id: number;
  /** null where the job was ended early. */
  readonly result: ReaderResult | null;
  /** The internal error of the job, for the log. */
  readonly error: string | null;
  readonly tookTooLong?: boolean;
}
