import { ChainReads } from '../storage/chain-reads.ts';
import { hostClock } from '../util/clock.ts';
import { yieldToReplies } from '../util/serving.ts';
import { announceStart } from '../util/worker.ts';
import { MempoolWriter } from './mempool-writer.ts';
import { rowsThread } from './rows-thread.ts';
import { SinkDatabase } from './sink-database.ts';
import { SinkFollower } from './sink-follower.ts';
import type { FromSink, SinkOpening, ToSink } from './sink-worker-messages.ts';

declare const self: Worker;

/** Validation and replies come first. */
const SINK_NICE = 10;

const ending = new AbortController();
let follower: SinkFollower | null = null;
let mempool: MempoolWriter | null = null;
let running: Promise<void> = Promise.resolve();

const send = (message: FromSink): void => self.postMessage(message);

async function follow(opening: SinkOpening): Promise<void> {
  const { chainDir, url, network, halvingInterval, leader, mempoolEvents } = opening;
  const reads = new ChainReads(chainDir, { isFrequent: true });
  const database = new SinkDatabase(url, { network, leader, mempoolEvents });
  const rows = rowsThread();
  if (mempoolEvents > 0)
    mempool = new MempoolWriter({
      ...{ reads, database, clock: hostClock },
      onOpen: (isOpen) => send({ type: 'mempool', isOpen }),
      onReleased: (bytes) => send({ type: 'released', bytes }),
    });
  follower = new SinkFollower({
    ...{ reads, database, mempool, halvingInterval, clock: hostClock },
    readBatch: (request) => rows.runJob({ ...request, chainDir }),
    onStatus: (status) => send({ type: 'status', status }),
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
  else if (message.type === 'mempool') mempool?.addBatch(message.batch);
  else {
    ending.abort(new Error('the node stops'));
    await running.catch(() => {});
    send({ type: 'closed' });
  }
}

if (!Bun.isMainThread) {
  announceStart();
  yieldToReplies(SINK_NICE);
  self.onmessage = ({ data }: MessageEvent<ToSink>) => void receive(data);
}
