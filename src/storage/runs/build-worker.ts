import { serveJobs } from '../../util/job-thread.ts';
import { buildRuns } from './build-runs.ts';

/** As the node thread, which waits for these runs. */
const BUILD_NICE = 10;

if (!Bun.isMainThread) serveJobs(BUILD_NICE, buildRuns);
