import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AuthStore } from '../../src/auth/auth-store.ts';
import { WatchStore } from '../../src/feed/watch-store.ts';
import { openWriter } from '../../src/storage/chain-database.ts';
import { closeDatabase, openReadOnly } from '../../src/storage/database.ts';
import { MempoolStore } from '../../src/storage/mempool-store.ts';
import { openNodeDatabase } from '../../src/storage/node-database.ts';
import { createWalletDatabase, openWalletDatabase } from '../../src/wallet/store/wallet-database.ts';
import { WebhookStore } from '../../src/webhooks/webhook-store.ts';

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'obverse-database-'));
  path = join(dir, 'some.db');
});
afterEach(() => rmSync(dir, { recursive: true }));

const REGTEST = { network: 'regtest', genesisHash: '00' };
const SIGNET = { network: 'signet', genesisHash: '01' };

type Open = (identity: typeof REGTEST) => { close(): void };
const KINDS: Readonly<Record<string, { open: Open; ofChain: boolean; version: number; advice: string }>> = {
  'chain.db': {
    open: (identity) => openWriter(path, identity, 1),
    ofChain: true,
    version: 3,
    advice: 'run obverse reindex, or remove DIR and sync again; wallets and keys are stored elsewhere and are kept',
  },
  'node.db': {
    open: (identity) => openNodeDatabase(path, identity),
    ofChain: true,
    version: 5,
    advice:
      'remove DIR/some.db, DIR/some.db-wal and DIR/some.db-shm; they hold the saved mempool, fee history, addresses of peers, bans and samples for charts, and no wallet or key',
  },
  'auth.db': {
    open: () => new AuthStore(path),
    ofChain: false,
    version: 2,
    advice:
      'restore a copy of it, or move DIR/some.db away, with the audit log in it: the node then writes a new initial.key, and all other keys must be issued again',
  },
  'watches.db': {
    open: () => new WatchStore(path),
    ofChain: false,
    version: 1,
    advice: 'restore a copy of it, or move DIR/some.db away: clients must then register their watches again',
  },
  'webhooks.db': {
    open: () => new WebhookStore(path),
    ofChain: false,
    version: 1,
    advice: 'restore a copy of it, or move DIR/some.db away: clients must then make their webhooks again',
  },
  'a wallet': {
    open: (identity) => (existsSync(path) ? openWalletDatabase : createWalletDatabase)(path, identity),
    ofChain: true,
    // An encrypted wallet whose passphrase is hashed before scrypt.
    version: 3,
    advice: 'keep the file, and restore a backup of it under another name (restorewallet)',
  },
};

/** Changes the file before it is opened again. */
function meddle<T>(work: (db: Database) => T): T {
  const db = new Database(path);
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const setVersion = (ofChain: boolean, version: number) =>
  meddle((db) =>
    ofChain
      ? db.run("UPDATE meta SET value = ? WHERE key = 'schema'", [version])
      : db.run(`PRAGMA user_version = ${version}`),
  );

describe.each(Object.entries(KINDS))('%s', (_, { open, ofChain, version, advice }) => {
  test('is created for its owner alone, with a WAL that readers can read', () => {
    const before = process.umask(0o022);
    try {
      const db = open(REGTEST);
      // With its WAL and index while it is open.
      for (const name of [path, `${path}-wal`, `${path}-shm`]) expect(statSync(name).mode & 0o777).toBe(0o600);
      const reader = openReadOnly(path, 1);
      expect(reader.query('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
      reader.close();
      db.close();
    } finally {
      process.umask(before);
    }
  });

  test('has the same content when it is opened again', () => {
    open(REGTEST).close();
    const tables = meddle((db) => db.query('SELECT name FROM sqlite_master ORDER BY name').all());
    open(REGTEST).close();
    expect(meddle((db) => db.query('SELECT name FROM sqlite_master ORDER BY name').all())).toEqual(tables);
  });

  test('of a newer version is refused and not changed', () => {
    open(REGTEST).close();
    setVersion(ofChain, version + 1);
    const before = readFileSync(path);
    expect(() => open(REGTEST)).toThrow(`${path} has schema ${version + 1}, made by a newer version`);
    expect(readFileSync(path).equals(before)).toBe(true);
    setVersion(ofChain, version);
    open(REGTEST).close();
  });

  if (ofChain)
    test('of another network is refused', () => {
      open(REGTEST).close();
      expect(() => open(SIGNET)).toThrow(/some\.db (belongs to|is a wallet of) network regtest.*, not (to|of) signet/);
    });

  test('that is not a database is not changed, and the error contains advice', () => {
    const text = 'not a database, but a letter to a friend. '.repeat(200);
    writeFileSync(path, text);
    expect(() => open(REGTEST)).toThrow(`: ${advice.replaceAll('DIR', dir)}`);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });
});

test.each(['chain.db', 'node.db', 'auth.db', 'watches.db', 'webhooks.db'])(
  '%s is created if the file is empty',
  (name) => {
    writeFileSync(path, '');
    KINDS[name]!.open(REGTEST).close();
    KINDS[name]!.open(REGTEST).close();
  },
);

test('an empty file is not opened as a wallet', () => {
  writeFileSync(path, '');
  expect(() => openWalletDatabase(path, REGTEST)).toThrow(`${path} is not a wallet`);
  expect(statSync(path).size).toBe(0);
});

test('a writer that closes leaves an empty WAL even with open statements', () => {
  const db = openNodeDatabase(path, REGTEST);
  const store = new MempoolStore(db);
  const raw = new Uint8Array(100_000).fill(7);
  store.put({ txid: new Uint8Array(32), arrival: 1, raw, time: 1, unbroadcast: false });
  expect(statSync(`${path}-wal`).size).toBeGreaterThan(raw.length);
  closeDatabase(db);
  expect(existsSync(`${path}-wal`) ? statSync(`${path}-wal`).size : 0).toBe(0);
  expect(meddle((again) => again.query('SELECT length(raw) AS size FROM mempool').get())).toEqual({ size: raw.length });
});
