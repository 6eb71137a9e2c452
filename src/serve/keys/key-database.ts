import { SQL, type TransactionSQL } from 'bun';
import type { KeyRecord, KeySecret } from '../../auth/auth-store.ts';
import { CREATE_KEY_TABLES } from '../../sink/key-tables.ts';
import { SINK_SCHEMA } from '../../sink/schema-name.ts';
import { DatabaseSession, type DatabaseSessionOptions } from '../database-session.ts';

/** All keys of one version. */
export interface KeySnapshot {
  /** Grows with each change of a key. */
  readonly version: number;
  readonly keys: readonly KeyRecord[];
  readonly secrets: readonly KeySecret[];
}

/** A record of who changed a key. */
interface KeyChangeRecord {
  /** Unix seconds. */
  readonly time: number;
  readonly who: string;
  /** The name of the JSON-RPC method that makes the same change. */
  readonly method: string;
  readonly keyId: string;
}

/** The keys after a change. Without records, nothing is written. */
export interface ChangedKeys {
  readonly keys: readonly KeyRecord[];
  readonly secrets: readonly KeySecret[];
  readonly records: readonly KeyChangeRecord[];
}

interface KeyRow {
  readonly id: string;
  readonly label: string;
  readonly scopes: string;
  readonly created_at: string | number;
  readonly expires_at: string | number | null;
  readonly revoked_at: string | number | null;
  readonly allowed_ips: string | null;
  readonly rate: string | null;
  readonly wallets: string | null;
  readonly last_used_at: string | number | null;
}

interface SecretRow {
  readonly key_id: string;
  readonly hash: string;
  readonly valid_until: string | number | null;
}

/** Number of changes whose records are kept. */
const KEPT_CHANGES = 100_000;

/** The table that is created last. The role of those who change keys sees it. */
const LAST_TABLE = 'api_key_changes';
/** More than the objects that sessions may create at the same time. */
const CREATE_ATTEMPTS = 20;
/** SQLSTATE of a violated unique index, of a schema, a table and another object that exist. */
const CREATED_MEANWHILE: readonly string[] = ['23505', '42P06', '42P07', '42710'];

/** The keys of servers in the database of the sink. Each method throws the errors of the driver. */
export class KeyDatabase {
  readonly #session: DatabaseSession;

  constructor(options: DatabaseSessionOptions) {
    this.#session = new DatabaseSession(options);
  }

  /** Creates the tables where they are missing. */
  async createTables(): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        return await this.#session.run(createMissing);
      } catch (error) {
        if (attempt === CREATE_ATTEMPTS || !isCreatedMeanwhile(error)) throw error;
      }
  }

  version(): Promise<number> {
    return this.#session.run((sql) => readVersion(sql, ''));
  }

  /** Returns all keys, as one transaction sees them. */
  read(): Promise<KeySnapshot> {
    return this.#session.run((sql) =>
      sql.begin('ISOLATION LEVEL REPEATABLE READ, READ ONLY', async (tx) => readKeys(tx, await readVersion(tx, ''))),
    );
  }

  /**
   * Changes keys in one transaction. Other changes wait until it has ended, so `work` sees all of them. Nothing is written
   * if `work` throws.
   */
  change(work: (before: KeySnapshot) => ChangedKeys): Promise<void> {
    return this.#session.run((sql) =>
      sql.begin(async (tx) => {
        const before = await readKeys(tx, await readVersion(tx, 'FOR UPDATE'));
        const after = work(before);
        if (after.records.length > 0) await writeChange(tx, before, after);
      }),
    );
  }

  /** Writes times of last use, Unix seconds, by the id of the key. A later time stays. */
  async writeLastUses(lastUses: ReadonlyMap<string, number>): Promise<void> {
    // In one order, so that two servers do not wait for each other.
    const ids = [...lastUses.keys()].toSorted();
    if (ids.length === 0) return;
    await this.#session.run((sql) =>
      sql.unsafe(
        `INSERT INTO ${SINK_SCHEMA}.api_key_uses AS u (key_id, last_used_at)
         SELECT * FROM unnest($1::TEXT[], $2::BIGINT[])
         ON CONFLICT (key_id) DO UPDATE SET last_used_at = excluded.last_used_at
         WHERE u.last_used_at < excluded.last_used_at`,
        [`{${ids.join(',')}}`, `{${ids.map((id) => lastUses.get(id)!).join(',')}}`],
      ),
    );
  }

  close(): void {
    this.#session.close();
  }
}

async function createMissing(sql: SQL): Promise<void> {
  // A role that may not create the schema cannot do so even if it exists.
  const [found] = await sql.unsafe(
    'SELECT 1 AS one FROM information_schema.tables WHERE table_schema = $1 AND table_name = $2',
    [SINK_SCHEMA, LAST_TABLE],
  );
  if (found !== undefined) return;
  await sql.unsafe(`CREATE SCHEMA IF NOT EXISTS ${SINK_SCHEMA}`);
  for (const statement of CREATE_KEY_TABLES) await sql.unsafe(statement);
}

/** Whether another session has created the same object since the check of `IF NOT EXISTS`. */
function isCreatedMeanwhile(error: unknown): boolean {
  return error instanceof SQL.PostgresError && CREATED_MEANWHILE.includes(error.errno ?? '');
}

