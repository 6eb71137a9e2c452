import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelChain } from './chain-state.ts';

/** The tables of schema version 1 that runs replace. */
const OLD_TABLES = `
CREATE TABLE tx_index (prefix INTEGER NOT NULL, position INTEGER NOT NULL, PRIMARY KEY (prefix, position)) WITHOUT ROWID;
CREATE TABLE coins (
  outpoint BLOB PRIMARY KEY, position INTEGER NOT NULL, value INTEGER NOT NULL, script BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE scripts (
  hash BLOB PRIMARY KEY,
  id INTEGER NOT NULL,
  received INTEGER NOT NULL, sent INTEGER NOT NULL,
  txs INTEGER NOT NULL, utxos INTEGER NOT NULL,
  first_height INTEGER NOT NULL, last_height INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE history (
  script_id INTEGER NOT NULL, position INTEGER NOT NULL, received INTEGER NOT NULL, sent INTEGER NOT NULL,
  PRIMARY KEY (script_id, position)
) WITHOUT ROWID;
CREATE TABLE script_coins (
  script_id INTEGER NOT NULL, position INTEGER NOT NULL, vout INTEGER NOT NULL, value INTEGER NOT NULL,
  PRIMARY KEY (script_id, position, vout)
) WITHOUT ROWID;
`;

/** Replaces the runs of a chain database by empty tables of schema version 1. No other connection may be open. */
export function withOldTables(dir: string, fill: (db: Database) => void): void {
  const db = new Database(join(dir, 'chain.db'));
  try {
    db.transaction(() => {
      db.run('DROP TABLE runs');
      db.run('DROP TABLE indexes');
      db.run("DELETE FROM meta WHERE key IN ('runsVersion', 'scriptSalt')");
      db.run("UPDATE meta SET value = 1 WHERE key = 'schema'");
      db.run(OLD_TABLES);
      fill(db);
    }).immediate();
    db.run('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    db.close();
  }
  rmSync(join(dir, 'runs'), { recursive: true });
}

/** Inserts rows of no chain into the tables of schema version 1. */
export function insertOldRows(db: Database, rows: number): void {
  const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows})`;
  db.run(`INSERT INTO coins ${numbers} SELECT randomblob(36), i * 7, i * 1000003, randomblob(i % 40) FROM n`);
  db.run(`INSERT INTO tx_index ${numbers} SELECT abs(random()) % (1 << 48), i FROM n`);
  db.run(`INSERT INTO scripts ${numbers} SELECT randomblob(20), i, 0, 0, 0, 0, 0, 0 FROM n WHERE i % 3 = 0`);
  db.run(`INSERT INTO history ${numbers} SELECT i - i % 3, i, i * 11, i * 13 FROM n WHERE i > 2`);
  db.run(`INSERT INTO script_coins ${numbers} SELECT i - i % 3, i, i % 5, i * 17 FROM n WHERE i > 2`);
  db.run("INSERT INTO meta VALUES ('lastScriptId', ?)", [rows]);
}

/** Makes a chain database one of schema version 1, with the rows that its writer had for this chain. */
export function makeOldDatabase(dir: string, model: ModelChain): void {
  withOldTables(dir, (db) => {
    const state = model.state();
    const prefix = db.prepare('INSERT INTO tx_index VALUES (?, ?)');
    for (const line of state.txIndex) {
      const [position, first] = line.split(': ');
      prefix.run(Number(first), Number(position));
    }
    const coin = db.prepare('INSERT INTO coins VALUES (?, ?, ?, ?)');
    for (const [key, { position, value, script }] of model.coins)
      coin.run(Uint8Array.fromHex(key), position, Number(value), script);
    // Ids are in no order of hashes.
    const ids = new Map([...model.scripts.keys()].map((hash, i) => [hash, i + 1]));
    const script = db.prepare('INSERT INTO scripts VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
    const row = db.prepare('INSERT INTO history VALUES (?, ?, ?, ?)');
    const unspent = db.prepare('INSERT INTO script_coins VALUES (?, ?, ?, ?)');
    const utxos = new Map<string, number>();
    for (const line of state.scriptCoins) {
      const [hash, position, vout, value] = line.split(/:? /);
      unspent.run(ids.get(hash!)!, Number(position), Number(vout), Number(value));
      utxos.set(hash!, (utxos.get(hash!) ?? 0) + 1);
    }
    for (const [hash, { received, sent, first, last, history }] of model.scripts) {
      const id = ids.get(hash)!;
      const counts = [history.size, utxos.get(hash) ?? 0, first, last] as const;
      script.run(Uint8Array.fromHex(hash), id, Number(received), Number(sent), ...counts);
      for (const [position, amounts] of history) row.run(id, position, Number(amounts.received), Number(amounts.sent));
    }
    db.run("INSERT INTO meta VALUES ('lastScriptId', ?)", [ids.size]);
  });
}
