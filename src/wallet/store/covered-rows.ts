import type { Database } from 'bun:sqlite';

/** Rows of a wallet that its MACs cover. */
export interface CoveredRows {
  readonly name: string;
  readonly table: string;
  readonly columns: readonly string[];
  /** Condition on the rows of the table, with `$` in front of each column. */
  readonly where?: string;
  /**
   * Whether the rows change only while the private keys are unlocked, so that a MAC of the master key covers them as
   * well.
   */
  readonly sealed: boolean;
}

/**
 * The rows that decide where change and deposits go, what is signed and which scripts count as the wallet's. Columns
 * are listed one by one: a new column is not covered until it is listed here, with a new version of the MACs.
 */
export const COVERED_ROWS: readonly CoveredRows[] = [
  {
    name: 'descriptors',
    table: 'descriptors',
    columns: [
      ...['id', 'key', 'text', 'normalized', 'output_type', 'created_at'],
      ...['range_start', 'active', 'internal'],
    ],
    sealed: true,
  },
  {
    name: 'descriptor_cache',
    table: 'descriptor_cache',
    columns: ['descriptor', 'kind', 'expression', 'position', 'key'],
    sealed: true,
  },
  { name: 'keys', table: 'keys', columns: ['id', 'compressed', 'data'], sealed: true },
  {
    name: 'ranges',
    table: 'descriptors',
    columns: ['id', 'range_end', 'next_index', 'filled'],
    sealed: false,
  },
  { name: 'scripts', table: 'scripts', columns: ['script', 'descriptor', 'position', 'solved', 'used'], sealed: false },
  { name: 'address_book', table: 'address_book', columns: ['script', 'address', 'label', 'purpose'], sealed: false },
  { name: 'locked', table: 'locked', columns: ['outpoint', 'persistent'], sealed: false },
  { name: 'requests', table: 'requests', columns: ['id', 'result', 'created_at'], sealed: false },
  { name: 'request_payments', table: 'request_payments', columns: ['id', 'hash'], sealed: false },
  {
    name: 'meta',
    table: 'meta',
    columns: ['key', 'value'],
    where: "$key IN ('flags', 'encryption')",
    sealed: false,
  },
  { name: 'vouched', table: 'meta', columns: ['key', 'value'], where: "$key = 'vouchedBy'", sealed: true },
];

export const COVERED_VERSION = 1;

/** Lists the covered rows as texts that differ for different rows. `from`: another table with the same columns. */
export function selectCovered({ table, name, columns, where }: CoveredRows, from = `main.${table}`): string {
  return `SELECT ${rowText(name, columns, '')} AS row FROM ${from}${where ? ` WHERE ${where.replaceAll('$', '')}` : ''}`;
}

/**
 * Records each change of a covered row in `temp.changed_rows`. The triggers belong to the connection, not to the file,
 * so that they cannot be removed from it.
 */
export function noteChanges(db: Database): void {
  // Without it the trigger of a row that INSERT OR REPLACE removes does not fire.
  db.run('PRAGMA recursive_triggers = ON');
  db.run('CREATE TEMP TABLE IF NOT EXISTS changed_rows (name TEXT NOT NULL, sign INTEGER NOT NULL, row TEXT NOT NULL)');
  for (const { name, table, columns, where } of COVERED_ROWS) {
    const note = (sign: number, row: 'NEW' | 'OLD') =>
      `INSERT INTO changed_rows SELECT '${name}', ${sign}, ${rowText(name, columns, `${row}.`)}${
        where ? ` WHERE ${where.replaceAll('$', `${row}.`)}` : ''
      };`;
    const differs = columns.map((column) => `OLD.${column} IS NOT NEW.${column}`).join(' OR ');
    for (const [event, body] of [
      ['INSERT', note(1, 'NEW')],
      ['DELETE', note(-1, 'OLD')],
      ['UPDATE', note(-1, 'OLD') + note(1, 'NEW')],
    ])
      db.run(
        `CREATE TEMP TRIGGER IF NOT EXISTS note_${name}_${event} AFTER ${event} ON main.${table}
         ${event === 'UPDATE' ? `WHEN ${differs} ` : ''}BEGIN ${body} END`,
      );
  }
}

/** Type and bytes of each column: `hex` alone does not distinguish NULL from an empty text, nor 1 from '1'. */
function rowText(name: string, columns: readonly string[], prefix: string): string {
  const values = columns.map((column) => `typeof(${prefix}${column}) || hex(${prefix}${column})`);
  return `'${name}|' || ${values.join(` || '|' || `)}`;
}
