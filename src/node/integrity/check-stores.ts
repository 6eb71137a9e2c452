import type { Database } from 'bun:sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AuditStore } from '../../auth/audit/audit-store.ts';
import type { Findings } from '../../chain/integrity/findings.ts';
import { parseCursor } from '../../feed/event-cursor.ts';
import { WATCH_KINDS } from '../../feed/watch-values.ts';
import { SCOPES } from '../../http/scopes.ts';
import { openReadOnly } from '../../storage/database.ts';
import { type WalletSources, walletFilesOf } from '../../storage/wallet-folder.ts';

const CACHE_MIB = 16;
const HASH_BYTES = 32;
/** Lines of SQLite's own check that become findings of one file. */
const PROBLEMS_PER_FILE = 20;
const WEBHOOK_STATUSES = ['active', 'paused', 'disabled'];

/** Numbers of rows that were checked beside the chain. */
export interface StoreCounts {
  wallets: number;
  keys: number;
  auditRows: number;
  watches: number;
  webhooks: number;
}

/**
 * Checks the databases beside the chain: their pages and indexes, keys, the audit log, watches and webhooks. Yields after
 * each file. It serves a data directory as well as a backup.
 */
export function* checkStores(sources: WalletSources, findings: Findings): Generator<undefined, StoreCounts> {
  const { networkDir } = sources;
  const counts: StoreCounts = { wallets: 0, keys: 0, auditRows: 0, watches: 0, webhooks: 0 };
  const check = (path: string, checkRows: (db: Database, rows: RowFindings) => void) => {
    if (!existsSync(path)) return;
    checkFile(path, findings, (db) => checkRows(db, new RowFindings(path, findings)));
  };
  check(join(networkDir, 'auth.db'), (db, rows) => {
    counts.keys = checkKeys(db, rows);
    counts.auditRows = checkAudit(db, rows);
  });
  yield;
  const owners = readOwners(join(networkDir, 'auth.db'));
  check(join(networkDir, 'watches.db'), (db, rows) => {
    counts.watches = checkWatches(db, owners, rows);
  });
  yield;
  check(join(networkDir, 'webhooks.db'), (db, rows) => {
    counts.webhooks = checkWebhooks(db, owners, rows);
  });
  yield;
  check(join(networkDir, 'node.db'), () => {});
  yield;
  for (const { path } of walletFilesOf(sources)) {
    check(path, (db, rows) => checkWalletRows(db, rows));
    counts.wallets++;
    yield;
  }
  return counts;
}

/** Opens a database and runs SQLite's checks before those of its rows. */
export function checkFile(path: string, findings: Findings, checkRows: (db: Database) => void): void {
  findings.attempt(path, 'the file', () => {
    const db = openReadOnly(path, CACHE_MIB);
    try {
      const problems = db
        .query<{ integrity_check: string }, []>(`PRAGMA integrity_check(${PROBLEMS_PER_FILE})`)
        .all()
        .filter(({ integrity_check: text }) => text !== 'ok');
      for (const { integrity_check: text } of problems)
        findings.addFinding(path, 'the file', `${text}: restore it from a backup`);
      if (problems.length === 0) checkRows(db);
    } finally {
      db.close();
    }
  });
}

/** Adds findings about rows of one file. */
class RowFindings {
  readonly path: string;
  readonly #findings: Findings;

  constructor(path: string, findings: Findings) {
    this.path = path;
    this.#findings = findings;
  }

  add(table: string, row: string | number, problem: string): void {
    this.#findings.addFinding(this.path, `table ${table}, row ${row}`, `${problem}: restore the file from a backup`);
  }
}

function checkKeys(db: Database, rows: RowFindings): number {
  const keys = db.query<{ id: string; scopes: string; secrets: number; revoked_at: number | null }, []>(
    'SELECT id, scopes, revoked_at, (SELECT count(*) FROM key_secrets WHERE key_id = id) AS secrets FROM keys',
  );
  let count = 0;
  for (const { id, scopes, secrets, revoked_at: revokedAt } of keys.iterate()) {
    count++;
    const listed = readJson(scopes);
    if (!Array.isArray(listed) || !listed.every((scope) => (SCOPES as readonly unknown[]).includes(scope)))
      rows.add('keys', id, `the scopes ${scopes} are not known`);
    if (secrets === 0 && revokedAt === null) rows.add('keys', id, 'the key has no hash');
  }
  const hashes = db.query<{ key_id: string; bytes: number; known: number }, []>(
    `SELECT key_id, length(hash) AS bytes, key_id IN (SELECT id FROM keys) AS known FROM key_secrets
     WHERE typeof(hash) <> 'blob' OR length(hash) <> ${HASH_BYTES} OR NOT known`,
  );
  for (const { key_id: id, bytes, known } of hashes.iterate())
    rows.add('key_secrets', id, known ? `the hash has ${bytes} bytes, not ${HASH_BYTES}` : 'there is no such key');
  return count;
}