async function readVersion(sql: SQL | TransactionSQL, lock: '' | 'FOR UPDATE'): Promise<number> {
  const [row] = await sql.unsafe(`SELECT version FROM ${SINK_SCHEMA}.api_key_state WHERE id = 1 ${lock}`);
  if (row === undefined) throw new Error(`the table ${SINK_SCHEMA}.api_key_state has lost its row`);
  return Number(row.version);
}

async function readKeys(tx: TransactionSQL, version: number): Promise<KeySnapshot> {
  const keys: readonly KeyRow[] = await tx.unsafe(
    `SELECT k.id, k.label, k.scopes, k.created_at, k.expires_at, k.revoked_at, k.allowed_ips, k.rate, k.wallets,
       u.last_used_at
     FROM ${SINK_SCHEMA}.api_keys AS k LEFT JOIN ${SINK_SCHEMA}.api_key_uses AS u ON u.key_id = k.id
     ORDER BY k.created_at, k.id`,
  );
  const secrets: readonly SecretRow[] = await tx.unsafe(
    `SELECT key_id, encode(hash, 'hex') AS hash, valid_until FROM ${SINK_SCHEMA}.api_key_secrets ORDER BY key_id`,
  );
  return {
    version,
    keys: keys.map((row) => ({
      id: row.id,
      label: row.label,
      scopes: JSON.parse(row.scopes) as string[],
      createdAt: Number(row.created_at),
      expiresAt: numberOrNull(row.expires_at),
      revokedAt: numberOrNull(row.revoked_at),
      allowedIps: parsedOrNull<string[]>(row.allowed_ips),
      rate: parsedOrNull<NonNullable<KeyRecord['rate']>>(row.rate),
      wallets: parsedOrNull<string[]>(row.wallets),
      lastUsedAt: numberOrNull(row.last_used_at),
    })),
    secrets: secrets.map((row) => ({
      keyId: row.key_id,
      hash: Uint8Array.fromHex(row.hash),
      validUntil: numberOrNull(row.valid_until),
    })),
  };
}

async function writeChange(tx: TransactionSQL, before: KeySnapshot, after: ChangedKeys): Promise<void> {
  const oldKeys = new Map(before.keys.map((key) => [key.id, JSON.stringify(key)]));
  for (const key of after.keys) if (oldKeys.get(key.id) !== JSON.stringify(key)) await writeKey(tx, key);

  const oldSecrets = new Map(before.secrets.map((secret) => [secretName(secret), secret]));
  const newSecrets = new Map(after.secrets.map((secret) => [secretName(secret), secret]));
  for (const [name, { keyId, hash }] of oldSecrets)
    if (!newSecrets.has(name))
      await tx.unsafe(`DELETE FROM ${SINK_SCHEMA}.api_key_secrets WHERE key_id = $1 AND hash = decode($2, 'hex')`, [
        keyId,
        hash.toHex(),
      ]);
  for (const [name, { keyId, hash, validUntil }] of newSecrets) {
    const old = oldSecrets.get(name);
    if (old !== undefined && old.validUntil === validUntil) continue;
    await tx.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.api_key_secrets (key_id, hash, valid_until) VALUES ($1, decode($2, 'hex'), $3)
       ON CONFLICT (key_id, hash) DO UPDATE SET valid_until = excluded.valid_until`,
      [keyId, hash.toHex(), validUntil],
    );
  }

  let { version } = before;
  for (const { time, who, method, keyId } of after.records)
    await tx.unsafe(
      `INSERT INTO ${SINK_SCHEMA}.api_key_changes (version, time, who, method, key_id) VALUES ($1, $2, $3, $4, $5)`,
      [++version, time, who, method, keyId],
    );
  await tx.unsafe(`DELETE FROM ${SINK_SCHEMA}.api_key_changes WHERE version <= $1`, [version - KEPT_CHANGES]);
  await tx.unsafe(`UPDATE ${SINK_SCHEMA}.api_key_state SET version = $1 WHERE id = 1`, [version]);
}

async function writeKey(tx: TransactionSQL, key: KeyRecord): Promise<void> {
  await tx.unsafe(
    `INSERT INTO ${SINK_SCHEMA}.api_keys
       (id, label, scopes, created_at, expires_at, revoked_at, allowed_ips, rate, wallets)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     ON CONFLICT (id) DO UPDATE SET label = excluded.label, scopes = excluded.scopes, expires_at = excluded.expires_at,
       revoked_at = excluded.revoked_at, allowed_ips = excluded.allowed_ips, rate = excluded.rate,
       wallets = excluded.wallets`,
    [
      ...[key.id, key.label, JSON.stringify(key.scopes), key.createdAt, key.expiresAt, key.revokedAt],
      ...[textOrNull(key.allowedIps), textOrNull(key.rate), textOrNull(key.wallets)],
    ],
  );
}

function secretName({ keyId, hash }: KeySecret): string {
  return `${keyId} ${hash.toHex()}`;
}

function numberOrNull(value: string | number | null): number | null {
  return value === null ? null : Number(value);
}

function parsedOrNull<T>(text: string | null): T | null {
  return text === null ? null : (JSON.parse(text) as T);
}

function textOrNull(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
