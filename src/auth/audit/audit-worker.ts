import type { Database } from 'bun:sqlite';
import { closeDatabase } from '../../storage/database.ts';
import { serveRequests } from '../../util/worker-port.ts';
import { openAuthDatabase } from '../auth-database.ts';
import type { AuditAnswer, AuditDatabase, AuditRequest } from './audit-messages.ts';
import { AuditStore } from './audit-store.ts';

let database: AuditDatabase = { path: '', keep: 0 };
let open: { readonly db: Database; readonly store: AuditStore } | null = null;

serveRequests<AuditDatabase, AuditRequest, AuditAnswer>({
  open(options) {
    database = options;
  },
  answer(request) {
    const { store } = (open ??= opened(database.path));
    if (request.type === 'append') return { ids: store.append(request.rows, database.keep) };
    return { entries: store.page(request.filter, request.before, request.limit) };
  },
  close() {
    if (open) closeDatabase(open.db);
    open = null;
  },
});

function opened(path: string) {
  const db = openAuthDatabase(path);
  return { db, store: new AuditStore(db) };
}
