import type { ReadSources } from './read-settings.ts';
import type { ReaderJob, ReaderResult } from './reader-jobs.ts';

/** What the pool says to a worker; `open` comes first and once. */
export type ToReader =
  | {
      readonly type: 'open';
      readonly chainDir: string;
      readonly networkDir: string;
      readonly sources: ReadSources;
      /** The id of the job that nobody waits for any more, or 0. */
      readonly cancelled: SharedArrayBuffer;
      /** The nice value of the thread. */
      readonly nice: number;
    }
  /** Past `maxMs` it is given up; null where it may take what it takes. */
  | { readonly type: 'job'; readonly id: number; readonly job: ReaderJob; readonly maxMs: number | null }
  | { readonly type: 'close' };

/** In place of a job's id: the connection is closed, the thread may go. */
export const READER_CLOSED = 0;

export interface FromReader {
  readonly id: number;
  /** null where the job was given up. */
  readonly result: ReaderResult | null;
  /** Why it could not be done at all; for the log. */
  readonly error: string | null;
  readonly tookTooLong?: boolean;
}
