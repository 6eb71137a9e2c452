import { SINK_SCHEMA } from './schema-name.ts';

/**
 * The events of the mempool have numbers of the same sequence as those of the chain. They are removed when they are old:
 * `removed_to` is the number below which they may be missing.
 */
export const CREATE_MEMPOOL_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.mempool_events (
    seq BIGINT PRIMARY KEY,
    type TEXT NOT NULL,
    time BIGINT NOT NULL,
    data TEXT NOT NULL,
    raw BYTEA,
    spent BYTEA
  )`,
  `CREATE TABLE IF NOT EXISTS ${SINK_SCHEMA}.mempool_position (
    id INT PRIMARY KEY CHECK (id = 1),
    removed_to BIGINT NOT NULL
  )`,
];
