import type { Database } from 'bun:sqlite';
import { dirname } from 'node:path';
import { syncAgainAdvice } from './chain-folder.ts';
import {
  COIN_STATS_SCHEMA,
  EVENT_RANGES_SCHEMA,
  FILTER_SCHEMA,
  SCHEMA,
  SCHEMA_VERSION,
  UPGRADE_TO_INDEXES,
} from './chain-schema.ts';
import type { ConversionOptions } from './conversion-progress.ts';
import { convertToRuns } from './convert-to-runs.ts';
import { type ChainDatabaseIdentity, cacheSize, openDatabase, opened } from './database.ts';
import { LOADED_SET_SCHEMA } from './loaded-set-store.ts';
import { createScriptSalt } from './script-salt.ts';

/**
 * Opens chain.db for its single writer, or creates it. A database of an earlier schema is converted first. Throws
 * OperatorError on a database of another chain or schema, and if a conversion is not possible.
 */
export function openWriter(
  path: string,
  identity: ChainDatabaseIdentity,
  cacheMiB: number,
  conversion: ConversionOptions = {},
): Database {
  convertToRuns(path, identity, conversion);
  const kind = {
    name: 'chain' as const,
    schema: SCHEMA,
    version: SCHEMA_VERSION,
    upgrades: { 2: UPGRADE_TO_INDEXES },
    // After a power failure the last blocks are connected again, which costs less than a disk sync with every commit.
    durable: false,
    pageSize: 8192,
    whenDamaged: (file: string) => syncAgainAdvice(dirname(file)),
    pragmas: [cacheSize(cacheMiB), 'wal_autocheckpoint = 20000', 'temp_store = MEMORY'],
  };
  return opened(openDatabase(path, kind, identity), (db) => {
    db.run(EVENT_RANGES_SCHEMA + FILTER_SCHEMA + COIN_STATS_SCHEMA + LOADED_SET_SCHEMA);
    createScriptSalt(db);
  });
}
