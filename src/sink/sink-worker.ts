import { ChainReads } from '../storage/chain-reads.ts';
import { hostClock } from '../util/clock.ts';
import { yieldToReplies } from '../util/serving.ts';
import { announceStart } from '../util/worker.ts';
import { rowsThread } from './rows-thread.ts';
import { SinkDatabase } from './sink-database.ts';
import { SinkFollower } from './sink-follower.ts';
import type { FromSink, SinkOpening, ToSink } from './sink-worker-messages.ts';

declare const self: Worker;

/** Validation and replies come first. */
const SINK_NICE = 10;

const ending = new AbortController();
let follower: SinkFollower | null = null;
let running: Promise<void> = Promise.resolve();

async function follow(opening: SinkOpening): Promise<void> {
  const { chainDir, url, network, halvingInterval, leader } = opening;
  const reads = new ChainReads(chainDir, { isFrequent: true });
  const database = new SinkDatabase(url, { network, leader });
  const rows = rowsThread();
  follower = new SinkFollower({
    ...{ reads, database, halvingInterval, clock: hostClock },
    readBatch: (request) => rows.runJob({ ...request, chainDir }),
    onStatus: (status) => self.postMessage({ type: 'status', status } satisfies FromSink),
  });
  try {
    await follower.run(ending.signal);
  } finally {
    await rows.close();
    await database.close().catch(() => {});
    reads.close();
  }
}

async function receive(message: ToSink): Promise<void> {
  if (message.type === 'open') running = follow(message);
  else if (message.type === 'synced') follower?.endInitialSync();
  else {
    ending.abort(new Error('the node stops'));
    await running.catch(() => {});
    self.postMessage({ type: 'closed' } satisfies FromSink);
  }
}

if (!Bun.isMainThread) {
  announceStart();
  yieldToReplies(SINK_NICE);
  self.onmessage = ({ data }: MessageEvent<ToSink>) => void receive(data);
}
