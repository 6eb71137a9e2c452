import { readFileSync } from 'node:fs';
import { TestPeer } from './test-peer.ts';

declare const self: Worker;

/** Whom to watch. */
export interface WatchOrder {
  readonly pid: number;
  /** `/healthz` of the node. */
  readonly health: string;
  /** Where it takes peers. */
  readonly peers: string;
}

/** Milliseconds, and bytes. */
export interface Watched {
  readonly memory: number;
  readonly health: readonly number[];
  readonly pongs: readonly number[];
}

export type ToWatcher =
  | ({ readonly type: 'open' } & WatchOrder)
  | { readonly type: 'begin' }
  | { readonly type: 'end' };
export type FromWatcher = { readonly type: 'ready' } | ({ readonly type: 'watched' } & Watched) | FailedWatch;
interface FailedWatch {
  readonly type: 'failed';
  readonly reason: string;
}

const SAMPLE_MS = 3;

/** Bytes of memory that a process has. */
export function memoryOf(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))!;
  return Number(kilobytes) * 1024;
}

/** Asks for /healthz, and as a peer for a pong, again and again, until it is told to stop. */
async function watch({ pid, health }: WatchOrder, peer: TestPeer, over: () => boolean): Promise<Watched> {
  const watched = { memory: 0, health: [] as number[], pongs: [] as number[] };
  const pinging = (async () => {
    do {
      watched.pongs.push(await peer.settled());
      await Bun.sleep(SAMPLE_MS);
    } while (!over());
  })();
  do {
    const from = performance.now();
    const reply = await fetch(health);
    await reply.text();
    if (reply.status !== 200) throw new Error(`/healthz answered ${reply.status}`);
    watched.health.push(performance.now() - from);
    watched.memory = Math.max(watched.memory, memoryOf(pid));
    await Bun.sleep(SAMPLE_MS);
  } while (!over());
  await pinging;
  return watched;
}

// In a thread of its own: an attack keeps the test itself busy, and that would be measured with it.
if (!Bun.isMainThread) {
  let order: WatchOrder | null = null;
  let peer: TestPeer | null = null;
  let over = true;
  const tell = (message: FromWatcher) => self.postMessage(message);
  const failed = (error: unknown) => tell({ type: 'failed', reason: String(error) });
  self.onmessage = ({ data }: MessageEvent<ToWatcher>) => {
    if (data.type === 'open') {
      order = data;
      TestPeer.join(data.peers, { agent: '/watcher:1/' }).then((joined) => {
        peer = joined;
        tell({ type: 'ready' });
      }, failed);
    } else if (data.type === 'end') over = true;
    else {
      over = false;
      watch(order!, peer!, () => over).then((watched) => tell({ type: 'watched', ...watched }), failed);
    }
  };
}
