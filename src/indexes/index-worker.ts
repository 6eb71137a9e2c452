import { serveJobs } from '../util/job-thread.ts';
import { runIndexJob } from './index-job.ts';

/** Validation and replies come first. */
const INDEX_NICE = 10;

if (!Bun.isMainThread) serveJobs(INDEX_NICE, runIndexJob);
