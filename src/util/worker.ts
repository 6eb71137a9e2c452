import { workerData } from 'node:worker_threads';
import { hasDescriptors, isReserveWhole } from './descriptors.ts';
import { countProgress } from './progress.ts';
import { type ThreadKind, ThreadTable } from './thread-table.ts';

/** What a thread of the runtime opens for itself, and room for its first files. */
const DESCRIPTORS = 8;
const START_MS = 1000;

/** What a thread is given by the one that starts it. */
interface Birth {
  readonly started: Int32Array;
  readonly threads: SharedArrayBuffer;
  readonly slot: number;
}

/** There are no descriptors for another thread at this moment. */
export class NoRoomForThread extends Error {
  override readonly name = 'NoRoomForThread';
}

/** The threads of this process, itself not among them where it is the main one. */
export const threads = new ThreadTable(birth()?.threads);

/**
 * Starts a thread. The runtime ends the process where a thread finds no descriptors, so they are looked for first: throws
 * NoRoomForThread where there are none. The watchdog watches it, unless its kind is null: one that does a single thing.
 */
export function startWorker(url: URL, kind: ThreadKind | null): Worker {
  if (!hasDescriptors(DESCRIPTORS)) throw new NoRoomForThread('no descriptors are left for another thread');
  const started = new Int32Array(new SharedArrayBuffer(4));
  const slot = kind === null ? -1 : threads.claim(kind);
  const workerData: Birth = { started, threads: threads.shared, slot };
  const worker = new Worker(url.href, { workerData } as WorkerOptions);
  worker.addEventListener('close', () => threads.release(slot), { once: true });
  // Where they are scarce, this thread waits: its loop would give those that were found to the next connections.
  if (!isReserveWhole()) Atomics.wait(started, 0, 0, START_MS);
  return worker;
}

/** To be called by a thread that `startWorker` started, first of all. */
export function announceStart(): void {
  const given = birth();
  if (!given) return;
  Atomics.store(given.started, 0, 1);
  Atomics.notify(given.started, 0);
  if (given.slot >= 0) countProgress(threads.counter(given.slot));
}

function birth(): Birth | null {
  return typeof workerData === 'object' && workerData?.started instanceof Int32Array ? (workerData as Birth) : null;
}
