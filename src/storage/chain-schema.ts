import { RUN_SCHEMA } from './runs/run-manifest.ts';

/**
 * Filters of every block that was connected while the index was on, and of all its ancestors (BIP-158). They are never
 * removed, since they depend on nothing but the block. Older databases lack the table, so it is created when they are
 * opened. A version that does not know the table leaves blocks without rows, and the index continues after the last
 * one.
 */
export const FILTER_SCHEMA = `
CREATE TABLE IF NOT EXISTS filters (
  header_id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL, header BLOB NOT NULL,
  file INTEGER NOT NULL, offset INTEGER NOT NULL, size INTEGER NOT NULL
);
`;

/**
 * Ranges of event numbers. Each start of a writer begins one at `first`, with a tag for the numbers up to the next
 * range: a database that is restored from a copy begins other ranges, which distinguishes equal numbers of two
 * histories. Older databases lack the table, so it is created when they are opened.
 */
export const EVENT_RANGES_SCHEMA = `
CREATE TABLE IF NOT EXISTS event_ranges (first INTEGER PRIMARY KEY, tag TEXT NOT NULL);
`;

/**
 * Statistics of the UTXO set at each block that `index.coinStats` has covered, as `encodeCoinStats` makes them, and the
 * value of the MuHash at the last one, by which the next one is computed. A row belongs to a block, not to a height, and
 * stays when the block is disconnected. Older databases lack the tables, so they are created when they are opened.
 */
export const COIN_STATS_SCHEMA = `
CREATE TABLE IF NOT EXISTS coin_stats (header_id INTEGER PRIMARY KEY, stats BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS coin_stats_value (id INTEGER PRIMARY KEY CHECK (id = 1), muhash BLOB NOT NULL);
`;

/**
 * The last block whose rows each index has; it has the rows of all blocks from the genesis block up to this one. An
 * index that is not listed has no rows. `name` is that of `IndexName`.
 */
const INDEXES_SCHEMA = `
CREATE TABLE indexes (name TEXT PRIMARY KEY, hash BLOB NOT NULL, height INTEGER NOT NULL);
`;

/** Lists the indexes of a database of an earlier version, which kept these with every commit. */
export const LIST_EARLIER_INDEXES = `
INSERT INTO indexes
  SELECT n.name, h.hash, h.height
  FROM (SELECT 'positions' AS name UNION SELECT 'tx' UNION SELECT 'address') n,
    (SELECT max(height) AS height FROM chain) tip
    JOIN chain c ON c.height = tip.height JOIN headers h ON h.id = c.header_id;
`;

export const UPGRADE_TO_INDEXES = INDEXES_SCHEMA + LIST_EARLIER_INDEXES;

/**
 * chain.db, schema version 3. Amounts, heights and positions fit a double exactly; chainwork is a BLOB. Coins, the
 * transaction index and the address index are runs. `position` is height * 2^20 + index in the block.
 */
export const SCHEMA_VERSION = 3;

export const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- All headers with a valid proof of work, in order of arrival; with the positions of body and undo data, if stored.
CREATE TABLE headers (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  header BLOB NOT NULL,
  height INTEGER NOT NULL,
  chainwork BLOB NOT NULL,
  status INTEGER NOT NULL,
  received_at INTEGER,
  file INTEGER, offset INTEGER, size INTEGER,
  undo_file INTEGER, undo_offset INTEGER, undo_size INTEGER,
  tx_count INTEGER, stripped_size INTEGER, inputs INTEGER, outputs INTEGER,
  value_out INTEGER, reward INTEGER, fees INTEGER
);
CREATE INDEX headers_by_height ON headers (height);

-- The active chain, and the totals up to each of its blocks.
CREATE TABLE chain (
  height INTEGER PRIMARY KEY,
  header_id INTEGER NOT NULL,
  circulating INTEGER NOT NULL,
  utxos INTEGER NOT NULL,
  txs INTEGER NOT NULL
);

-- Offset of a transaction within its block, and of its undo records within the undo data of the block. The rows of the
-- index 'positions', which the other indexes lead to.
CREATE TABLE txs (position INTEGER PRIMARY KEY, txid BLOB NOT NULL, offset INTEGER NOT NULL, undo_offset INTEGER NOT NULL);

CREATE TABLE events (seq INTEGER PRIMARY KEY, type TEXT NOT NULL, data TEXT NOT NULL);
${EVENT_RANGES_SCHEMA}${FILTER_SCHEMA}${COIN_STATS_SCHEMA}${INDEXES_SCHEMA}${RUN_SCHEMA}`;

/** Bits of headers.status. */
export const HeaderStatus = {
  /** The body is in the block files. */
  HAVE_BLOCK: 1,
  /** The undo data of the block is in the undo files. */
  HAVE_UNDO: 2,
  /** The block itself breaks a rule. */
  FAILED: 4,
  /** An ancestor of the block is invalid. */
  FAILED_PARENT: 8,
  /** Marked invalid by an operator. */
  INVALIDATED: 16,
  /** The body is stored, or was and has been pruned. In memory only: the row then has the figures of the body. */
  HAD_BLOCK: 32,
  /** The block was connected once; its undo data may have been pruned. In memory only: the row then has the fees. */
  HAD_UNDO: 64,
} as const;
