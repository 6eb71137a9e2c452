import { workerData } from 'node:worker_threads';
import { hasDescriptors, isReserveWhole } from './descriptors.ts';

/** What a thread of the runtime opens for itself, and room for its first files. */
const DESCRIPTORS = 8;
const START_MS = 1000;

/** There are no descriptors for another thread at this moment. */
export class NoRoomForThread extends Error {
  override readonly name = 'NoRoomForThread';
}

/**
 * Starts a thread. The runtime ends the process where a thread finds no descriptors, so they are looked for first: throws
 * NoRoomForThread where there are none.
 */
export function startWorker(url: URL): Worker {
  if (!hasDescriptors(DESCRIPTORS)) throw new NoRoomForThread('no descriptors are left for another thread');
  const started = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(url.href, { workerData: started } as WorkerOptions);
  // Where they are scarce, this thread waits: its loop would give those that were found to the next connections.
  if (!isReserveWhole()) Atomics.wait(started, 0, 0, START_MS);
  return worker;
}

/** To be called by a thread that `startWorker` started, first of all. */
export function announceStart(): void {
  if (!(workerData instanceof Int32Array)) return;
  Atomics.store(workerData, 0, 1);
  Atomics.notify(workerData, 0);
}
