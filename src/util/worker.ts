import { workerData } from 'node:worker_threads';
import { AcceptHold } from './accept-hold.ts';
import { areDescriptorsScarce, hasDescriptors } from './descriptors.ts';
import { countProgress } from './progress.ts';
import { type ThreadKind, ThreadTable } from './thread-table.ts';

/** Descriptors that the runtime opens for a new thread, plus some for its first files. */
const DESCRIPTORS = 8;
const START_MS = 1000;
const NO_ROOM = 'not enough descriptors for another thread';

/** Data that a thread receives from the one that starts it. */
interface StartData {
  readonly started: Int32Array;
  readonly threads: SharedArrayBuffer;
  readonly serving: Int32Array;
  readonly accepting: SharedArrayBuffer;
  readonly slot: number;
}

/** Thrown if there are not enough descriptors for another thread. */
export class NoRoomForThread extends Error {
  override readonly name = 'NoRoomForThread';
}

/** The threads of this process; the main thread is not among them. */
export const threads = new ThreadTable(startData()?.threads);

/** The slots of the threads that this thread has started. */
const claimed = new Set<number>();

/**
 * Removes the threads that this thread has started from the watchdog's table. A thread calls it before it ends, since it
 * receives no event of theirs afterwards, and a slot that stays would count as a thread that hangs.
 */
export function releaseStartedThreads(): void {
  for (const slot of claimed) threads.release(slot);
  claimed.clear();
}

/** One item: 1 once clients are served. All threads of the process share it; see `serving.ts`. */
export const serving = startData()?.serving ?? new Int32Array(new SharedArrayBuffer(4));

/** Stops all threads of the process from accepting connections while a thread starts and descriptors are scarce. */
export const acceptHold = new AcceptHold(startData()?.accepting);

/**
 * Starts a thread and adds it to the watchdog's table, unless its kind is null: for one that runs a single task. Throws
 * NoRoomForThread if there are not enough descriptors, since the runtime ends the process when a new thread finds none.
 */
export function startWorker(url: URL, kind: ThreadKind | null): Worker {
  // Before the other threads are held: they close connections when descriptors are scarce.
  if (!hasDescriptors(DESCRIPTORS)) throw new NoRoomForThread(NO_ROOM);
  if (!areDescriptorsScarce()) return startThread(url, kind);
  return acceptHold.whileHeld(() => {
    if (!hasDescriptors(DESCRIPTORS, 0)) throw new NoRoomForThread(NO_ROOM);
    return startThread(url, kind, START_MS);
  });
}

/** Starts a thread, and waits up to `waitMs` for the start of its code. */
function startThread(url: URL, kind: ThreadKind | null, waitMs = 0): Worker {
  const started = new Int32Array(new SharedArrayBuffer(4));
  const slot = kind === null ? -1 : threads.claim(kind);
  if (slot >= 0) claimed.add(slot);
  const workerData: StartData = { started, threads: threads.shared, serving, accepting: acceptHold.shared, slot };
  const worker = new Worker(url.href, { workerData } as WorkerOptions);
  worker.addEventListener('close', () => claimed.delete(slot) && threads.release(slot), { once: true });
  if (waitMs > 0) Atomics.wait(started, 0, 0, waitMs);
  return worker;
}

/** Must be called first by a thread that `startWorker` started. */
export function announceStart(): void {
  const data = startData();
  if (!data) return;
  Atomics.store(data.started, 0, 1);
  Atomics.notify(data.started, 0);
  if (data.slot >= 0) countProgress(threads.counter(data.slot));
}

function startData(): StartData | null {
  return typeof workerData === 'object' && workerData?.started instanceof Int32Array ? (workerData as StartData) : null;
}
