import { serveJobs } from '../util/job-thread.ts';
import { runCoinStatsTask } from './coin-stats-job.ts';

/** Validation and replies come first. */
const COIN_STATS_NICE = 10;

if (!Bun.isMainThread) serveJobs(COIN_STATS_NICE, runCoinStatsTask);
