import type { Database } from 'bun:sqlite';
import { closeDatabase } from '../../storage/database.ts';
import { announceStart } from '../../util/worker.ts';
import { openAuthDatabase } from '../auth-database.ts';
import type { FromAuditWorker, ToAuditWorker } from './audit-messages.ts';
import { AuditStore } from './audit-store.ts';

declare const self: Worker;

announceStart();

let path = '';
let keep = 0;
let open: { readonly db: Database; readonly store: AuditStore } | null = null;

self.onmessage = ({ data }: MessageEvent<ToAuditWorker>) => {
  if (data.type === 'open') {
    ({ path, keep } = data);
    return;
  }
  let answer: FromAuditWorker;
  try {
    answer = { id: data.id, error: null, ...done(data) };
  } catch (error) {
    answer = { id: data.id, error: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(answer);
};

function done(message: Exclude<ToAuditWorker, { type: 'open' }>): Omit<FromAuditWorker, 'id' | 'error'> {
  if (message.type === 'close') {
    if (open) closeDatabase(open.db);
    open = null;
    return {};
  }
  const { store } = (open ??= opened());
  if (message.type === 'append') return { ids: store.append(message.rows, keep) };
  return { entries: store.page(message.filter, message.before, message.limit) };
}

function opened() {
  const db = openAuthDatabase(path);
  return { db, store: new AuditStore(db) };
}
