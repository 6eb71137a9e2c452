import { ChainReads } from '../storage/chain-reads.ts';
import { serveJobs } from '../util/job-thread.ts';
import { BatchReader, type BatchReply, type RowsJob } from './block-batch.ts';

/** Validation and replies come first. */
const ROWS_NICE = 10;

let reader: BatchReader | null = null;

function runJob({ chainDir, ...request }: RowsJob, onProgress: () => void): BatchReply {
  reader ??= new BatchReader(new ChainReads(chainDir));
  return reader.readBatch(request, onProgress);
}

if (!Bun.isMainThread)
  serveJobs(ROWS_NICE, runJob, (reply) =>
    reply !== null && 'tables' in reply ? Object.values(reply.tables).map(({ buffer }) => buffer) : [],
  );
