import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scopeText } from '../../src/rpc/engine/method.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';

const DOCUMENT = join(import.meta.dir, '../../docs/json-rpc.md');
const BEGIN = /(<!-- methods:.*-->\n)[\s\S]*(<!-- end -->)/;

/** The table of the document, made from the methods as they are declared. */
function table(): string {
  const groups = Map.groupBy(RPC_METHODS.values(), ({ category }) => category);
  return [...groups]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([category, methods]) => {
      const rows = methods
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ name, help, ...method }) => `| \`${name}\` | ${scopeText(method)} | ${help.replaceAll('|', '\\|')} |`);
      return ['', `### ${category}`, '', '| method | scope | |', '|---|---|---|', ...rows, ''].join('\n');
    })
    .join('');
}

test('docs/json-rpc.md lists the methods there are, with their scopes', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  const wanted = document.replace(BEGIN, (_, begin: string, end: string) => `${begin}${table()}\n${end}`);
  if (process.env.OBVERSE_UPDATE_DOCS === '1') writeFileSync(DOCUMENT, wanted);
  else expect(document).toBe(wanted);
});
