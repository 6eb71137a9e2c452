import { serveJobs } from '../../util/job-thread.ts';
import { mergeRuns } from './merge-runs.ts';

/** Merges may take long and nothing waits for a single one. */
const MERGE_NICE = 10;

if (!Bun.isMainThread) serveJobs(MERGE_NICE, mergeRuns);
