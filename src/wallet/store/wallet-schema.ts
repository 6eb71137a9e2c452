import type { Database } from 'bun:sqlite';

/**
 * wallets/NAME.db. Amounts and their sums fit a double exactly. Transaction ids ascend in the order in which the wallet
 * saw the transactions.
 */
export const WALLET_SCHEMA_VERSION = 1;
/** Version of a wallet whose rows have MACs: an earlier program, which does not know them, must not write it. */
export const SEALED_WALLET_SCHEMA_VERSION = 2;
/** Version of a wallet whose passphrase is hashed first: an earlier program would find each passphrase wrong. */
export const HASHED_PASSPHRASE_SCHEMA_VERSION = 3;

/** Marks a wallet as one that programs below a version must not open, inside the caller's transaction. */
export function raiseSchema(db: Database, version: number): void {
  db.query("UPDATE meta SET value = ? WHERE key = 'schema' AND CAST(value AS INTEGER) < ?").run(version, version);
}

/** `txs.state`. */
export const TxStateCode = {
  /** In no block and not in the mempool. */
  INACTIVE: 0,
  MEMPOOL: 1,
  /** `height`, `block_hash` and so on name the block. */
  CONFIRMED: 2,
  /** Conflicts with a block, which `height` and `block_hash` name. */
  CONFLICTED: 3,
  /** Inactive and abandoned. */
  ABANDONED: 4,
} as const;

/** `coins.spent`: state of the spending transaction. */
export const SpentCode = { UNSPENT: 0, CONFIRMED: 1, MEMPOOL: 2, INACTIVE: 3 } as const;

/** Later tables, which are added to earlier files when they are opened; an earlier program ignores them. */
export const WALLET_ADDITIONS = `
-- Hash of the payment that a row of 'requests' stands for.
CREATE TABLE IF NOT EXISTS request_payments (id TEXT PRIMARY KEY, hash BLOB NOT NULL) WITHOUT ROWID;
-- Fee bumps that were proposed as PSBTs: txid of the original, and of the draft without any scriptSig.
CREATE TABLE IF NOT EXISTS bump_drafts (id INTEGER PRIMARY KEY, original BLOB NOT NULL, draft BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS bump_drafts_by_original ON bump_drafts (original, draft);
`;

export const WALLET_SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- Private keys by the HASH160 of their public keys: plain, or sealed when the wallet is encrypted.
CREATE TABLE keys (id BLOB PRIMARY KEY, compressed INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;

-- 'key' is Core's DescriptorID, 'filled' the first index whose scripts are not in 'scripts' yet.
CREATE TABLE descriptors (
  id INTEGER PRIMARY KEY,
  key BLOB NOT NULL UNIQUE,
  text TEXT NOT NULL,
  normalized TEXT NOT NULL,
  output_type TEXT,
  created_at INTEGER NOT NULL,
  range_start INTEGER NOT NULL, range_end INTEGER NOT NULL,
  next_index INTEGER NOT NULL, filled INTEGER NOT NULL,
  active TEXT, internal INTEGER
);
CREATE TABLE descriptor_cache (
  descriptor INTEGER NOT NULL, kind TEXT NOT NULL, expression INTEGER NOT NULL, position INTEGER, key TEXT NOT NULL
);
CREATE INDEX descriptor_cache_by_descriptor ON descriptor_cache (descriptor);
-- 'solved' is the script's own descriptor, once the script was given out or paid; 'used': it was spent from.
CREATE TABLE scripts (
  script BLOB NOT NULL, descriptor INTEGER NOT NULL, position INTEGER NOT NULL,
  solved TEXT, used INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (script, descriptor)
) WITHOUT ROWID;

CREATE TABLE txs (
  id INTEGER PRIMARY KEY,
  txid BLOB NOT NULL UNIQUE,
  wtxid BLOB NOT NULL,
  raw BLOB NOT NULL,
  state INTEGER NOT NULL,
  height INTEGER, block_hash BLOB, block_index INTEGER, block_time INTEGER,
  received_at INTEGER NOT NULL,
  time INTEGER NOT NULL,
  coinbase INTEGER NOT NULL,
  debit INTEGER NOT NULL,
  comment TEXT, comment_to TEXT, replaces BLOB, replaced_by BLOB
);
CREATE INDEX txs_by_height ON txs (height) WHERE height IS NOT NULL;
CREATE INDEX txs_loose ON txs (state) WHERE state NOT IN (2, 3);
-- The same transaction with another witness.
CREATE TABLE tx_variants (tx INTEGER NOT NULL, wtxid BLOB NOT NULL, raw BLOB NOT NULL, PRIMARY KEY (tx, wtxid)) WITHOUT ROWID;

-- Every outpoint that a transaction of the wallet spends, ours or not: txid in wire order and index, big-endian.
CREATE TABLE spends (outpoint BLOB NOT NULL, tx INTEGER NOT NULL, PRIMARY KEY (outpoint, tx)) WITHOUT ROWID;
CREATE INDEX spends_by_tx ON spends (tx);
-- Transactions of the mempool that contradict one of the wallet's, or an ancestor of it.
CREATE TABLE mempool_conflicts (tx INTEGER NOT NULL, txid BLOB NOT NULL, PRIMARY KEY (tx, txid)) WITHOUT ROWID;
CREATE INDEX mempool_conflicts_by_txid ON mempool_conflicts (txid);

-- Outputs of ours; 'height' where their transaction is confirmed.
CREATE TABLE coins (
  tx INTEGER NOT NULL, vout INTEGER NOT NULL,
  value INTEGER NOT NULL, script BLOB NOT NULL,
  height INTEGER, coinbase INTEGER NOT NULL, spent INTEGER NOT NULL,
  PRIMARY KEY (tx, vout)
) WITHOUT ROWID;
CREATE INDEX coins_by_script ON coins (script);
CREATE INDEX coins_unspent ON coins (height, coinbase, value) WHERE spent = 0;
CREATE INDEX coins_coinbase ON coins (height, value) WHERE coinbase = 1 AND spent = 0;
CREATE INDEX coins_pending_spend ON coins (tx) WHERE spent = 3;
-- Of all confirmed and unspent ones; kept by the triggers.
CREATE TABLE totals (id INTEGER PRIMARY KEY CHECK (id = 1), confirmed INTEGER NOT NULL);
INSERT INTO totals VALUES (1, 0);
CREATE TRIGGER coins_added AFTER INSERT ON coins WHEN NEW.spent = 0 AND NEW.height IS NOT NULL BEGIN
  UPDATE totals SET confirmed = confirmed + NEW.value;
END;
CREATE TRIGGER coins_changed AFTER UPDATE OF height, spent ON coins BEGIN
  UPDATE totals SET confirmed = confirmed
    + CASE WHEN NEW.spent = 0 AND NEW.height IS NOT NULL THEN NEW.value ELSE 0 END
    - CASE WHEN OLD.spent = 0 AND OLD.height IS NOT NULL THEN OLD.value ELSE 0 END;
END;

CREATE TABLE locked (outpoint BLOB PRIMARY KEY, persistent INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE address_book (
  script BLOB PRIMARY KEY, address TEXT NOT NULL, label TEXT NOT NULL, purpose TEXT
) WITHOUT ROWID;
CREATE INDEX address_book_by_label ON address_book (label);
-- Sends that must not be made twice.
CREATE TABLE requests (id TEXT PRIMARY KEY, result TEXT NOT NULL, created_at INTEGER NOT NULL) WITHOUT ROWID;
${WALLET_ADDITIONS}`;
