import { serveRequests } from '../util/worker-port.ts';
import { WatchStore } from './watch-store.ts';
import type { WatchDatabase, WatchWrite, WatchWritten } from './watch-worker-messages.ts';

let store: WatchStore | null = null;
let path = '';

serveRequests<WatchDatabase, string, string>({
  open(options) {
    path = options.path;
  },
  answer(write) {
    store ??= new WatchStore(path);
    return JSON.stringify(done(store, JSON.parse(write)));
  },
  close: () => store?.close(),
});

function done(to: WatchStore, write: WatchWrite): WatchWritten {
  if (write.type === 'put') return { put: to.upsert(write.owner, write.changes), removed: [] };
  if (write.ids !== null) return { put: [], removed: to.remove(write.owner, write.ids) };
  to.removeAll(write.owner);
  return { put: [], removed: [] };
}
