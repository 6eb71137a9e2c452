import { OperatorError } from '../util/operator-error.ts';
import { type LogSettings, processLog } from '../util/process-log.ts';
import { convertToRuns } from './convert-to-runs.ts';
import type { ChainDatabaseIdentity } from './database.ts';

/** A conversion that another thread carries out. */
export interface ConversionJob {
  readonly path: string;
  readonly identity: ChainDatabaseIdentity;
  readonly log: LogSettings;
  /** Not 0 if the program is to stop. */
  readonly stopping: Int32Array;
}

/** The reason for the operator why the conversion was refused or interrupted; null if it is complete. */
export type ConversionReply = string | null;

/** Converts a database as `convertToRuns` does. */
export function runConversion({ path, identity, log, stopping }: ConversionJob): ConversionReply {
  try {
    convertToRuns(path, identity, {
      log: processLog(log).category('storage'),
      isStopping: () => Atomics.load(stopping, 0) !== 0,
    });
    return null;
  } catch (error) {
    // The class of an error is lost between threads.
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
}