function checkAudit(db: Database, rows: RowFindings): number {
  const found = new AuditStore(db).check();
  if (found.ok) return found.rows;
  rows.add('audit', found.id, found.problem);
  return 0;
}

/** Returns the ids of all keys; null where they cannot be read. */
function readOwners(path: string): ReadonlySet<string> | null {
  if (!existsSync(path)) return null;
  try {
    const db = openReadOnly(path, CACHE_MIB);
    try {
      return new Set(
        db
          .query<{ id: string }, []>('SELECT id FROM keys')
          .all()
          .map(({ id }) => id),
      );
    } finally {
      db.close();
    }
  } catch {
    return null;
  }
}

/** Whether rows may belong to this caller: a key, or one that the settings name. */
function isOwner(owner: string, owners: ReadonlySet<string> | null): boolean {
  return (
    owners === null || owners.has(owner) || ['static', 'cookie'].includes(owner) || /^(?:rpcauth|session):/.test(owner)
  );
}

interface WatchCheckRow {
  seq: number;
  id: string;
  owner: string;
  kind: string;
  target: string;
  confirmations: string;
}

function checkWatches(db: Database, owners: ReadonlySet<string> | null, rows: RowFindings): number {
  const highest = db
    .query<{ seq: number }, []>("SELECT coalesce(max(seq), 0) AS seq FROM sqlite_sequence WHERE name = 'watches'")
    .get()!.seq;
  const watches = db.query<WatchCheckRow, []>('SELECT seq, id, owner, kind, target, confirmations FROM watches');
  let count = 0;
  for (const { seq, id, owner, kind, target, confirmations } of watches.iterate()) {
    count++;
    if (!(WATCH_KINDS as readonly string[]).includes(kind)) rows.add('watches', id, `the kind ${kind} is not known`);
    if (target === '') rows.add('watches', id, 'the target is empty');
    if (seq > highest) rows.add('watches', id, `its number ${seq} is above the highest one, ${highest}`);
    const thresholds = readJson(confirmations);
    if (
      !Array.isArray(thresholds) ||
      !thresholds.every((n, i) => Number.isSafeInteger(n) && n >= 0 && (i === 0 || n > thresholds[i - 1]))
    )
      rows.add('watches', id, `the confirmations ${confirmations} are not ascending numbers`);
    if (!isOwner(owner, owners)) rows.add('watches', id, `its key ${owner} does not exist`);
  }
  return count;
}

interface WebhookCheckRow {
  id: string;
  owner: string;
  url: string;
  filter: string;
  status: string;
  position: string;
  secret: number;
}

function checkWebhooks(db: Database, owners: ReadonlySet<string> | null, rows: RowFindings): number {
  const hooks = db.query<WebhookCheckRow, []>(
    'SELECT id, owner, url, filter, status, position, length(secret) AS secret FROM webhooks',
  );
  let count = 0;
  for (const { id, owner, url, filter, status, position, secret } of hooks.iterate()) {
    count++;
    if (!URL.canParse(url)) rows.add('webhooks', id, 'its URL cannot be read');
    const types = (readJson(filter) as { readonly types?: unknown } | null)?.types;
    if (!Array.isArray(types)) rows.add('webhooks', id, 'its filter cannot be read');
    if (!WEBHOOK_STATUSES.includes(status)) rows.add('webhooks', id, `the status ${status} is not known`);
    if (parseCursor(position) === null) rows.add('webhooks', id, 'its position is no cursor');
    if (secret === 0) rows.add('webhooks', id, 'its secret is empty');
    if (!isOwner(owner, owners)) rows.add('webhooks', id, `its key ${owner} does not exist`);
  }
  return count;
}

/** Rows of a wallet that follow from others. */
function checkWalletRows(db: Database, rows: RowFindings): void {
  const sums = db
    .query<{ confirmed: number; counted: number }, []>(
      `SELECT (SELECT confirmed FROM totals) AS confirmed,
         (SELECT coalesce(sum(value), 0) FROM coins WHERE spent = 0 AND height IS NOT NULL) AS counted`,
    )
    .get()!;
  if (sums.confirmed !== sums.counted)
    rows.add('totals', 1, `the balance is ${sums.confirmed} satoshis, and the coins have ${sums.counted}`);
  const stray = db.query<{ tx: number; vout: number }, []>(
    'SELECT tx, vout FROM coins WHERE tx NOT IN (SELECT id FROM txs)',
  );
  for (const { tx, vout } of stray.iterate()) rows.add('coins', `${tx}:${vout}`, 'there is no such transaction');
  const unknown = db.query<{ script: Uint8Array }, []>(
    'SELECT script FROM scripts WHERE descriptor NOT IN (SELECT id FROM descriptors)',
  );
  for (const { script } of unknown.iterate()) rows.add('scripts', script.toHex(), 'there is no such descriptor');
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
