import { COINBASE_MATURITY } from '../../consensus/limits.ts';
import { positionHeight, positionIndex, type TxPosition } from '../../primitives/coin.ts';
import { SINK_SCHEMA as S } from '../../sink/schema-name.ts';
import type { BlockPageNeed, CoinsNeed, HistoryNeed } from './row-needs.ts';

/** A statement and its parameters. Each of its rows has the position of the database, and a first row is always there. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Columns of a block whose meaning is that of `HeaderRecord`. */
const BLOCK_COLUMNS = [
  ...['height', 'hash', 'header', 'chainwork', 'transactions', 'inputs', 'outputs', 'size', 'weight'],
  ...['output_value', 'fees', 'reward'],
] as const;
const SUM_COLUMNS = ['total_transactions', 'total_size', 'total_weight', 'total_fees', 'supply', 'unspent'] as const;

const columnsOf = (table: string) =>
  [...BLOCK_COLUMNS, 'median_time', ...SUM_COLUMNS].map((name) => `${table}.${name} AS b_${name}`).join(', ');
const BLOCK = columnsOf('b');
const STALE = [
  ...BLOCK_COLUMNS.map((name) => `s.${name} AS b_${name}`),
  'NULL AS b_median_time',
  ...SUM_COLUMNS.map((name) => `NULL AS b_${name}`),
].join(', ');

/**
 * A transaction of `w`, its block, the outputs that it spends in input order, and the indexes of its outputs that are spent.
 * The inputs of a coinbase are those of a repetition (BIP-30), which spends nothing.
 */
const WHOLE_TX = `t.height, t.position, t.raw, s.spent_heights, s.spent_positions, s.spent_values, s.spent_scripts,
  u.spent_outputs, ${BLOCK}
  FROM w JOIN ${S}.transactions t ON (t.height, t.position) = (w.height, w.position)
  JOIN ${S}.blocks b ON b.height = t.height
  LEFT JOIN LATERAL (
    SELECT array_agg(i.prev_height ORDER BY i.vin) AS spent_heights,
      array_agg(i.prev_position ORDER BY i.vin) AS spent_positions, array_agg(i.value ORDER BY i.vin) AS spent_values,
      array_agg(o.script ORDER BY i.vin) AS spent_scripts
    FROM ${S}.inputs i JOIN ${S}.outputs o
      ON (o.height, o.position, o.vout) = (i.prev_height, i.prev_position, i.prev_vout)
    WHERE i.height = t.height AND i.position = t.position AND i.position > 0
  ) s ON true
  LEFT JOIN LATERAL (
    SELECT array_agg(i.prev_vout) AS spent_outputs FROM ${S}.inputs i
    WHERE i.prev_height = t.height AND i.prev_position = t.position
  ) u ON true`;

/** Returns the statement with the position of the database. `w`: a table that `body` reads. `order`: columns of `q`. */
function positioned(
  body: string,
  values: readonly unknown[],
  { w, order }: { w?: string; order?: string } = {},
): Statement {
  return {
    text: `${w === undefined ? '' : `WITH w AS (${w}) `}SELECT p.height AS at_height, p.hash AS at_hash, q.*
      FROM ${S}.sink_position p LEFT JOIN (SELECT true AS found, ${body}) q ON true
      WHERE p.id = 1${order === undefined ? '' : ` ORDER BY ${order}`}`,
    values,
  };
}

/** The position of the database, its tip, and the hash of the block at a height of an earlier tip. */
export function positionStatement(earlierHeight: number): Statement {
  return {
    text: `SELECT p.height AS at_height, p.hash AS at_hash, p.version, p.network, p.phase, p.next_seq, e.hash AS earlier_hash,
        ${BLOCK}
      FROM ${S}.sink_position p LEFT JOIN ${S}.blocks b ON b.height = p.height
      LEFT JOIN ${S}.blocks e ON e.height = $1 WHERE p.id = 1`,
    values: [earlierHeight],
  };
}

export function blocksStatement(ranges: readonly (readonly [number, number])[]): Statement {
  return positioned(
    `${BLOCK} FROM unnest($1::INT[], $2::INT[]) AS r (low, high)
     JOIN ${S}.blocks b ON b.height >= r.low AND b.height <= r.high`,
    [numbers(ranges.map(([low]) => low)), numbers(ranges.map(([, high]) => high))],
  );
}

/** Blocks by hash, with those around them that their median times and next hashes need. */
export function hashesStatement(hashes: readonly string[]): Statement {
  return positioned(
    `b.* FROM (
      SELECT false AS stale, ${BLOCK} FROM ${S}.blocks n
        JOIN ${S}.blocks b ON b.height >= n.height - 10 AND b.height <= n.height + 1 WHERE n.hash = ANY ($1::BYTEA[])
      UNION ALL SELECT true, ${STALE} FROM ${S}.stale_blocks s WHERE s.hash = ANY ($1::BYTEA[])
      UNION ALL SELECT false, ${BLOCK} FROM ${S}.stale_blocks n
        JOIN ${S}.blocks b ON b.height >= n.height - 10 AND b.height <= n.height WHERE n.hash = ANY ($1::BYTEA[])
    ) b`,
    [hashList(hashes)],
  );
}

