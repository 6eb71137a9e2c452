import type { Database } from 'bun:sqlite';
import { SCRIPT_SALT_SIZE } from './script-store.ts';

/** Creates the secret salt of the keys of scripts, unless the database has one. */
export function createScriptSalt(db: Database): Uint8Array {
  const salt = crypto.getRandomValues(new Uint8Array(SCRIPT_SALT_SIZE)).toHex();
  db.run("INSERT OR IGNORE INTO meta (key, value) VALUES ('scriptSalt', ?)", [salt]);
  const row = db.query<{ value: string }, []>("SELECT value FROM meta WHERE key = 'scriptSalt'").get();
  return Uint8Array.fromHex(row!.value);
}
