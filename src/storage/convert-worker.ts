import { serveJobs } from '../util/job-thread.ts';
import { runConversion } from './conversion-job.ts';

/** Nothing else runs meanwhile. */
const CONVERSION_NICE = 0;

if (!Bun.isMainThread) serveJobs(CONVERSION_NICE, runConversion);
