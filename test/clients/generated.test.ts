import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { requireNode, requirePython } from '../lib/programs.ts';
import { openApiText } from './documents.ts';
import { generatedClients } from './generated-clients.ts';

const root = join(import.meta.dir, '../..');
const generated = await generatedClients(await openApiText());

for (const [path, text] of Object.entries(generated))
  test(`${path} follows from the OpenAPI document of the node`, () => {
    const isEqual = readFileSync(join(root, path), 'utf8') === text;
    if (!isEqual) throw new Error(`${path} is out of date: \`npm run generate:clients\` writes it`);
  });

const stdoutOf = (command: readonly string[]) => {
  const { stdout, stderr, success } = Bun.spawnSync([...command], { cwd: root });
  if (!success) throw new Error(stderr.toString());
  return stdout.toString().trim();
};

test('the types of Python can be resolved', () => {
  const resolve = [
    'import sys, typing; sys.path.insert(0, "clients/python"); import obverse.api as api',
    'classes = [c for c in vars(api).values() if typing.is_typeddict(c)]',
    'for c in classes: typing.get_type_hints(c)',
    'print(len(classes), len(api.OPERATIONS))',
  ];
  const [classes, operations] = stdoutOf([requirePython(), '-c', resolve.join('\n')])
    .split(' ')
    .map(Number);
  expect(classes).toBeGreaterThan(100);
  expect(operations).toBeGreaterThan(60);
});

test('Node loads the client without a build', () => {
  const load = 'import("./clients/typescript/deposit-watcher.ts").then((m) => console.log(Object.keys(m).join()))';
  expect(stdoutOf([requireNode(), '--eval', load])).toBe('changesOf,watchAddresses,watchDeposits');
});
