import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EXPORT_TABLES } from '../../src/queries/export/export-tables.ts';

const path = join(import.meta.dir, '../../docs/export.md');
const MARK = '<!-- The tables';

test('docs/export.md has every column of every table with its type', () => {
  const [text] = readFileSync(path, 'utf8').split(MARK);
  const tables = Object.entries(EXPORT_TABLES).map(([name, { columns }]) => {
    const rows = columns.map((column) => {
      const isOptional = 'nullable' in column && column.nullable === true;
      return `| \`${column.name}\` | ${column.type}${isOptional ? ', optional' : ''} | ${column.help} |\n`;
    });
    return `\n### ${name}\n\n| column | type | meaning |\n|---|---|---|\n${rows.join('')}`;
  });
  const command = 'OBVERSE_UPDATE_DOCS=1 bun test ./test/queries/export-documents.test.ts';
  const wanted = `${text}${MARK} are written by ${command} -->\n${tables.join('')}`;
  if (process.env.OBVERSE_UPDATE_DOCS === '1') writeFileSync(path, wanted);
  expect(readFileSync(path, 'utf8')).toBe(wanted);
});
