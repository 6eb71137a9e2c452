import type { Database } from 'bun:sqlite';
import { dirname } from 'node:path';
import { syncAgainAdvice } from './chain-folder.ts';
import { type ChainDatabaseIdentity, cacheSize, openDatabase, opened } from './database.ts';
import { EVENT_RANGES_SCHEMA, FILTER_SCHEMA, SCHEMA, SCHEMA_VERSION } from './schema.ts';

/** Opens chain.db for the one writer; makes it where there is none. Throws OperatorError on a database of another kind. */
export function openWriter(path: string, identity: ChainDatabaseIdentity, cacheMiB: number): Database {
  const kind = {
    schema: SCHEMA,
    version: SCHEMA_VERSION,
    // What a power cut takes back is made again from blocks; waiting for the disk with each commit is worth more.
    durable: false,
    pageSize: 8192,
    whenDamaged: (file: string) => syncAgainAdvice(dirname(file)),
    pragmas: [cacheSize(cacheMiB), 'wal_autocheckpoint = 20000', 'temp_store = MEMORY'],
  };
  return opened(openDatabase(path, kind, identity), (db) => void db.run(EVENT_RANGES_SCHEMA + FILTER_SCHEMA));
}