export function txidsStatement(txids: readonly string[]): Statement {
  return positioned(WHOLE_TX, [hashList(txids)], {
    w: `SELECT height, position FROM ${S}.transactions WHERE txid = ANY ($1::BYTEA[])`,
  });
}

export function placesStatement(txids: readonly string[]): Statement {
  return positioned(
    `t.height, t.position, t.txid, t.size, ${BLOCK} FROM ${S}.transactions t
     JOIN ${S}.blocks b ON b.height = t.height WHERE t.txid = ANY ($1::BYTEA[])`,
    [hashList(txids)],
  );
}

export function transactionsStatement(positions: readonly TxPosition[]): Statement {
  return positioned(WHOLE_TX, [numbers(positions.map(positionHeight)), numbers(positions.map(positionIndex))], {
    w: 'SELECT * FROM unnest($1::INT[], $2::INT[]) AS w (height, position)',
  });
}

export function blockPageStatement({ hash, from, count }: BlockPageNeed): Statement {
  return positioned(WHOLE_TX, [`\\x${hash}`, from, from + count], {
    w: `SELECT t.height, t.position FROM ${S}.blocks b JOIN ${S}.transactions t ON t.height = b.height
        WHERE b.hash = $1::BYTEA AND t.position >= $2::INT AND t.position < $3::INT`,
  });
}

/** Totals with the sum of the coinbase outputs that are not mature at the tip. */
export function totalsStatement(keys: readonly string[]): Statement {
  return positioned(
    `s.script_hash, s.received, s.sent, s.transactions, s.outputs, s.inputs, f.height AS first_height,
      l.height AS last_height, c.value AS immature
     FROM ${S}.balances s
     JOIN LATERAL (SELECT h.height FROM ${S}.address_history h WHERE h.script_hash = s.script_hash
       ORDER BY h.height, h.position LIMIT 1) f ON true
     JOIN LATERAL (SELECT h.height FROM ${S}.address_history h WHERE h.script_hash = s.script_hash
       ORDER BY h.height DESC, h.position DESC LIMIT 1) l ON true
     JOIN LATERAL (SELECT coalesce(sum(o.value), 0) AS value FROM ${S}.outputs o
       WHERE o.script_hash = s.script_hash AND o.position = 0 AND o.height >=
         (SELECT height - ${COINBASE_MATURITY - 2} FROM ${S}.sink_position WHERE id = 1) AND ${UNSPENT}) c ON true
     WHERE s.script_hash = ANY ($1::BYTEA[])`,
    [hashList(keys)],
  );
}

const UNSPENT = `NOT EXISTS (SELECT 1 FROM ${S}.inputs i
  WHERE i.prev_height = o.height AND i.prev_position = o.position AND i.prev_vout = o.vout)`;

export function historyStatement({ keys, above, below, order, limit }: HistoryNeed): Statement {
  const direction = order === 'asc' ? '' : ' DESC';
  return positioned(
    `k.key, h.height, h.position, h.received, h.sent FROM unnest($1::BYTEA[]) AS k (key) JOIN LATERAL (
       SELECT height, position, received, sent FROM ${S}.address_history
       WHERE script_hash = k.key AND (height, position) > ($2::INT, $3::INT) AND (height, position) < ($4::INT, $5::INT)
       ORDER BY height${direction}, position${direction} LIMIT $6::INT
     ) h ON true`,
    [hashList(keys), ...place(above), ...place(below), limit],
    { order: `q.height${direction}, q.position${direction}` },
  );
}

/** The transactions of a page of the history of one script. */
export function historyTxsStatement({ keys, above, below, order, limit }: HistoryNeed): Statement {
  const direction = order === 'asc' ? '' : ' DESC';
  return positioned(WHOLE_TX, [`\\x${keys[0]}`, ...place(above), ...place(below), limit], {
    w: `SELECT height, position FROM ${S}.address_history WHERE script_hash = $1::BYTEA
        AND (height, position) > ($2::INT, $3::INT) AND (height, position) < ($4::INT, $5::INT)
        ORDER BY height${direction}, position${direction} LIMIT $6::INT`,
  });
}

