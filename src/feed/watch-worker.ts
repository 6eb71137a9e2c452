import { announceStart } from '../util/worker.ts';
import { WatchStore } from './watch-store.ts';
import {
  type FromWatchWorker,
  type ToWatchWorker,
  WATCH_WORKER_CLOSED,
  type WatchWrite,
  type WatchWritten,
} from './watch-worker-messages.ts';

declare const self: Worker;

announceStart();

let store: WatchStore | null = null;
let path = '';

self.onmessage = ({ data }: MessageEvent<ToWatchWorker>) => {
  if (data.type === 'open') {
    path = data.path;
    return;
  }
  if (data.type === 'close') {
    store?.close();
    self.postMessage({ id: WATCH_WORKER_CLOSED, written: null, error: null } satisfies FromWatchWorker);
    return;
  }
  let answer: FromWatchWorker;
  try {
    store ??= new WatchStore(path);
    answer = { id: data.id, written: JSON.stringify(done(store, JSON.parse(data.write))), error: null };
  } catch (error) {
    answer = { id: data.id, written: null, error: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(answer);
};

function done(to: WatchStore, write: WatchWrite): WatchWritten {
  if (write.type === 'put') return { put: to.upsert(write.owner, write.changes), removed: [] };
  if (write.ids !== null) return { put: [], removed: to.remove(write.owner, write.ids) };
  to.removeAll(write.owner);
  return { put: [], removed: [] };
}
