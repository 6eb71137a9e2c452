import { Database } from 'bun:sqlite';
import { opened } from '../../storage/database.ts';
import { withDescriptors } from '../../util/descriptors.ts';
import { openWalletReader } from './wallet-database.ts';

/** Tables without secrets; the triggers of the copy compute its totals from `coins`. */
const PUBLIC_TABLES = [
  ...['descriptors', 'descriptor_cache', 'scripts', 'address_book'],
  ...['txs', 'tx_variants', 'spends', 'mempool_conflicts', 'coins'],
];

/** Copies a whole wallet into an empty or new file; other connections may use it meanwhile. */
export function copyWallet(from: string, to: string): void {
  const db = openWalletReader(from);
  try {
    db.query('VACUUM INTO ?').run(to);
  } finally {
    db.close();
  }
}

/** Copies all but private keys into an empty wallet; other connections may use the original meanwhile. */
export function copyWalletWithoutKeys(from: string, to: string): void {
  const copy = withDescriptors(() =>
    opened(new Database(to, { readwrite: true }), (db) => {
      db.run('PRAGMA busy_timeout = 5000');
      db.query('ATTACH DATABASE ? AS wallet').run(from);
    }),
  );
  try {
    copy.transaction(() => {
      for (const table of PUBLIC_TABLES) copy.run(`INSERT INTO main.${table} SELECT * FROM wallet.${table}`);
      copy.run('INSERT INTO main.locked SELECT * FROM wallet.locked WHERE persistent = 1');
      copy.run(
        `INSERT OR IGNORE INTO main.meta SELECT * FROM wallet.meta
         WHERE key NOT IN ('encryption', 'nodeMac', 'masterMac', 'vouchedBy')`,
      );
    })();
  } finally {
    copy.close();
  }
}
