import { expect, test } from 'bun:test';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { methodHelp } from '../../src/rpc/engine/help.ts';
import { scopeText } from '../../src/rpc/engine/method.ts';
import { RPC_METHODS } from '../../src/rpc/methods/methods.ts';

const DOCS = join(import.meta.dir, '../../docs');
const OVERVIEW = join(DOCS, 'json-rpc.md');
const REFERENCE = join(DOCS, 'json-rpc-methods.md');
const BEGIN = /(<!-- methods:.*-->\n)[\s\S]*(<!-- end -->)/;
/** Port of regtest, as in the other documents. */
const PORT = 18_443;

const groups = [...Map.groupBy(RPC_METHODS.values(), ({ category }) => category)]
  .map(([category, methods]) => [category, methods.toSorted((a, b) => (a.name < b.name ? -1 : 1))] as const)
  .sort(([a], [b]) => (a < b ? -1 : 1));

/** The table of the overview, made from the methods as they are declared. */
function table(): string {
  return groups
    .map(([category, methods]) => {
      const rows = methods.map(
        ({ name, help, ...method }) =>
          `| [\`${name}\`](json-rpc-methods.md#${name.replaceAll('.', '')}) | ${scopeText(method)} | ${help.replaceAll('|', '\\|')} |`,
      );
      return ['', `### ${category}`, '', '| method | scope | |', '|---|---|---|', ...rows, ''].join('\n');
    })
    .join('');
}

/** The help of every method, for reading without a node. */
function reference(): string {
  const sections = groups.map(([category, methods]) =>
    [
      `## ${category}`,
      ...methods.map((method) => `### ${method.name}\n\n\`\`\`text\n${methodHelp(method, PORT)}\n\`\`\``),
    ].join('\n\n'),
  );
  return [
    '# Methods of JSON-RPC',
    'This is the text of `help` for every method. `OBVERSE_UPDATE_DOCS=1 bun test ./test/rpc/docs.test.ts` writes it.',
    ...sections,
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}

/** Compares a document with the text generated for it, or writes it on request. */
function checkDocument(path: string, wanted: string): void {
  if (process.env.OBVERSE_UPDATE_DOCS === '1') writeFileSync(path, wanted);
  else expect(readFileSync(path, 'utf8')).toBe(wanted);
}

test('docs/json-rpc.md lists the methods with their scopes', () => {
  const wanted = readFileSync(OVERVIEW, 'utf8').replace(
    BEGIN,
    (_, begin: string, end: string) => `${begin}${table()}\n${end}`,
  );
  checkDocument(OVERVIEW, wanted);
});

test('docs/json-rpc-methods.md has the help of every method', () => checkDocument(REFERENCE, reference()));