/** A page of unspent outputs with the txids and blocks of their transactions. */
export function coinsStatement({ keys, position, vout, limit }: CoinsNeed): Statement {
  return positioned(
    `k.key, c.height, c.position, c.vout, c.value, t.txid, t.size, ${BLOCK}
     FROM unnest($1::BYTEA[]) AS k (key) JOIN LATERAL (
       SELECT o.height, o.position, o.vout, o.value FROM ${S}.outputs o
       WHERE o.script_hash = k.key AND (o.height, o.position, o.vout) > ($2::INT, $3::INT, $4::BIGINT) AND ${UNSPENT}
       ORDER BY o.height, o.position, o.vout LIMIT $5::INT
     ) c ON true
     JOIN ${S}.transactions t ON t.height = c.height AND t.position = c.position
     JOIN ${S}.blocks b ON b.height = c.height`,
    [hashList(keys), ...place(position), vout, limit],
    { order: 'q.height, q.position, q.vout' },
  );
}

export function coinbasesStatement(key: string, height: number): Statement {
  return positioned(
    `sum(o.value) AS value FROM ${S}.outputs o
     WHERE o.script_hash = $1::BYTEA AND o.position = 0 AND o.height >= $2::INT AND ${UNSPENT}`,
    [`\\x${key}`, height],
  );
}

type SpentOutpoint = { readonly txid: string; readonly vout: number };

const SPENDS = `FROM unnest($1::BYTEA[], $2::BIGINT[]) AS o (txid, vout) JOIN ${S}.transactions t ON t.txid = o.txid
  JOIN ${S}.inputs i ON (i.prev_height, i.prev_position) = (t.height, t.position) AND i.prev_vout = o.vout
  WHERE i.position > 0`;

function spendsOf(outpoints: readonly SpentOutpoint[]): readonly unknown[] {
  return [hashList(outpoints.map(({ txid }) => txid)), numbers(outpoints.map(({ vout }) => vout))];
}

/** Positions of the transactions that spend outputs. */
export function spentStatement(outpoints: readonly SpentOutpoint[]): Statement {
  return positioned(`t.txid AS prev_txid, i.prev_vout, i.height, i.position ${SPENDS}`, spendsOf(outpoints));
}

/** Whole transactions that spend outputs; each one once, since it may spend many of them. */
export function spendersStatement(outpoints: readonly SpentOutpoint[]): Statement {
  return positioned(WHOLE_TX, spendsOf(outpoints), { w: `SELECT DISTINCT i.height, i.position ${SPENDS}` });
}

export function blockTxidsStatement(of: { readonly height: number } | { readonly hash: string }): Statement {
  const [value, condition] =
    'height' in of ? [of.height, 'b.height = $1::INT'] : [`\\x${of.hash}`, 'b.hash = $1::BYTEA'];
  return positioned(
    `b.height, string_agg(t.txid, ''::BYTEA ORDER BY t.position) AS txids FROM ${S}.blocks b
     JOIN ${S}.transactions t ON t.height = b.height WHERE ${condition} GROUP BY b.height`,
    [value],
  );
}

export function rawBlockStatement(height: number): Statement {
  return positioned(
    `string_agg(t.raw, ''::BYTEA ORDER BY t.position) AS raw FROM ${S}.transactions t WHERE t.height = $1::INT`,
    [height],
  );
}

export function rawUndoStatement(height: number): Statement {
  return positioned(
    `i.position, i.vin, i.prev_height, i.prev_position, i.value, o.script FROM ${S}.inputs i
     JOIN LATERAL (SELECT o.script FROM ${S}.outputs o
       WHERE (o.height, o.position, o.vout) = (i.prev_height, i.prev_position, i.prev_vout) LIMIT 1) o ON true
     WHERE i.height = $1::INT AND i.position > 0`,
    [height],
    { order: 'q.position, q.vin' },
  );
}

export function staleBlockStatement(hash: string): Statement {
  return positioned(`s.raw, s.undo FROM ${S}.stale_blocks s WHERE s.hash = $1::BYTEA`, [`\\x${hash}`]);
}

export function sinceStatement(time: number): Statement {
  return positioned(
    `height FROM (SELECT b.height FROM ${S}.blocks b WHERE b.median_time >= $1::BIGINT AND b.height > 0
       ORDER BY b.median_time, b.height LIMIT 1) f`,
    [time],
  );
}

/** Returns bytes as the text of an array. */
function hashList(hashes: readonly string[]): string {
  return `{${hashes.map((hash) => `"\\\\x${hash}"`).join(',')}}`;
}

function numbers(values: readonly number[]): string {
  return `{${values.join(',')}}`;
}

const MAX_HEIGHT = 2 ** 31 - 1;

/** Returns height and index of a position, which may be before the first or behind the last one. */
function place(position: TxPosition): [height: number, index: number] {
  if (position < 0) return [-1, 0];
  const height = positionHeight(position);
  return height > MAX_HEIGHT ? [MAX_HEIGHT, MAX_HEIGHT] : [height, positionIndex(position)];
}
