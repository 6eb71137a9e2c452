import { ADD_TOTALS, TOTALS_COLUMNS } from './chain-totals.ts';
import { CREATE_KEY_TABLES } from './key-tables.ts';
import { CREATE_MEMPOOL_TABLES } from './mempool-schema.ts';
import { SINK_SCHEMA } from './schema-name.ts';
import { CREATE_STALE_BLOCKS } from './stale-blocks.ts';

/** Version of the tables. A database of an earlier version gets the tables that it lacks. */
export const SINK_SCHEMA_VERSION = 2;

/** A table of rows of blocks, in the order in which COPY fills the tables. */
export const ROW_TABLES = ['blocks', 'transactions', 'outputs', 'inputs', 'address_history'] as const;
export type RowTable = (typeof ROW_TABLES)[number];

/** Columns in the order of the rows of `BlockRows`. */
export const ROW_COLUMNS: Readonly<Record<RowTable, readonly string[]>> = {
  blocks: [
    ...['height', 'hash', 'header', 'time', 'median_time', 'chainwork', 'transactions', 'inputs', 'outputs'],
    ...['size', 'weight', 'output_value', 'fees', 'reward'],
    ...TOTALS_COLUMNS,
  ],
  transactions: ['height', 'position', 'txid', 'wtxid', 'size', 'weight', 'fee', 'raw'],
  outputs: ['height', 'position', 'vout', 'value', 'script', 'script_hash'],
  inputs: [
    ...['height', 'position', 'vin', 'prev_txid', 'prev_vout', 'prev_height', 'prev_position', 'value'],
    'script_hash',
  ],
  address_history: ['height', 'position', 'script_hash', 'received', 'sent', 'outputs', 'inputs'],
};

/**
 * The tables that hold the position and the lease come first. A row of a block is keyed by its height, so that rows are
 * appended, and a block that leaves the chain is a range of each primary key. The statements use types, constraints and
 * locks that CockroachDB and YugabyteDB have as well.
 */
export const CREATE_TABLES: readonly string[] = [
  `CREATE SCHEMA IF NOT EXISTS ${SINK_SCHEMA}`,
  // `height` is -1 and `hash` empty before the first block. `fence` is that of the node that may write. `phase` is `fill`
  // until the look-up indexes exist; `summed` counts the parts of `balances` that the end of the fill has made. `log_tag`
  // is part of the cursors that servers give: it distinguishes these events from those of any node and any other database.
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.sink_position (
    id INT PRIMARY KEY CHECK (id = 1),
    version INT NOT NULL,
    network TEXT NOT NULL,
    fence BIGINT NOT NULL,
    phase TEXT NOT NULL,
    summed INT NOT NULL,
    height INT NOT NULL,
    hash BYTEA NOT NULL,
    chainwork BYTEA NOT NULL,
    next_seq BIGINT NOT NULL,
    log_tag TEXT
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.sink_lease (
    id INT PRIMARY KEY CHECK (id = 1),
    fence BIGINT NOT NULL,
    leader TEXT NOT NULL,
    expires TIMESTAMPTZ NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.blocks (
    height INT PRIMARY KEY,
    hash BYTEA NOT NULL,
    header BYTEA NOT NULL,
    time BIGINT NOT NULL,
    median_time BIGINT NOT NULL,
    chainwork BYTEA NOT NULL,
    transactions INT NOT NULL,
    inputs INT NOT NULL,
    outputs INT NOT NULL,
    size INT NOT NULL,
    weight INT NOT NULL,
    output_value BIGINT NOT NULL,
    fees BIGINT NOT NULL,
    reward BIGINT NOT NULL,
    ${TOTALS_COLUMNS.map((column) => `${column} BIGINT`).join(', ')}
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.transactions (
    height INT NOT NULL,
    position INT NOT NULL,
    txid BYTEA NOT NULL,
    wtxid BYTEA NOT NULL,
    size INT NOT NULL,
    weight INT NOT NULL,
    fee BIGINT NOT NULL,
    raw BYTEA NOT NULL,
    PRIMARY KEY (height, position)
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.outputs (
    height INT NOT NULL,
    position INT NOT NULL,
    vout INT NOT NULL,
    value BIGINT NOT NULL,
    script BYTEA NOT NULL,
    script_hash BYTEA,
    PRIMARY KEY (height, position, vout)
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.inputs (
    height INT NOT NULL,
    position INT NOT NULL,
    vin INT NOT NULL,
    prev_txid BYTEA NOT NULL,
    prev_vout INT NOT NULL,
    prev_height INT NOT NULL,
    prev_position INT NOT NULL,
    value BIGINT NOT NULL,
    script_hash BYTEA NOT NULL,
    PRIMARY KEY (height, position, vin)
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.address_history (
    height INT NOT NULL,
    position INT NOT NULL,
    script_hash BYTEA NOT NULL,
    received BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    outputs INT NOT NULL,
    inputs INT NOT NULL,
    PRIMARY KEY (height, position, script_hash)
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.balances (
    script_hash BYTEA PRIMARY KEY,
    balance BIGINT NOT NULL,
    received BIGINT NOT NULL,
    sent BIGINT NOT NULL,
    transactions BIGINT NOT NULL,
    outputs BIGINT NOT NULL,
    inputs BIGINT NOT NULL
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.events (
    seq BIGINT PRIMARY KEY,
    type TEXT NOT NULL,
    height INT NOT NULL,
    hash BYTEA NOT NULL,
    time BIGINT NOT NULL,
    data TEXT NOT NULL
  )`,
  CREATE_STALE_BLOCKS,
  ...CREATE_KEY_TABLES,
  ...CREATE_MEMPOOL_TABLES,
];

const BLOCKS_BY_MEDIAN_TIME = `CREATE INDEX IF NOT EXISTS blocks_by_median_time ON ${SINK_SCHEMA}.blocks (median_time, height)`;

/** Changes tables of version 1. */
export const UPGRADE_TABLES: readonly string[] = [
  `ALTER TABLE ${SINK_SCHEMA}.sink_position ADD COLUMN IF NOT EXISTS log_tag TEXT`,
  ...ADD_TOTALS,
  BLOCKS_BY_MEDIAN_TIME,
];

/** The indexes of look-ups. The first fill creates them at its end, since COPY into an indexed table is slower. */
export const CREATE_LOOKUPS: readonly string[] = [
  BLOCKS_BY_MEDIAN_TIME,
  `CREATE INDEX IF NOT EXISTS blocks_by_hash ON ${SINK_SCHEMA}.blocks (hash)`,
  `CREATE INDEX IF NOT EXISTS transactions_by_txid ON ${SINK_SCHEMA}.transactions (txid)`,
  `CREATE INDEX IF NOT EXISTS outputs_by_script ON ${SINK_SCHEMA}.outputs (script_hash, height, position, vout)`,
  `CREATE INDEX IF NOT EXISTS inputs_by_prevout ON ${SINK_SCHEMA}.inputs (prev_height, prev_position, prev_vout)`,
  `CREATE INDEX IF NOT EXISTS address_history_by_script
   ON ${SINK_SCHEMA}.address_history (script_hash, height, position)`,
];

/** Number of parts of `balances`, by the first byte of the script hash. The end of the fill commits some at a time. */
export const BALANCE_PARTS = 256;
