import { SINK_SCHEMA } from './schema-name.ts';

/**
 * The statements that create the tables of the keys and limits of servers, where they are missing. Columns are those of auth.db. `last_used_at` and the rates are in tables of their own, so that the role of a server needs
 * no right to change a key.
 */
export const CREATE_KEY_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.api_keys (
    id TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    scopes TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    allowed_ips TEXT,
    rate TEXT,
    wallets TEXT
  )`,
  // `hash` is the SHA-256 of the secret.
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.api_key_secrets (
    key_id TEXT NOT NULL REFERENCES ${SINK_SCHEMA}.api_keys (id),
    hash BYTEA NOT NULL,
    valid_until BIGINT,
    PRIMARY KEY (key_id, hash)
  )`,
  // `version` grows with each change of a key, and its row is the lock of those who change keys.
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.api_key_state (
    id INT PRIMARY KEY CHECK (id = 1),
    version BIGINT NOT NULL
  )`,
  `INSERT INTO ${SINK_SCHEMA}.api_key_state (id, version) VALUES (1, 1) ON CONFLICT (id) DO NOTHING`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.api_key_uses (
    key_id TEXT PRIMARY KEY,
    last_used_at BIGINT NOT NULL
  )`,
  // The consumption of rate limits at one server since its batch before. `at` is a time of the database's clock.
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.rate_batches (
    server TEXT NOT NULL,
    batch BIGINT NOT NULL,
    at TIMESTAMPTZ NOT NULL,
    charges TEXT NOT NULL,
    PRIMARY KEY (server, batch)
  )`,
  // Who has made which change. A schema that has this table has all of them.
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.api_key_changes (
    version BIGINT PRIMARY KEY,
    time BIGINT NOT NULL,
    who TEXT NOT NULL,
    method TEXT NOT NULL,
    key_id TEXT NOT NULL
  )`,
];
